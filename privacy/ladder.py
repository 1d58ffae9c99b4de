"""The thresholds that a mechanism chooses from: public, fixed before any data is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.units import WEIGHT_BITS

_LEAST, _MOST = Fraction(1, 1 << 20), Fraction(1 << 32)

_LONGEST = 127
"""Thresholds, of which truncation counts in a byte."""

_PRECISE_BITS = 50
"""Leading bits of a threshold that are kept, so that a float holds it."""


@dataclass(frozen=True)
class Ladder:
    """Powers of `base` from base**low to base**high, in normalised weight.

    Source: R2T (SIGMOD 2022), whose thresholds are the powers of 2; DP-S4S (SIGMOD 2026), section 3.2.

    Attributes:
      low: exponent of the smallest threshold, which is 2^-20 or more.
      high: exponent of the largest threshold, which is 2^32 or less (where loads saturate).
      base: > 1, exact. 2 is what truncation is fastest for, and what scores of thresholds are made for.
    """

    low: int = -20
    high: int = 32
    base: Fraction | int = 2

    def __post_init__(self) -> None:
        if not isinstance(self.base, Fraction | int) or not 1 < self.base <= _MOST:
            raise InvalidParameter("the base of a ladder is a fraction above 1, and at most 2^32")
        if not 0 <= self.high - self.low < _LONGEST:
            raise InvalidParameter("a ladder has one threshold at least and 127 at most")
        if max(-self.low, self.high) > _LONGEST * WEIGHT_BITS:
            raise InvalidParameter("a ladder's exponents are small")
        if not _LEAST <= self._power(self.low) <= self._power(self.high) <= _MOST:
            raise InvalidParameter("a ladder runs from 2^-20 at the least to 2^32 at the most")
        if self._whole(self.low) == self._whole(min(self.low + 1, self.high)) and self.low < self.high:
            raise InvalidParameter("two thresholds of a ladder are the same")

    @property
    def doubling(self) -> bool:
        """Whether each threshold is twice the one before."""
        return self.base == 2

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """(L,) int64 thresholds in units of 2^-30, ascending; of other bases than 2, rounded down to fifty bits.

        Sensitivities are those of the rounded thresholds, so that rounding costs nothing.
        """
        return np.array([self._whole(exponent) for exponent in range(self.low, self.high + 1)], np.int64)

    @property
    def taus(self) -> NDArray[np.float64]:
        """(L,) float64 thresholds in normalised weight, ascending; exactly `units`."""
        return np.ldexp(self.units.astype(np.float64), -WEIGHT_BITS)

    def __len__(self) -> int:
        return self.high - self.low + 1

    def _power(self, exponent: int) -> Fraction:
        return Fraction(self.base) ** exponent

    def _whole(self, exponent: int) -> int:
        """A threshold in units."""
        units = int(self._power(exponent) * (1 << WEIGHT_BITS))
        spare = max(0, units.bit_length() - _PRECISE_BITS)
        return units >> spare << spare


def one_threshold(bound: Fraction) -> Ladder:
    """The ladder of one threshold: the least that has fifty bits and is no less than a bound.

    Args:
      bound: > 0, in normalised weight; one below 2^-20 is 2^-20.
    Raises: InvalidParameter for a bound above 2^32.
    """
    units = math.ceil(max(bound, _LEAST) * (1 << WEIGHT_BITS))
    spare = max(0, units.bit_length() - _PRECISE_BITS)
    tau = Fraction(-(-units >> spare) << spare, 1 << WEIGHT_BITS)
    if tau == 1:
        return Ladder(0, 0)
    return Ladder(1, 1, tau) if tau > 1 else Ladder(-1, -1, 1 / tau)


def useful_ladder(whole: bool, tuples_per_unit: int | None) -> Ladder:
    """The thresholds that can help; a tuple weighs at most 1.

    Args:
      whole: every weight is 0 or 1, so that a threshold below 1 cannot help.
      tuples_per_unit: Delta, a public bound on the join tuples of one unit, above which none can; or None.
    """
    full = Ladder(low=0) if whole else Ladder()
    if tuples_per_unit is None:
        return full
    return Ladder(full.low, min(full.high, (tuples_per_unit - 1).bit_length()))
