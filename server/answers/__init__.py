"""Decide what a request needs, and do it: cached and derived answers, days, workloads, measurements."""
