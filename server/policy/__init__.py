"""The policy in force: accepted, checked against the rows, with the ledger and the secrets that it names.

In: a policy file, a catalog; for the check also the rows, exactly, which only the administrator sees. Out: the policy
in force, findings, its ledger, its secrets.
"""
