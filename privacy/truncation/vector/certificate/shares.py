"""Removal shares: how much of each privacy unit is taken away, on a public grid; and their sums, in public steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.exact_sums import exact_sum

SHARE_BITS = 50
"""Shares are multiples of 2^-50, so that rounding every one of 10^9 up costs 2^-20 persons in all.

What several shares leave of a tuple, 1 - s - s' - ..., is exact in float64 as long as it is not negative, and stays
negative from then on, in any order.
"""

GRID = 1 << SHARE_BITS
"""A unit that is removed entirely, on the grid."""

STEP_BITS = 31
"""How many persons are removed is told in steps of 2^-31 persons: the sum is rounded, not each share."""

WHOLE = 1 << STEP_BITS
"""One person, in steps."""


def on_grid(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round up to the grid, into [0, 1]; what is not a number becomes 1: nothing is kept on a doubt."""
    steps = np.ceil(np.nan_to_num(shares, nan=1.0, posinf=1.0, neginf=0.0) * GRID)
    return np.clip(steps / GRID, 0.0, 1.0)


def all_but(kept: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares on the grid that leave at most `kept` of each unit; what is not a number keeps nothing.

    What is kept is rounded down before it is taken from 1, where it would lose its last bits and round either way.
    """
    steps = np.floor(np.clip(np.nan_to_num(kept, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0) * GRID)
    return 1.0 - steps / GRID


def in_steps(shares: NDArray[np.float64]) -> int:
    """The exact sum of fewer than 2^31 shares on the grid, in steps of 2^-31 persons, rounded up once."""
    return -(-exact_sum((shares * GRID).astype(np.int64)) >> (SHARE_BITS - STEP_BITS))


def raised(shares: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Feasible shares from any: every unit that is still too long gives up that part of what it keeps.

    A tuple of u keeps z <= 1 - s_u; raising s_u by (1 - s_u)(1 - 1/length) takes at least z (1 - 1/length) away from
    it, so a vector of this length is no longer than 1 afterwards, whatever the others do.

    Args:
      shares: (V,) on the grid.
      lengths: (V,) upper bounds on the lengths, in multiples of tau.
    """
    kept = 1.0 - shares
    return all_but(np.where(lengths > 1.0, kept / np.maximum(lengths, 1.0) * _ROUNDING, kept))


_ROUNDING = 1.0 - 2.0**-50
"""Covers the roundings of the two operations around it."""
