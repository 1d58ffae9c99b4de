"""Exact arithmetic on public privacy parameters: what each may be, and no rounding against privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from privacy.errors import InvalidParameter

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
    return quotient_at_least(value.numerator, value.denominator)


def quotient_at_least(numerator: int, denominator: int) -> float:
    """The smallest float that is no smaller than numerator / denominator, for whole numbers and a positive
    denominator.

    Like `float_at_least`, without a fraction in lowest terms: many thresholds have hundreds of scales.
    """
    nearest = numerator / denominator  # correctly rounded, whatever the size of the two
    above, below = nearest.as_integer_ratio()
    return nearest if above * denominator >= numerator * below else math.nextafter(nearest, math.inf)


def group_epsilon(epsilon: float, groups_per_unit: int | None, n_groups: int) -> Fraction:
    """What each group may spend when one unit reaches at most L0 of the groups.

    Args:
      epsilon: for all groups together, > 0.
      groups_per_unit: L0 >= 1, or None when only the number of groups bounds it.
      n_groups: number of public groups.
    Returns: epsilon / min(L0, n_groups): the groups that one unit reaches add up to at most epsilon.
    Source: docs/mathematics.md, section 5.1.
    """
    return exact_epsilon(epsilon) / groups_reached(groups_per_unit, n_groups)


UPWARD = 1 + 2.0**-40
"""A computed bound is multiplied by it. It exceeds the error of a few correctly rounded functions, and costs 1e-12.
"""


@lru_cache(maxsize=1024)
def decimal_fraction(value: float) -> Fraction:
    """The shortest decimal that spells a finite float, exactly: 0.1 is 1/10."""
    return Fraction(repr(float(value)))


def check_gap(gap: float) -> None:
    """Refuse a gap of solvers, eta, outside of [0, 1]. Raises: InvalidParameter."""
    if not 0 <= gap <= 1:
        raise InvalidParameter("a solver's gap must be between 0 and 1")


def check_groups(groups_per_unit: int | None) -> None:
    """Refuse an L0 below 1; None stands for the number of groups. Raises: InvalidParameter."""
    if groups_per_unit is not None and groups_per_unit < 1:
        raise InvalidParameter("the groups that a unit reaches must be at least 1")


def check_confidence(confidence: float) -> None:
    """Refuse the confidence of an interval outside of (0, 1). Raises: InvalidParameter."""
    if not 0 < confidence < 1:
        raise InvalidParameter("confidence must be between 0 and 1")


def groups_reached(groups_per_unit: int | None, n_groups: int) -> int:
    """How many groups share a budget: L0, or all of them where L0 is None or more, and never less than 1.

    Raises: InvalidParameter for an L0 below 1.
    """
    check_groups(groups_per_unit)
    most = max(1, n_groups)
    return most if groups_per_unit is None else min(most, groups_per_unit)
