"""Budgets and charges as whole numbers, so that sums are exact and no order of charges overspends.

Epsilon is counted in nano (1e-9), delta in atto (1e-18). What an analyst is charged is rounded up, what an analyst
was granted or has left is rounded down: every rounding is on the side of the people in the data.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from planner.errors import InvalidSetting

MAX_EPSILON = 1e9
"""The largest epsilon that is counted: 1e18 nano, within a signed 64-bit integer."""

_EPSILON_DIGITS = 9
_DELTA_DIGITS = 18


def charged_epsilon(epsilon: float) -> int:
    """Nano-epsilon of a charge, rounded up.

    Args:
      epsilon: in (0, MAX_EPSILON].
    Raises: InvalidSetting.
    """
    return _units(_checked_epsilon(epsilon), _EPSILON_DIGITS, ROUND_CEILING)


def charged_delta(delta: float) -> int:
    """Atto-delta of a charge, rounded up; delta in [0, 1). Raises InvalidSetting."""
    return _units(_checked_delta(delta), _DELTA_DIGITS, ROUND_CEILING)


def granted_epsilon(epsilon: float) -> int:
    """Nano-epsilon of a budget, rounded down; epsilon in [1e-9, MAX_EPSILON]. Raises InvalidSetting."""
    nano = _units(_checked_epsilon(epsilon), _EPSILON_DIGITS, ROUND_FLOOR)
    if not nano:
        raise InvalidSetting("a budget of epsilon is at least 1e-9")
    return nano


def granted_delta(delta: float) -> int:
    """Atto-delta of a budget, rounded down; delta in [0, 1). Raises InvalidSetting."""
    return _units(_checked_delta(delta), _DELTA_DIGITS, ROUND_FLOOR)


def epsilon_of(nano: int) -> float:
    """The largest float whose charge is at most `nano` nano-epsilon (0.0 for none)."""
    return _float_at_most(Decimal(nano).scaleb(-_EPSILON_DIGITS))


def delta_of(atto: int) -> float:
    """The largest float whose charge is at most `atto` atto-delta."""
    return _float_at_most(Decimal(atto).scaleb(-_DELTA_DIGITS))


def _checked_epsilon(epsilon: float) -> float:
    if not (math.isfinite(epsilon) and 0 < epsilon <= MAX_EPSILON):
        raise InvalidSetting(f"epsilon must be above 0 and at most {MAX_EPSILON:g}.")
    return epsilon


def _checked_delta(delta: float) -> float:
    if not (math.isfinite(delta) and 0 <= delta < 1):
        raise InvalidSetting("delta must be at least 0 and below 1.")
    return delta


def _units(amount: float, digits: int, rounding: str) -> int:
    """Through repr: 0.1 is meant as one tenth, not as the binary fraction a little above it."""
    return int(Decimal(repr(float(amount))).scaleb(digits).to_integral_value(rounding))


def _float_at_most(amount: Decimal) -> float:
    nearest = float(amount)
    return nearest if Decimal(repr(nearest)) <= amount else math.nextafter(nearest, 0.0)
