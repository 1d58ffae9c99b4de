"""Interval arithmetic: what is known of a number before any row is read.

Bounds are computed in double precision, like the SQL that they bound: rounding to nearest is monotone, so
the rounded end points bound every rounded result.
"""

from __future__ import annotations

from dataclasses import dataclass

_TINIEST = 1e-290
_LARGEST = 1e290
_ULP = 2.0**-53


@dataclass(frozen=True)
class Bounds:
    """A double in [lo, hi] that is 0 or at least `least` in size; PostgreSQL raises on underflow, too.

    Attributes:
      lo, hi: finite.
      least: > 0.
      integral: a whole number, of which division drops the fraction.
    """

    lo: float
    hi: float
    least: float
    integral: bool

    @property
    def safe(self) -> bool:
        """Can it be computed without overflow or underflow?"""
        return -_LARGEST <= self.lo <= self.hi <= _LARGEST and self.least >= _TINIEST

    @property
    def weighable(self) -> bool:
        """Can it also be divided by its own bound, as a weight is?"""
        return self.safe and (self.size <= 1 or self.least / self.size >= _TINIEST)

    @property
    def size(self) -> float:
        """The largest absolute value."""
        return max(abs(self.lo), abs(self.hi))


def constant(value: float, integral: bool) -> Bounds:
    """One known number."""
    return Bounds(value, value, abs(value) or 1.0, integral)


def negative(inner: Bounds) -> Bounds:
    """-x."""
    return Bounds(-inner.hi, -inner.lo, inner.least, inner.integral)


def total(left: Bounds, right: Bounds) -> Bounds:
    """x + y. Both are multiples of the last place of the smaller `least`, so a sum that is not 0 is at least that."""
    least = min(left.least, right.least) * _ULP
    return Bounds(left.lo + right.lo, left.hi + right.hi, least, left.integral and right.integral)


def product(left: Bounds, right: Bounds) -> Bounds:
    """x * y."""
    corners = [a * b for a in (left.lo, left.hi) for b in (right.lo, right.hi)]
    return Bounds(min(corners), max(corners), left.least * right.least / 2, left.integral and right.integral)


def quotient(left: Bounds, divisor: float) -> Bounds:
    """x / divisor, divisor not 0."""
    corners = [left.lo / divisor, left.hi / divisor]
    return Bounds(min(corners), max(corners), left.least / abs(divisor) / 2, False)


def truncated(left: Bounds, divisor: float) -> Bounds:
    """The whole part of x / divisor: between 0 and x / divisor."""
    inner = quotient(left, divisor)
    return Bounds(min(0.0, inner.lo), max(0.0, inner.hi), min(1.0, inner.least), True)


def either(left: Bounds, right: Bounds) -> Bounds:
    """One of two."""
    low, high = min(left.lo, right.lo), max(left.hi, right.hi)
    return Bounds(low, high, min(left.least, right.least), left.integral and right.integral)
