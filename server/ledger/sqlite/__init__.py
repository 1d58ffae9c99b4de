"""The ledger in SQLite: one machine."""
