"""The policy in force: accepted, checked against the rows, its ledger and secrets."""
