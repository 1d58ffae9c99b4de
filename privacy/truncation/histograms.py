"""Truncated sums and scaled vectors of tuples with one owner, from histograms that a database counts.

The number of units by contribution, or the sums of the units of each norm in every group, replaces the tuples.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from privacy.errors import InvalidParameter
from privacy.join_tuples import Private
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TabulatedAnswer, truncated_at
from privacy.units import MAX_UNITS, WEIGHT_BITS, Ints, saturating_sums


def histogram_thresholds(threshold_sets: Iterable[Thresholds], bound: int | None = None) -> tuple[int, ...]:
    """All thresholds, in units, at which a histogram has to know truncated sums.

    Args:
      threshold_sets: candidate thresholds, or the one threshold of a release.
      bound: Delta, in normalised weight, at which sums are released too; one above 2^32 is left out.
    """
    most = int(Thresholds().units[-1])
    bounds = () if bound is None else (min(bound << WEIGHT_BITS, most),)
    return tuple(sorted({*bounds, *(int(units) for thresholds in threshold_sets for units in thresholds.units)}))


@dataclass(frozen=True, eq=False, repr=False)
class ContributionHistogram(Private):
    """The number of units by contribution in each group: m rows, each of a sum, a group and an interval. Private.

    Attributes:
      sums: (m,) int64, which of the k sums a row is of.
      group: (m,) int64 index into the public list of groups, in [0, n_groups); -1: outside the domain.
      interval: (m,) int64, the place of the least threshold that the contributions do not exceed; past the last above
        all.
      units: (m,) int64, how many privacy units have such a contribution, > 0.
      totals: (m,) int64 units of weight, what they have together, in [0, MAX_UNITS], saturating.
      n_groups: number of public groups, 1 without GROUP BY.
      n_sums: k.
      thresholds: (B,) int64 rising, > 0, in units of weight.
    """

    sums: Ints
    group: Ints
    interval: Ints
    units: Ints
    totals: Ints
    n_groups: int
    n_sums: int
    thresholds: Ints

    def __post_init__(self) -> None:
        rows = (self.sums, self.group, self.interval, self.units, self.totals)
        if len({len(column) for column in rows}) != 1:
            raise InvalidParameter("the columns of a contribution histogram must have the same length")
        within = (
            _within(self.sums, 0, self.n_sums - 1),
            _within(self.group, -1, self.n_groups - 1),
            _within(self.interval, 0, len(self.thresholds)),
            _within(self.units, 0, MAX_UNITS),
            _within(self.totals, 0, MAX_UNITS),
        )
        if not all(within):
            raise InvalidParameter("a contribution histogram must hold numbers within their ranges")


@dataclass(frozen=True, eq=False, repr=False)
class ContributionsOfSum(Private):
    """One of the sums of a histogram (`TruncatedSum`).

    Attributes:
      histogram: the contributions.
      row: which of the sums.
    """

    histogram: ContributionHistogram
    row: int

    def __post_init__(self) -> None:
        if not 0 <= self.row < self.histogram.n_sums:
            raise InvalidParameter("no release has this index")

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return self.histogram.n_groups

    def at(self, thresholds: Thresholds) -> TabulatedAnswer:
        """fbar(tau) = sum_u min(tau, contribution_u) for every group and threshold, exact.

        An interval up to tau counts with its total, and each unit above with tau.

        Args:
          thresholds: L of them, all known to the histogram.
        Returns: (G, L) int64 units, saturating at MAX_UNITS. Sensitivity tau per cell.
        Raises: InvalidParameter for a threshold that the histogram does not know.
        Cost: O(G (B + L)).
        Source: docs/mathematics.md, section 3.7.
        """
        places = np.searchsorted(self.histogram.thresholds, thresholds.units)
        known = places < len(self.histogram.thresholds)
        if not known.all() or (self.histogram.thresholds[places] != thresholds.units).any():
            raise InvalidParameter("the threshold must be one of the contribution histogram's own thresholds")
        units, totals = (self._by_interval(one) for one in (self.histogram.units, self.histogram.totals))
        return truncated_at(thresholds, places, units, totals)

    def units(self) -> Ints:
        """(G,) how many units add to each group's sum."""
        return np.asarray(self._by_interval(self.histogram.units).sum(axis=1))

    def _by_interval(self, column: Ints) -> Ints:
        """(G, B + 1) a column of this sum, saturating."""
        here = (self.histogram.sums == self.row) & (self.histogram.group >= 0)
        width = len(self.histogram.thresholds) + 1
        cell = self.histogram.group[here] * width + self.histogram.interval[here]
        return saturating_sums(cell, column[here], self.n_groups * width).reshape(self.n_groups, width)


def _within(column: Ints, least: int, most: int) -> bool:
    return not len(column) or (int(column.min()) >= least and int(column.max()) <= most)


SHARE_BITS = 30
"""A whole norm is 2^30 shares."""

FINER_BITS = 20
"""Scaled sums are in units 2^-20 of others': the smallest threshold, of 2^10 units, is then 2^30."""

_MOST_STEPS = 1 << 61
"""Scaled sums saturate here, far above 2^31 units at the threshold."""


@dataclass(frozen=True, eq=False, repr=False)
class NormHistogram(Private):
    """What units of each norm have in each group, and their shares of it: m rows. Private.

    Attributes:
      norms: how many units have which norm in each of the k sums, as contributions to one group. The norm of a vector
        is at least its L1 norm, or its L2 norm.
      sums: (m,) int64, which sum a row is of.
      group: (m,) int64 index into the public list of groups, in [0, n_groups); -1: outside the domain.
      interval: (m,) int64, the place of the least threshold that is no less than the norms; their number above all.
      totals: (m,) int64 units of weight, what these units have in the group, in [0, MAX_UNITS], saturating.
      shares: (m,) int64, the sum of floor(2^30 contribution / norm), in [0, MAX_UNITS], saturating.
      n_groups: number of public groups, 1 without GROUP BY.
    """

    norms: ContributionHistogram
    sums: Ints
    group: Ints
    interval: Ints
    totals: Ints
    shares: Ints
    n_groups: int

    def __post_init__(self) -> None:
        if self.norms.n_groups != 1:
            raise InvalidParameter("a unit must have one norm over all groups")
        none = np.zeros_like(self.totals)
        for column in (self.totals, self.shares):  # whose checks are those of a histogram of contributions
            rows = self.sums, self.group, self.interval, none, column
            ContributionHistogram(*rows, self.n_groups, self.norms.n_sums, self.norms.thresholds)


@dataclass(frozen=True, eq=False, repr=False)
class VectorsOfSum(Private):
    """C(x) = x min(1, tau / |x|) of what every unit has in all groups, for one of the sums of a histogram.

    A unit of norm |x| <= tau is kept whole. Any other is kept as tau r_f / 2^30 in group f, r_f its whole-numbered
    shares there. L1 shares add up to at most 2^30, squares of L2 shares to at most 2^60. So |C(x)| <= tau in that
    norm, exactly, and C(x) depends on the unit's own rows.

    Sensitivity: the sums over units are whole numbers of 2^-30 units of weight until they are rounded down to whole
      steps, once in each group. When a unit comes or goes, the sums move by its C(x), of norm tau. Rounding adds less
      than one step in each of its n groups, so less than n steps in either norm. Saturation moves nothing further.

    The number of units with a norm above a threshold moves by 1.
    Source: docs/mathematics.md, section 4.2.

    Attributes:
      histogram: the norms, and the sums of the units of each.
      row: which of the sums.
    """

    histogram: NormHistogram
    row: int

    def __post_init__(self) -> None:
        ContributionsOfSum(self.histogram.norms, self.row)  # there is such a sum

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return self.histogram.n_groups

    def kept(self, thresholds: Thresholds) -> TabulatedAnswer:
        """(1, L) sum_u min(tau, |x_u|), and how many units exceed each threshold.

        Raises: InvalidParameter for a threshold that the histogram does not know.
        """
        return ContributionsOfSum(self.histogram.norms, self.row).at(thresholds)

    def sums(self, tau_units: int, step: int) -> Ints:
        """(G,) sum_u C(x_u) in whole steps, rounded down; sensitivity tau and G steps, rounding included.

        Args:
          tau_units: a threshold of the histogram, in units.
          step: in units of 2^-FINER_BITS.
        Raises: InvalidParameter for another threshold, as units above it would count whole.
        Cost: O(m), and one product of long integers per group.
        """
        own = self.histogram
        if tau_units not in own.norms.thresholds:
            raise InvalidParameter("the threshold must be one of the norm histogram's own thresholds")
        mine = (own.sums == self.row) & (own.group >= 0)
        whole = mine & (own.interval <= np.searchsorted(own.norms.thresholds, tau_units))
        cut = mine & ~whole
        kept = saturating_sums(own.group[whole], own.totals[whole], self.n_groups).tolist()
        shares = saturating_sums(own.group[cut], own.shares[cut], self.n_groups).tolist()
        scaled = (
            ((left << SHARE_BITS) + tau_units * part << FINER_BITS) // (step << SHARE_BITS)
            for left, part in zip(kept, shares, strict=True)
        )
        return np.fromiter((min(one, _MOST_STEPS) for one in scaled), np.int64, self.n_groups)
