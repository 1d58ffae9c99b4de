"""Nouns of the ledger as rows and as JSON."""
