"""Everything that talks: HTTP, the databases, the ledger, the command line."""
