"""Truncated values that are all known: closed forms, and tables that tests write down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.ladder import Ladder
from privacy.units import MAX_UNITS, saturating_sums


@dataclass(frozen=True, eq=False, repr=False)
class TabulatedAnswer:
    """A TruncatedAnswer with every value at hand.

    Attributes:
      values: (G, L) int64 units of 2^-30, in [0, MAX_UNITS], non-decreasing along the ladder.
      ladder: the L thresholds.
      gap: eta that the values were made with.
      exceedances: (G, L) int64, how many units have more than each threshold, of tuples of one owner; None: unknown.
    """

    values: NDArray[np.int64]
    ladder: Ladder
    gap: float = 0.0
    exceedances: NDArray[np.int64] | None = None

    @property
    def n_groups(self) -> int:
        """Number of public groups."""
        return len(self.values)

    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The values twice: nothing is unknown."""
        return self.values, self.values

    def sharpen(self, group: int, index: int) -> None:
        """Tighten the bounds of one cell: nothing is left to learn, as every value is known."""

    def solve(self, group: int, index: int) -> int:
        """The value of one cell."""
        return int(self.values[group, index])

    def __repr__(self) -> str:
        return "TabulatedAnswer(<private>)"


def answer_of_loads(
    group: NDArray[np.int64], loads: NDArray[np.int64], n_groups: int, ladder: Ladder
) -> TabulatedAnswer:
    """sum_u min(tau, load_u) and the number of units above tau, for every group and threshold, exact.

    Args:
      group: (n,) of each unit's load; one that is in several groups has a load in each.
      loads: (n,) int64 in [0, MAX_UNITS].
      n_groups: G.
      ladder: L thresholds.
    Cost: O(n log L + G L).
    """
    width = len(ladder) + 1
    cell = group * width + np.searchsorted(ladder.units, loads)
    units = np.bincount(cell, minlength=n_groups * width).reshape(n_groups, width)
    totals = saturating_sums(cell, loads, n_groups * width).reshape(n_groups, width)
    return truncated_at(ladder, np.arange(len(ladder)), units, totals)


def truncated_at(
    ladder: Ladder, places: NDArray[np.intp], units: NDArray[np.int64], totals: NDArray[np.int64]
) -> TabulatedAnswer:
    """sum_u min(tau, load_u) and the number of units above tau, from units and what they have by intervals of loads.

    Args:
      ladder: L thresholds.
      places: (L,) the interval whose upper end each threshold is.
      units: (G, B) how many units have a load in each of B intervals, rising.
      totals: (G, B) what they have together, saturating at MAX_UNITS.
    Cost: O(G (B + L)).
    """
    below = _added_up(totals)
    above = _added_up(units[:, ::-1])[:, ::-1]
    values = np.empty((len(units), len(ladder)), np.int64)
    for rung, place in enumerate(places.tolist()):
        tau = int(ladder.units[rung])
        cut = np.minimum(above[:, place + 1], MAX_UNITS // tau) * tau
        cut[above[:, place + 1] > MAX_UNITS // tau] = MAX_UNITS
        values[:, rung] = _saturating(below[:, place], cut)
    return TabulatedAnswer(values, ladder, exceedances=np.ascontiguousarray(above[:, places + 1]))


def _saturating(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of two columns in [0, MAX_UNITS]; unsigned, as twice that is no int64."""
    total = np.minimum(left.astype(np.uint64) + right.astype(np.uint64), np.uint64(MAX_UNITS))
    return np.asarray(total.astype(np.int64))


def _added_up(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Running sums along the rows, saturating."""
    running = np.empty_like(cells)
    before = np.zeros(len(cells), np.int64)
    for place in range(cells.shape[1]):
        before = running[:, place] = _saturating(before, cells[:, place])
    return running
