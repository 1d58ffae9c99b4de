"""Grants and balances in exact whole amounts."""
