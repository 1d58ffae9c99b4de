"""Nearly feasible shares made feasible at a price of the second order: who is too long gives a little more.

A linear program keeps its rows to 1e-9, and a row is a length divided by r, the slope of that length in the unit's
own share: at weights of 10^6 tau the length is off by 1e-3. Shortening the unit by that part of all it keeps
(`raised`) would cost 1e-3 persons; a share that is 1e-9 larger costs 1e-9 and does the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.vector.certificate.shares import on_grid, raised
from privacy.truncation.vector.core import Core, loads_at, weights_left_at

_REPAIR_STEPS = 16
"""Newton's method on a convex function from the left: two or three are the rule, more where tuples end."""

_ENOUGH = 2.0**-30
"""Persons per unit that are not worth another step."""


def repaired(core: Core, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """(C,) shares on the grid that are feasible for the core, but for the rounding of sums, near the given ones.

    The length of a unit is convex in its own share and falls at the rate r; raising the others only helps. So a step
    of (length - 1)/r does not overshoot alone, and what is left over is `raised`.

    Args:
      shares: (C,) on the grid.
    Cost: two passes over the patterns per step.
    """
    best = np.ones(len(shares))
    for _ in range(_REPAIR_STEPS):
        loads = loads_at(core, shares)
        lengths = core.lengths_of(loads)
        feasible = raised(shares, lengths)
        if feasible.sum() < best.sum():
            best = feasible
        if (feasible - shares).sum() <= _ENOUGH:
            break
        slopes = slopes_at(core, shares, loads, lengths)
        long = (lengths > 1.0) & (slopes > 0.0)
        shares = on_grid(shares + np.where(long, (lengths - 1.0) / np.where(long, slopes, 1.0), 0.0))
    return best


def slopes_at(
    core: Core, shares: NDArray[np.float64], loads: NDArray[np.float64], lengths: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(C,) how fast the length of each constrained column falls in its own share."""
    direction = loads / np.maximum(lengths, np.finfo(float).tiny)[core.run_column]
    falls = weights_left_at(core, shares) * direction
    return np.bincount(core.run_column, falls, len(core.columns)).astype(np.float64)
