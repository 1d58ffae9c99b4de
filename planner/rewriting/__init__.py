"""A Plan to the SQL that a database runs."""
