"""The contract of a truncated answer, its tables and closed forms, and its first bounds.

A truncated answer is a function of the threshold, evaluated only where a mechanism asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import Private
from privacy.thresholds import Thresholds
from privacy.units import MAX_UNITS, Ints, saturating_sums


class TruncatedAnswer(Protocol):
    """v(group, tau) at candidate thresholds, with fbar - g <= v <= fbar for the constant g = gap * tau.

    Private: no repr, no serialisation. All values are int64 units of 2^-30, in [0, MAX_UNITS].
    Sensitivity: of v(group, tau) at most (1 + gap) * tau, for each group and threshold; fbar only grows when a unit
      comes. Units with larger capacities (`Capacities`) move it by their capacity and gap * tau. Only `GroupLp` asks
      for such answers, and scales its noise for the groups that they reach. v is a deterministic function of (data,
      group, tau), whatever was asked before.
    """

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""

    @property
    def thresholds(self) -> Thresholds:
        """The L candidate thresholds."""

    @property
    def gap(self) -> float:
        """eta: 0 for exact values, else the constant of docs/mathematics.md, section 3.4."""

    def bounds(self) -> tuple[Ints, Ints]:
        """(G, L) lower and (G, L) upper bounds of v, as tight as known so far; equal where v is known."""

    def sharpen(self, group: int, index: int) -> None:
        """Tighten the bounds of a cell; after a few calls they are equal, as after `solve`.

        It costs less than `solve`, and may tighten other cells too.
        Raises: SolverFailed as `solve`.
        """

    def solve(self, group: int, index: int) -> int:
        """v(group, thresholds.units[index]); the bounds of that cell become equal to it.

        Raises: SolverFailed if no route certifies the gap, which is a bug.
        """


@runtime_checkable
class CountedAnswer(TruncatedAnswer, Protocol):
    """A truncated answer of tuples with one owner that also counts the units above each threshold."""

    @property
    def exceedances(self) -> Ints | None:
        """(G, L) how many units of the group exceed the threshold; None if unknown."""


@dataclass(frozen=True, eq=False, repr=False)
class TabulatedAnswer(Private):
    """A TruncatedAnswer whose values are all known.

    Attributes:
      values: (G, L) int64 units of 2^-30, in [0, MAX_UNITS], non-decreasing along the thresholds.
      thresholds: the L candidate thresholds.
      gap: eta of the values.
      exceedances: (G, L) int64, how many units exceed each threshold, for tuples with one owner; None: unknown.
    """

    values: Ints
    thresholds: Thresholds
    gap: float = 0.0
    exceedances: Ints | None = None

    @property
    def n_groups(self) -> int:
        """Number of public groups."""
        return len(self.values)

    def bounds(self) -> tuple[Ints, Ints]:
        """The values as lower and as upper bounds, since nothing is left to solve."""
        return self.values, self.values

    def sharpen(self, group: int, index: int) -> None:
        """Nothing to do, as every value is known."""

    def solve(self, group: int, index: int) -> int:
        """The value of one cell."""
        return int(self.values[group, index])


def answer_of_contributions(
    group: Ints, contributions: Ints, n_groups: int, thresholds: Thresholds
) -> TabulatedAnswer:
    """sum_u min(tau, contribution_u) and the number of units above tau, for every group and threshold, exact.

    Args:
      group: (n,) of each contribution; a unit in several groups has one in each.
      contributions: (n,) int64 in [0, MAX_UNITS].
    Cost: O(n log L + G L).
    """
    width = len(thresholds) + 1
    cell = group * width + np.searchsorted(thresholds.units, contributions)
    units = np.bincount(cell, minlength=n_groups * width).reshape(n_groups, width)
    totals = saturating_sums(cell, contributions, n_groups * width).reshape(n_groups, width)
    return truncated_at(thresholds, np.arange(len(thresholds)), units, totals)


def truncated_at(thresholds: Thresholds, places: NDArray[np.intp], units: Ints, totals: Ints) -> TabulatedAnswer:
    """sum_u min(tau, contribution_u) and the number of units above tau, from units and totals by interval.

    Args:
      places: (L,) the interval whose upper end each threshold is.
      units: (G, B) how many units have a contribution in each of B intervals, rising.
      totals: (G, B) what they have together, saturating at MAX_UNITS.
    Cost: O(G (B + L)).
    """
    below = _added_up(totals)
    above = _added_up(units[:, ::-1])[:, ::-1]
    values = np.empty((len(units), len(thresholds)), np.int64)
    for level, place in enumerate(places.tolist()):
        tau = int(thresholds.units[level])
        cut = np.minimum(above[:, place + 1], MAX_UNITS // tau) * tau
        cut[above[:, place + 1] > MAX_UNITS // tau] = MAX_UNITS
        values[:, level] = _saturating(below[:, place], cut)
    return TabulatedAnswer(values, thresholds, exceedances=np.ascontiguousarray(above[:, places + 1]))


def _saturating(left: Ints, right: Ints) -> Ints:
    """The sum of two columns in [0, MAX_UNITS]; unsigned, as twice that is no int64."""
    total = np.minimum(left.astype(np.uint64) + right.astype(np.uint64), np.uint64(MAX_UNITS))
    return np.asarray(total.astype(np.int64))


def _added_up(cells: Ints) -> Ints:
    """Running sums along the rows, saturating."""
    running = np.empty_like(cells)
    before = np.zeros(len(cells), np.int64)
    for place in range(cells.shape[1]):
        before = running[:, place] = _saturating(before, cells[:, place])
    return running


@dataclass(frozen=True, eq=False, repr=False)
class StartingBounds(Private):
    """Bounds for every group and threshold, and how far fbar is proportional to tau.

    Attributes:
      lower, upper: (G, L) int64 units, lower <= min(fbar, MAX_UNITS) <= upper.
      linear: (G,) index of the largest threshold up to which fbar is proportional to tau, -1 if unknown; known only
        where thresholds double, so that a value is scaled down by a shift.
    """

    lower: Ints
    upper: Ints
    linear: Ints

    def spread(self, doubling: bool = True) -> StartingBounds:
        """Tighten every threshold by its neighbours, in place.

        fbar grows with tau and, being concave with fbar(0) = 0, at most doubles when tau doubles; exactly
        doubles up to `linear`.

        Args:
          doubling: each threshold is twice the one before; otherwise fbar grows, and `linear` is forgotten.
        """
        lower, upper = self.lower, self.upper
        if not doubling:
            self.linear[:] = -1
            np.maximum.accumulate(lower, axis=1, out=lower)
            upper[:] = np.minimum.accumulate(upper[:, ::-1], axis=1)[:, ::-1]
            return self
        for column in range(lower.shape[1] - 2, -1, -1):
            above = upper[:, column + 1]
            halved = np.where(column < self.linear, above - (above >> 1), above)
            np.maximum(lower[:, column], lower[:, column + 1] >> 1, out=lower[:, column])
            np.minimum(upper[:, column], halved, out=upper[:, column])
        for column in range(1, lower.shape[1]):
            np.maximum(lower[:, column], lower[:, column - 1], out=lower[:, column])
            doubled = np.minimum(upper[:, column - 1], MAX_UNITS >> 1) << 1
            np.minimum(upper[:, column], doubled, out=upper[:, column])
        return self
