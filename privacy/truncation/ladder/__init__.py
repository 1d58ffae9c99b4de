"""The programs of all thresholds of a ladder at once."""
