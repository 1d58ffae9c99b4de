"""From releases and public rows to responses: expressions, intervals, rows, notes and types.

Enters: noisy answers of a plan, or rows of public tables.
Leaves: a `QueryResponse`.
Everything here is post-processing, so it costs no privacy. It never sees a private row.
"""
