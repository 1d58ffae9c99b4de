"""Everything that communicates: HTTP, PostgreSQL's protocol, databases, the ledger and the command line."""
