"""PostgreSQL's scanner and grammar of a SELECT."""
