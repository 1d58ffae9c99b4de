"""Whose turn it is: threads, queues, jobs, limits.

In: calls that block, questions that wait, the public size of a join.
Out: a thread, a turn or a refusal; an end that is held until its time. Nothing here knows SQL.
"""
