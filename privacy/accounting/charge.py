"""Spent privacy as exact integers, so that a budget is neither overspent nor refused by rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from privacy.errors import InvalidParameter

NANO_DIGITS = 9
"""Epsilon is counted in whole multiples of 10^-9."""

ATTO_DIGITS = 18
"""Delta is counted in whole multiples of 10^-18."""


def nano_epsilon(epsilon: float) -> int:
    """Epsilon >= 0 in multiples of 1e-9, rounded up: what a charge of it costs.

    A float stands for the shortest decimal that spells it: 0.1 is 100,000,000, three of them are 0.3.
    Raises: InvalidParameter unless epsilon is finite and not negative.
    """
    return _scaled(epsilon, NANO_DIGITS, ROUND_CEILING)


def atto_delta(delta: float) -> int:
    """Delta in [0, 1] in multiples of 1e-18, rounded up: what a charge of it costs. Raises: as nano_epsilon."""
    if delta > 1:
        raise InvalidParameter("delta is a probability")
    return _scaled(delta, ATTO_DIGITS, ROUND_CEILING)


def _scaled(value: float, digits: int, rounding: str) -> int:
    if not (math.isfinite(value) and value >= 0):
        raise InvalidParameter("epsilon and delta must be finite and not negative")
    return int(Decimal(repr(float(value))).scaleb(digits).to_integral_value(rounding))


@dataclass(frozen=True)
class Charge:
    """An amount of (epsilon, delta).

    Attributes:
      nano_epsilon: epsilon in multiples of 1e-9, >= 0.
      atto_delta: delta in multiples of 1e-18, >= 0.
    """

    nano_epsilon: int
    atto_delta: int = 0

    def __post_init__(self) -> None:
        if self.nano_epsilon < 0 or self.atto_delta < 0:
            raise InvalidParameter("a charge is never negative")

    @classmethod
    def of(cls, epsilon: float, delta: float = 0.0) -> Charge:
        """The cost of (epsilon, delta), both rounded up."""
        return cls(nano_epsilon(epsilon), atto_delta(delta))

    @classmethod
    def granted(cls, epsilon: float, delta: float = 0.0) -> Charge:
        """A budget of (epsilon, delta), both rounded down: a grant never buys more than it says."""
        if delta > 1:
            raise InvalidParameter("delta is a probability")
        return cls(_scaled(epsilon, NANO_DIGITS, ROUND_FLOOR), _scaled(delta, ATTO_DIGITS, ROUND_FLOOR))

    def __add__(self, other: Charge) -> Charge:
        return Charge(self.nano_epsilon + other.nano_epsilon, self.atto_delta + other.atto_delta)

    @property
    def epsilon(self) -> float:
        """Epsilon as a float, for people."""
        return float(Decimal(self.nano_epsilon).scaleb(-NANO_DIGITS))

    @property
    def delta(self) -> float:
        """Delta as a float, for people."""
        return float(Decimal(self.atto_delta).scaleb(-ATTO_DIGITS))
