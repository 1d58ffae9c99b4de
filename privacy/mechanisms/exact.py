"""Exact arithmetic on privacy parameters, so that no rounding ever goes against privacy."""

from __future__ import annotations

import math
from fractions import Fraction

from privacy.errors import InvalidParameter
from privacy.mechanisms.parameters import groups_reached

DOWN = 1 - 2.0**-40
"""Shrinks a budget by more than the rounding of the floats that divide it."""


def exact(parameter: float) -> Fraction:
    """The number that a float's shortest decimal spells: exact(0.1) is 1/10.

    The ledger charges the same number, so what is spent is what is charged.
    Raises: InvalidParameter unless the float is finite.
    """
    if not math.isfinite(parameter):
        raise InvalidParameter("a privacy parameter must be finite")
    return Fraction(repr(float(parameter)))


def exact_epsilon(epsilon: float) -> Fraction:
    """`exact`, for an epsilon. Raises: InvalidParameter unless it is finite and positive."""
    value = exact(epsilon)
    if value <= 0:
        raise InvalidParameter("epsilon must be positive")
    return value


def float_at_least(value: Fraction) -> float:
    """The smallest float that is no smaller than `value`: noise scales round up, never down."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def group_epsilon(epsilon: float, groups_per_unit: int | None, n_groups: int) -> Fraction:
    """What each group may spend when one unit reaches at most L0 of the groups.

    Args:
      epsilon: for all groups together, > 0.
      groups_per_unit: L0 >= 1, or None when only the number of groups bounds it.
      n_groups: number of public groups.
    Returns: epsilon / min(L0, n_groups): the groups that one unit reaches add up to at most epsilon.
    Source: privacy.md section 5, group_lp under pure DP.
    """
    return exact_epsilon(epsilon) / groups_reached(groups_per_unit, n_groups)
