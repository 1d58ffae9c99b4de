"""A PostgreSQL that holds the policy's tables without their rows: for clients that read catalogs."""
