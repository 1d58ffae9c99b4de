"""Counts of distinct values."""
