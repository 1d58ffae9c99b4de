"""Floats as the exact numbers they stand for."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

UPWARD = 1 + 2.0**-40
"""A computed bound is multiplied with it: far more than a few correctly rounded functions err, 1e-12 of the cost."""


@lru_cache(maxsize=1024)
def spelled(value: float) -> Fraction:
    """The shortest decimal that spells a finite float, exactly: 0.1 is 1/10."""
    return Fraction(repr(float(value)))
