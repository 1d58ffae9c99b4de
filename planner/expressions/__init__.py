"""Bind scalar expressions over one join tuple: typed, never failing, and bounded by intervals."""
