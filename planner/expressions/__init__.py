"""Scalar expressions over one join tuple: typed, total, and bounded by intervals."""
