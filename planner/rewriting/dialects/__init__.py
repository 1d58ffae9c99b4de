"""The SQL text of statements, per database."""
