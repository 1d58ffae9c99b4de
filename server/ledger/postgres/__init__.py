"""The ledger in PostgreSQL: several proxies."""
