"""Counts of one grid by every subset of its keys: which to measure, how well, and what follows from them together."""
