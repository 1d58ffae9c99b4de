"""Closed periods: which rows of a question no later load changes, and which of its groups are theirs alone."""
