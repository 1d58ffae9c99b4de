"""Processes in which private rows are read, truncated and released."""
