"""Truncation of tuples with one owner from how many units have how much: what a database returns in their place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.truncation.tabulated_answer import TabulatedAnswer, truncated_at
from privacy.units import MAX_UNITS, WEIGHT_BITS, saturating_sums


def histogram_thresholds(ladders: Iterable[Ladder], bound: int | None = None) -> tuple[int, ...]:
    """The thresholds, in units, at which a histogram of loads has to know truncated sums: those of all ladders.

    Args:
      ladders: that thresholds are chosen from, or that have the one threshold of a release.
      bound: Delta, in normalised weight, at which sums are released, too; one above 2^32 is left out.
    """
    most = int(Ladder().units[-1])
    bounds = () if bound is None else (min(bound << WEIGHT_BITS, most),)
    return tuple(sorted({*bounds, *(int(units) for ladder in ladders for units in ladder.units)}))


@dataclass(frozen=True, eq=False, repr=False)
class LoadHistogram:
    """How many units have how much in each group: m rows, each of a sum, a group and an interval of loads. Private.

    Attributes:
      sums: (m,) int64, which of the k sums a row is of.
      group: (m,) int64 index into the public list of groups, in [0, n_groups); -1: outside the domain.
      interval: (m,) int64, the place of the least threshold that is no less than the loads; their number above all.
      units: (m,) int64, how many privacy units have such a load, > 0.
      totals: (m,) int64 units of weight, what they have together, in [0, MAX_UNITS], saturating.
      n_groups: number of public groups, 1 without GROUP BY.
      n_sums: k.
      thresholds: (B,) int64 rising, > 0, in units of weight.
    """

    sums: NDArray[np.int64]
    group: NDArray[np.int64]
    interval: NDArray[np.int64]
    units: NDArray[np.int64]
    totals: NDArray[np.int64]
    n_groups: int
    n_sums: int
    thresholds: NDArray[np.int64]

    def __post_init__(self) -> None:
        rows = (self.sums, self.group, self.interval, self.units, self.totals)
        if len({len(column) for column in rows}) != 1:
            raise InvalidParameter("the columns of a histogram of loads are of one length")
        within = (
            _within(self.sums, 0, self.n_sums - 1),
            _within(self.group, -1, self.n_groups - 1),
            _within(self.interval, 0, len(self.thresholds)),
            _within(self.units, 0, MAX_UNITS),
            _within(self.totals, 0, MAX_UNITS),
        )
        if not all(within):
            raise InvalidParameter("a histogram of loads counts units and adds up weights")

    def __repr__(self) -> str:
        return f"LoadHistogram(sums={self.n_sums}, <private>)"


@dataclass(frozen=True, eq=False, repr=False)
class LoadsOfSum:
    """One of the sums of a histogram (`TruncatedSum`).

    Attributes:
      histogram: the loads.
      row: which of the sums.
    """

    histogram: LoadHistogram
    row: int

    def __post_init__(self) -> None:
        if not 0 <= self.row < self.histogram.n_sums:
            raise InvalidParameter("there is no such release")

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return self.histogram.n_groups

    def at(self, ladder: Ladder) -> TabulatedAnswer:
        """fbar(tau) = sum_u min(tau, load_u) for every group and threshold, exact: to the bit what the loads give.

        What lies in an interval up to tau counts as it is, and tau for every unit above it.

        Args:
          ladder: L thresholds, all of them the histogram's.
        Returns: (G, L) int64 units, saturating at MAX_UNITS. Sensitivity tau per cell.
        Raises: InvalidParameter for a threshold that cuts an interval in two.
        Cost: O(G (B + L)).
        Source: privacy.md section 2, fact 4; privacy-reach.md section 7.
        """
        places = np.searchsorted(self.histogram.thresholds, ladder.units)
        known = places < len(self.histogram.thresholds)
        if not known.all() or (self.histogram.thresholds[places] != ladder.units).any():
            raise InvalidParameter("a histogram of loads knows its own thresholds only")
        units, totals = (self._by_interval(one) for one in (self.histogram.units, self.histogram.totals))
        return truncated_at(ladder, places, units, totals)

    def units(self) -> NDArray[np.int64]:
        """(G,) how many units add to each group's sum."""
        return np.asarray(self._by_interval(self.histogram.units).sum(axis=1))

    def _by_interval(self, column: NDArray[np.int64]) -> NDArray[np.int64]:
        """(G, B + 1) a column of this sum, saturating."""
        here = (self.histogram.sums == self.row) & (self.histogram.group >= 0)
        width = len(self.histogram.thresholds) + 1
        cell = self.histogram.group[here] * width + self.histogram.interval[here]
        return saturating_sums(cell, column[here], self.n_groups * width).reshape(self.n_groups, width)

    def __repr__(self) -> str:
        return "LoadsOfSum(<private>)"


def _within(column: NDArray[np.int64], least: int, most: int) -> bool:
    return not len(column) or (int(column.min()) >= least and int(column.max()) <= most)
