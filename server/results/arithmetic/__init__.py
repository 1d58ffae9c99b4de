"""Arithmetic over released values, with intervals."""
