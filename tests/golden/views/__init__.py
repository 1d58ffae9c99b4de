"""Views on PostgreSQL: questions over them beside the same over what they stand for."""
