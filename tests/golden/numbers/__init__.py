"""Numbers that databases treat in their own ways: NaN, which is read as NULL, and reals."""
