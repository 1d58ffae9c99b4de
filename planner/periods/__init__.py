"""Closed periods: which rows a question reads that no later load changes, and which of its groups are theirs alone.

In: a `BoundQuery`, the schema, a policy that calls a table append-only.
Out: a `PeriodScope`: the table, the rows that its rows lead to, the public tables beside them, and the days of each
group.
"""
