"""Releases and public rows to what a client is given: arithmetic, intervals, rows, notes."""
