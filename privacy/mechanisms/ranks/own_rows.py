"""Rows of one owner each: what every row weighs below and above the values, so that a unit moves no rank far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import RankedTuples
from privacy.mechanisms.ranks.exponential_rank import Ranks
from privacy.mechanisms.ranks.rank import Rank
from privacy.truncation.codes.owner_codes import owner_codes

TAU = 1 << 24
"""What one unit's scaled rows weigh together at most: a row weighs TAU / tau."""

_MOST_OWN_ROWS = 1 << 32
_MOST_WEIGHT = 1 << 41


@dataclass(frozen=True, eq=False, repr=False)
class OwnRows:
    """The rows of one owner each that count. Private.

    Attributes:
      unit: (m,) int32 in [0, n_units).
      group: (m,) int64 in [0, n_groups).
      value: (m,) int64 in [0, n_codes).
      rows: (m,) int64 how many they are, in [1, 2^32].
      n_units, n_groups: how many there are.
      n_codes: D, the number of values of the public grid.
    """

    unit: NDArray[np.int32]
    group: NDArray[np.int64]
    value: NDArray[np.int64]
    rows: NDArray[np.int64]
    n_units: int
    n_groups: int
    n_codes: int

    @classmethod
    def of(cls, tuples: RankedTuples, n_codes: int) -> OwnRows:
        """Without the rows of nobody, without a value, or outside of the groups.

        A value beyond the grid counts at its end, row by row: an error would tell of the one row that caused it.
        Raises: InvalidParameter for several owner positions.
        """
        if len(tuples.owners) != 1:
            raise InvalidParameter("rows of one owner each have one owner position")
        codes, n_units = owner_codes(tuples.owners, len(tuples.group))
        counts = (tuples.group >= 0) & (tuples.value >= 0) & (tuples.rows > 0) & (codes[0] >= 0)
        unit, group, value, rows = (part[counts] for part in (codes[0], tuples.group, tuples.value, tuples.rows))
        value, rows = np.minimum(value, n_codes - 1), np.minimum(rows, _MOST_OWN_ROWS)
        return cls(unit, group, value, rows, n_units, tuples.n_groups, n_codes)

    def loads(self) -> NDArray[np.int64]:
        """(n_units,) the rows of each unit; of 2^31 rows of 2^32 at most, so that nothing overflows."""
        load = np.zeros(self.n_units, np.int64)
        np.add.at(load, self.unit, self.rows)
        return load

    def scaled(self, ranks: Sequence[Rank], tau: int) -> Iterator[list[Ranks]]:
        """Of each group, the offsets from quantiles, where a row weighs TAU / max(tau, its unit's rows).

        Whichever of its rows a unit has, in whichever groups, they weigh TAU together at most. An offset
        A - q N = (1 - q) A - q (N - A) lies for the unit's part between -q TAU and (1 - q) TAU: when it comes or
        goes, all groups' offsets together move by max(q, 1 - q) TAU at most. Rounding of q N adds one in each group.
        """
        weight = self.rows * TAU // np.maximum(self.loads(), tau)[self.unit]
        for codes, (levels,) in self._by_group(weight):
            total = int(levels[-1])
            yield [
                Ranks(codes, levels - total * rank.above // (rank.above + rank.below), self.n_codes) for rank in ranks
            ]

    def clipped(self, ranks: Sequence[Rank], tau: int) -> Iterator[list[Ranks]]:
        """Of each group, the offsets from quantiles, where a unit adds its rows on either side up to `Rank.caps`.

        For units of one group at most: `Rank.moves` then bounds what an offset moves by.
        A row counts below the values from its own on as far as the rows that its unit has below it leave room, and
        above the values before its own as far as those above it do.
        """
        order = np.argsort(self.unit.astype(np.int64) * self.n_codes + self.value, kind="stable")
        load = self.loads()
        rows, left = self.rows[order], load[self.unit[order]]
        upto = np.cumsum(rows) - (np.cumsum(load) - load)[self.unit[order]]  # of its unit's, from the lowest value
        before = upto - rows
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        weights = []
        for rank in ranks:
            below, above = rank.caps(tau)
            weights.append((np.minimum(upto, below) - np.minimum(before, below))[place])
            weights.append((np.minimum(left - before, above) - np.minimum(left - upto, above))[place])
        for codes, levels in self._by_group(*weights):
            sides = [np.minimum(side, _MOST_WEIGHT) for side in _sides(levels)]
            yield [
                Ranks(codes, rank.below * sides[2 * turn] - rank.above * sides[2 * turn + 1], self.n_codes)
                for turn, rank in enumerate(ranks)
            ]

    def outermost(self, ranks: Sequence[Rank]) -> Iterator[list[Ranks]]:
        """Of each group, the offsets from extremes of one side, in TAU per person.

        A unit's largest (or smallest) value of each group weighs TAU / (the number of its groups), so that its
        offsets move as those of `scaled` do where q is 1.
        """
        highest = ranks[0].highest
        unit, group, value = _outermost(self.unit, self.group, self.value, highest=highest)
        weight = TAU // np.maximum(1, np.bincount(unit, minlength=self.n_units))[unit]
        kept = OwnRows(unit, group, value, np.ones_like(value), self.n_units, self.n_groups, self.n_codes)
        for codes, (levels,) in kept._by_group(weight):
            total = int(levels[-1]) if highest else 0
            yield [Ranks(codes, levels - total + rank.shift * TAU, self.n_codes) for rank in ranks]

    def _by_group(self, *weights: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], list[NDArray[np.int64]]]]:
        """Of each group its distinct values, and per weight the (r + 1,) sums of the rows below each of them."""
        distinct, place = np.unique(self.group * self.n_codes + self.value, return_inverse=True)
        totals = []
        for weight in weights:
            total = np.zeros(len(distinct), np.int64)
            np.add.at(total, place, weight)
            totals.append(total)
        starts = np.searchsorted(distinct, np.arange(self.n_groups + 1) * self.n_codes)
        for one in range(self.n_groups):
            here = slice(int(starts[one]), int(starts[one + 1]))
            levels = [np.concatenate([np.zeros(1, np.int64), np.cumsum(total[here])]) for total in totals]
            yield distinct[here] - one * self.n_codes, levels

    def __repr__(self) -> str:
        return "OwnRows(<private>)"


def _sides(levels: Sequence[NDArray[np.int64]]) -> Iterator[NDArray[np.int64]]:
    """By turns what lies below each place, and what lies above it."""
    for turn, level in enumerate(levels):
        yield level[-1] - level if turn % 2 else level


def _outermost(
    unit: NDArray[np.int32], group: NDArray[np.int64], value: NDArray[np.int64], *, highest: bool
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Each unit's largest or smallest value in each of its groups."""
    order = np.lexsort((-value if highest else value, group, unit))
    unit, group, value = unit[order], group[order], value[order]
    first = np.ones(len(unit), np.bool_)
    first[1:] = (unit[1:] != unit[:-1]) | (group[1:] != group[:-1])
    return unit[first], group[first], value[first]
