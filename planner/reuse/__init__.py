"""Derive a question's answer from a cached one. Of the cached question the ledger has only hashes."""
