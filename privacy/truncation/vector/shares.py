"""Removal shares: how much of each privacy unit is taken away, on a public grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SHARE_BITS = 31
"""Shares are multiples of 2^-31: sums of thousands are exact in float64, and weight times z is exact in limbs."""

WHOLE = 1 << SHARE_BITS
"""A unit that is removed entirely, in steps of the grid."""


def on_grid(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round up to the grid, into [0, 1]; what is not a number becomes 1: nothing is kept on a doubt."""
    steps = np.ceil(np.nan_to_num(shares, nan=1.0, posinf=1.0, neginf=0.0) * WHOLE)
    return np.clip(steps / WHOLE, 0.0, 1.0)


def in_steps(shares: NDArray[np.float64]) -> int:
    """The sum of fewer than 2^31 shares on the grid, in steps of 2^-31: exact."""
    return int((shares * WHOLE).astype(np.int64).sum())


def raised(shares: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Feasible shares from any: every unit that is still too long gives up that part of what it keeps.

    A tuple of u keeps z <= 1 - s_u; raising s_u by (1 - s_u)(1 - 1/length) takes at least z (1 - 1/length) away from
    it, so a vector of this length is no longer than 1 afterwards, whatever the others do.

    Args:
      shares: (V,) on the grid.
      lengths: (V,) upper bounds on the lengths, in multiples of tau.
    """
    return on_grid(np.where(lengths > 1.0, 1.0 - (1.0 - shares) / np.maximum(lengths, 1.0) * _ROUNDING, shares))


_ROUNDING = 1.0 - 2.0**-50
"""Covers the roundings of the two operations around it."""
