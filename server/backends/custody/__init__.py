"""A database as its custodian sees it: its structure, and exact numbers of its rows."""
