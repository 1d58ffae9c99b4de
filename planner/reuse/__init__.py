"""Derive a question's answer from a cached one, of whose question the ledger has hashes alone."""
