"""Fair access to scarce resources: threads, queues, jobs and limits.

In: blocking calls, waiting questions, the public size of a join. Out: a thread, a turn or a refusal; answers released
at fixed intervals. Nothing here knows SQL.
"""
