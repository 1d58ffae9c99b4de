"""The custodian's contract: read, validated against a catalog, linted, compared with another.

In: TOML, and a catalog to hold it against.
Out: a `Policy`: units, owners, ranges and domains, budgets; or everything that is wrong with it.
"""
