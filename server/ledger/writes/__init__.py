"""Every change of the ledger: reserve, settle, administer, and the journal of each."""
