"""The text of that SQL, per database."""
