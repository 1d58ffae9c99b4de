"""Interval arithmetic: the bounds of a number, before any row is read.

Bounds are computed in double precision, like the SQL. Rounding to nearest is monotone, so rounded end points bound
every rounded result. Functions of the mathematical library may be off by a few units in the last place, and get that
much slack.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

_TINIEST = 1e-290
_LARGEST = 1e290
_ULP = 2.0**-53
_NEAR = 2.0**-50
_HALVES = 2.0**50
"""Smaller doubles can represent quarters."""

_SLACK = 2.0**-40
"""The relative error allowed to a database's POWER, LN and EXP."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of a double in [lo, hi] that is 0 or at least `least` in size.

    Attributes:
      least: PostgreSQL also fails on underflow.
      integral: does its type drop fractions in a division?
      nonzero: is it never 0, whatever the interval contains?
      digits: its proved decimal digits, whatever its type; a double next to such a number is read as that number.
    """

    lo: float
    hi: float
    least: float
    integral: bool
    nonzero: bool = False
    digits: int | None = None

    def __post_init__(self) -> None:
        if self.integral and self.digits is None:
            object.__setattr__(self, "digits", 0)

    @property
    def whole(self) -> bool:
        """Is it a whole number, of any type?"""
        return self.digits == 0

    @property
    def safe(self) -> bool:
        """Can it be computed without overflow or underflow?"""
        return -_LARGEST <= self.lo <= self.hi <= _LARGEST and self.least >= _TINIEST

    @property
    def weighable(self) -> bool:
        """Can it also be divided by its own bound, as for a weight?"""
        return self.safe and (self.size <= 1 or self.least / self.size >= _TINIEST)

    @property
    def size(self) -> float:
        """The largest absolute value."""
        return max(abs(self.lo), abs(self.hi))

    @property
    def divides(self) -> bool:
        """Is it proved not to be zero?"""
        return self.nonzero or self.lo > 0 or self.hi < 0

    @property
    def smallest(self) -> float:
        """The smallest nonzero absolute value."""
        gap = self.lo if self.lo > 0 else -self.hi if self.hi < 0 else 0.0
        return max(gap, self.least)


def constant(value: float, integral: bool) -> Bounds:
    """The bounds of a known number; `integral`: does its type drop fractions?"""
    digits = max(0, -int(Decimal(repr(value)).normalize().as_tuple().exponent)) if math.isfinite(value) else None
    return Bounds(value, value, abs(value) or 1.0, integral, digits=digits)


def whole(low: int, high: int) -> Bounds:
    """The bounds of a whole number from `low` to `high`."""
    return Bounds(float(low), float(high), 1.0, True)


def negative(inner: Bounds) -> Bounds:
    """-x."""
    return replace(inner, lo=-inner.hi, hi=-inner.lo)


def absolute(inner: Bounds) -> Bounds:
    """|x|."""
    low = 0.0 if inner.lo <= 0 <= inner.hi else min(abs(inner.lo), abs(inner.hi))
    return replace(inner, lo=low, hi=inner.size)


def total(left: Bounds, right: Bounds) -> Bounds:
    """x + y. Both are multiples of the last place of the smaller `least`, so a nonzero sum is at least that."""
    integral = left.integral and right.integral
    digits = _more_digits(left, right)
    least = 1.0 if digits == 0 else min(left.least, right.least) * _ULP
    return Bounds(left.lo + right.lo, left.hi + right.hi, least, integral, digits=digits)


def _more_digits(left: Bounds, right: Bounds) -> int | None:
    return None if left.digits is None or right.digits is None else max(left.digits, right.digits)


def product(left: Bounds, right: Bounds) -> Bounds:
    """x * y, whose extremes are at the corners."""
    corners = [a * b for a in (left.lo, left.hi) for b in (right.lo, right.hi)]
    integral = left.integral and right.integral
    digits = None if left.digits is None or right.digits is None else left.digits + right.digits
    least = 1.0 if digits == 0 else left.least * right.least / 2
    return Bounds(min(corners), max(corners), least, integral, left.divides and right.divides, digits)


def square(inner: Bounds) -> Bounds:
    """x * x, never negative."""
    size = absolute(inner)
    return product(size, size)


def power(inner: Bounds, exponent: int) -> Bounds:
    """x ^ n, 1 <= n."""
    base = absolute(inner) if exponent % 2 == 0 else inner
    ends = [_power(base.lo, exponent), _power(base.hi, exponent)]
    least = _power(inner.least, exponent) / 2
    digits = None if inner.digits is None else inner.digits * exponent
    return _slack(Bounds(ends[0], ends[1], least, False, inner.divides, digits))


def _power(base: float, exponent: int) -> float:
    try:
        return base**exponent
    except OverflowError:
        return math.copysign(math.inf, base) if exponent % 2 else math.inf


def square_root(inner: Bounds) -> Bounds:
    """sqrt(x), 0 <= x."""
    return Bounds(math.sqrt(inner.lo), math.sqrt(inner.hi), math.sqrt(inner.least) / 2, False, inner.divides)


def logarithm(inner: Bounds, base: float) -> Bounds:
    """The logarithm of x > 0. Near 1 it is about x - 1, and the next double is 2^-53 away."""
    ends = [math.log(value) / math.log(base) for value in (inner.smallest, max(inner.hi, inner.smallest))]
    return _slack(Bounds(ends[0], ends[1], 1e-18, False))


def exponential(inner: Bounds) -> Bounds:
    """e ^ x with slack for rounding; unbounded if x may exceed 700."""
    low, high = (math.exp(min(max(value, -740.0), 700.0)) for value in (inner.lo, inner.hi))
    return _slack(Bounds(low, math.inf if inner.hi > 700 else high, max(low / 2, 5e-324), False, True))


def _slack(inner: Bounds) -> Bounds:
    margin = _SLACK * inner.size + (1e-15 if inner.lo < 0 < inner.hi else 0.0)
    low = inner.lo if inner.lo == 0 else inner.lo - margin
    if inner.lo > 0:
        low = inner.lo * (1 - _SLACK)
    high = inner.hi * (1 - _SLACK) if inner.hi < 0 else inner.hi + margin
    return replace(inner, lo=low, hi=high)


def quotient(left: Bounds, divisor: Bounds) -> Bounds:
    """x / y, with y proved not to be 0."""
    assert divisor.divides, "the denominator is proved not to be zero"
    ends = [divisor.lo, divisor.hi]
    if divisor.lo <= 0 <= divisor.hi:
        ends = [end for end in ends if end] + [divisor.least if divisor.hi > 0 else -divisor.least]
        ends += [-divisor.least] if divisor.lo < 0 else []
    corners = [x / y for x in (left.lo, left.hi) for y in ends]
    least = left.least / max(divisor.size, divisor.least) / 2
    return Bounds(min(corners), max(corners), least, False, left.divides)


def truncated(inner: Bounds) -> Bounds:
    """The whole part of x, between 0 and x."""
    if not inner.safe:
        return inner
    return Bounds(float(math.trunc(inner.lo)), float(math.trunc(inner.hi)), 1.0, True)


def remainder(inner: Bounds, most: float) -> Bounds:
    """The remainder of x, at most `most` in size; it may be 0 whatever is proved of x."""
    return Bounds(max(min(inner.lo, 0.0), -most), min(max(inner.hi, 0.0), most), inner.least, False)


def rounded(inner: Bounds, digits: int = 0) -> Bounds:
    """An exact x, rounded up or down to a multiple of 10^-digits."""
    if not inner.safe:
        return inner
    lo, hi = (Fraction(repr(end)) * Fraction(10) ** digits for end in (inner.lo, inner.hi))
    ends = [float(math.floor(lo) / Fraction(10) ** digits), float(math.ceil(hi) / Fraction(10) ** digits)]
    return Bounds(ends[0], ends[1], 10.0**-digits / 2 if digits > 0 else 1.0, False, digits=max(digits, 0))


def rounded_double(inner: Bounds, digits: int = 0) -> Bounds:
    """As `rounded`, for a double that is scaled by 10^digits, made whole, and scaled back.

    A double next to a multiple of 10^-digits may fall on either side of it: 0.00000000001 * 10^11 is less than 1.
    Adding a half to a large whole number may give the next even one.
    """
    if not inner.safe:
        return inner
    scale = 10.0 ** abs(digits)
    lo, hi = (end * scale if digits > 0 else end / scale for end in (inner.lo, inner.hi))
    if digits or inner.size >= _HALVES:
        lo, hi = lo - abs(lo) * _NEAR, hi + abs(hi) * _NEAR
    ends = [math.floor(lo), math.ceil(hi)]
    if digits > 0:
        return Bounds(ends[0] / scale, ends[1] / scale, 0.5 / scale, False, digits=digits)
    return Bounds(ends[0] * scale, ends[1] * scale, 1.0, False, digits=0)


def sign(inner: Bounds) -> Bounds:
    """-1, 0 or 1."""
    low = -1.0 if inner.lo < 0 else 0.0 if inner.lo == 0 else 1.0
    high = 1.0 if inner.hi > 0 else 0.0 if inner.hi == 0 else -1.0
    return Bounds(low, high, 1.0, False, inner.divides, digits=0)


def either(left: Bounds, right: Bounds) -> Bounds:
    """One value or the other: the hull of both."""
    return Bounds(
        min(left.lo, right.lo),
        max(left.hi, right.hi),
        min(left.least, right.least),
        left.integral and right.integral,
        left.divides and right.divides,
        _more_digits(left, right),
    )


def within(inner: Bounds, low: float | None, high: float | None) -> Bounds:
    """The same x, known to be at least `low` and at most `high` as well."""
    lo = inner.lo if low is None else max(inner.lo, low)
    hi = inner.hi if high is None else min(inner.hi, high)
    return replace(inner, lo=min(lo, hi), hi=max(lo, hi))


def raised(inner: Bounds, low: float) -> Bounds:
    """x, or `low` (not 0) if x is below it."""
    return either(within(inner, low, None), constant(low, inner.integral))


def fractional(inner: Bounds) -> Bounds:
    """x in a type whose division keeps the fraction."""
    return replace(inner, integral=False)
