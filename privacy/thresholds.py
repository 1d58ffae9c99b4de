"""Candidate thresholds: the clipping thresholds that a mechanism chooses from, public and fixed before any data is
read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privacy.errors import InvalidParameter
from privacy.units import ONE, WEIGHT_BITS, Floats, Ints

_LEAST, _MOST = Fraction(1, 1 << 20), Fraction(1 << 32)

_LONGEST = 127
"""The most thresholds, which truncation numbers in a byte."""

PARTS = 4
"""How many thresholds each doubling has for tuples with one owner. A threshold is then off by a factor of 2^(1/8) at
most, and a database can still count at all of them. `make benchmark NAME=one_owner`."""

_PRECISE_BITS = 50
"""Leading bits of a threshold that are kept, so that a float holds it."""


@dataclass(frozen=True)
class Thresholds:
    """Powers of `base` from base**low to base**high, in normalised weight, and in a fine list what lies between.

    Source: R2T (SIGMOD 2022), whose thresholds are the powers of 2; DP-S4S (SIGMOD 2026), section 3.2.

    Attributes:
      low: exponent of the smallest threshold, which is 2^-20 or more.
      high: exponent of the largest threshold, which is 2^32 or less (contributions saturate there).
      base: > 1, exact. Programs are solved fastest for 2, and the scores of truncated answers need it.
      parts: into how many equal ratios each doubling is divided. More than one is for tuples with one owner.
      whole: thresholds are rounded to whole numbers, and equal ones are merged.
      most: replaces the thresholds above it, where doublings have parts; None: nothing.
    """

    low: int = -20
    high: int = 32
    base: Fraction | int = 2
    parts: int = 1
    whole: bool = False
    most: Fraction | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.base, Fraction | int) or not 1 < self.base <= _MOST:
            raise InvalidParameter("the base of thresholds must be a fraction above 1, and at most 2^32")
        if not 0 <= self.high - self.low < _LONGEST:
            raise InvalidParameter("there must be between 1 and 127 thresholds")
        if max(-self.low, self.high) > _LONGEST * WEIGHT_BITS:
            raise InvalidParameter("the exponents of thresholds are too large")
        if not _LEAST <= self._power(self.low) <= self._power(self.high) <= _MOST:
            raise InvalidParameter("thresholds must be between 2^-20 and 2^32")
        if self._whole(self.low) == self._whole(min(self.low + 1, self.high)) and self.low < self.high:
            raise InvalidParameter("thresholds must differ")
        if self.parts not in (1, 2, 4) or (self.parts > 1 and self.base != 2):
            raise InvalidParameter("between a threshold and its double there must be 1, 2 or 4 steps")
        if self.most is not None and (self.parts == 1 or not self._power(self.low) <= self.most <= _MOST):
            raise InvalidParameter("the most of thresholds must be among them")
        if self.whole and self.low < 0:
            raise InvalidParameter("thresholds of whole numbers must be at least 1")

    @property
    def doubling(self) -> bool:
        """Is each threshold twice the one before?"""
        return self.base == 2 and self.parts == 1

    @property
    def units(self) -> Ints:
        """(L,) int64 thresholds in units of 2^-30, ascending; for other bases than 2, rounded down to fifty bits.

        Sensitivities are those of the rounded thresholds, so that rounding costs nothing.
        """
        return _units_of(self)

    @property
    def taus(self) -> Floats:
        """(L,) float64 thresholds in normalised weight, ascending; exactly `units`."""
        return np.ldexp(self.units.astype(np.float64), -WEIGHT_BITS)

    def __len__(self) -> int:
        return self.high - self.low + 1 if self.parts == 1 else len(self.units)

    def _power(self, exponent: int) -> Fraction:
        return Fraction(self.base) ** exponent

    def _whole(self, exponent: int) -> int:
        return _precise(int(self._power(exponent) * (1 << WEIGHT_BITS)))

    def _between(self, step: int) -> int:
        """2^(step / parts) in units, by integer roots, so that every machine has the same."""
        units = 1 << step + self.parts * WEIGHT_BITS
        for _ in range(self.parts.bit_length() - 1):
            units = math.isqrt(units)
        return units + (ONE >> 1) >> WEIGHT_BITS << WEIGHT_BITS if self.whole else _precise(units)


@lru_cache(maxsize=1024)  # every plan needs some, and there are few
def _units_of(one: Thresholds) -> Ints:
    if one.parts == 1:
        units = np.array([one._whole(exponent) for exponent in range(one.low, one.high + 1)], np.int64)
    else:
        steps = range(one.low * one.parts, one.high * one.parts + 1)
        found = {one._between(step) for step in steps}
        if one.most is not None:
            most = _precise(int(one.most * (1 << WEIGHT_BITS)))
            found = {most, *(own for own in found if own < most)}
        units = np.array(sorted(found))
    units.flags.writeable = False  # all share it
    return units


def _precise(units: int) -> int:
    """Rounded down to fifty bits."""
    spare = max(0, units.bit_length() - _PRECISE_BITS)
    return units >> spare << spare


def one_threshold(bound: Fraction) -> Thresholds:
    """One threshold: the least number of fifty bits that is no less than a bound.

    Args:
      bound: > 0, in normalised weight; below 2^-20 it is 2^-20.
    Raises: InvalidParameter for a bound above 2^32.
    """
    units = math.ceil(max(bound, _LEAST) * (1 << WEIGHT_BITS))
    spare = max(0, units.bit_length() - _PRECISE_BITS)
    tau = Fraction(-(-units >> spare) << spare, 1 << WEIGHT_BITS)
    if tau == 1:
        return Thresholds(0, 0)
    return Thresholds(1, 1, tau) if tau > 1 else Thresholds(-1, -1, 1 / tau)


def useful_thresholds(
    whole: bool, tuples_per_unit: int | None, *, fine: bool = False, most: Fraction | None = None
) -> Thresholds:
    """The thresholds that can help, if a tuple weighs at most 1.

    Args:
      whole: every weight is 0 or 1, so that only whole thresholds from 1 on can help.
      tuples_per_unit: Delta, a public bound on the join tuples of one unit, which no threshold needs to exceed; or
        None.
      fine: with thresholds between the powers of 2, for tuples with one owner.
      most: the largest that a fine list may have; None: any.
    """
    low, high = (0 if whole else Thresholds().low), Thresholds().high
    if tuples_per_unit is not None:
        high = min(high, (tuples_per_unit - 1).bit_length())
    if most is not None and fine:
        if most <= Fraction(2) ** low:
            return one_threshold(most)
        if most < Fraction(2) ** high:
            high = max(low + 1, math.ceil(math.log2(most)))
            return Thresholds(low, high, parts=PARTS, whole=whole, most=most)
    return Thresholds(low, high, parts=PARTS, whole=whole) if fine and high > low else Thresholds(low, high)
