"""The policy in force: accepted, checked against the rows, and the ledger and secrets that it names.

In: a policy file, a catalog; for the check also the rows, exactly, which only the custodian sees.
Out: the policy in force, findings, its ledger, its secrets.
"""
