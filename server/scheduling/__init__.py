"""Whose turn it is: threads, queues, jobs, limits."""
