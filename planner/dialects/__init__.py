"""A tree with PostgreSQL's meaning, written for a database that gives the same words another meaning."""
