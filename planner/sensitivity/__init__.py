"""Who owns a join tuple, how many tuples one unit can have (Delta), in how many groups (L0).

In: a `BoundQuery`, the schema, the policy.
Out: `Provenance` (owner positions, and the joins that find them), Delta, L0, and the size class of the join.
"""
