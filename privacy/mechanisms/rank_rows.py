"""The weight of the rows on either side of a value, bounded for each unit, so that no unit moves a rank far.

`OwnRows` is for rows with one owner each, `SharedRows` for rows with several.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples, JoinTuples, Private, RankedTuples
from privacy.mechanisms.rank import POINT_BITS, Rank, Ranks, weight_of
from privacy.thresholds import Thresholds
from privacy.truncation.codes import owner_codes
from privacy.truncation.encode import encode
from privacy.truncation.solver_name import SolverName
from privacy.truncation.truncate import truncate
from privacy.units import ONE, Int32s, Ints

TAU = 1 << 24
"""The most that the scaled rows of one unit weigh together. A row weighs TAU / tau, or less."""

_MOST_OWN_ROWS = 1 << 32
_MOST_WEIGHT = 1 << 41


@dataclass(frozen=True, eq=False, repr=False)
class OwnRows(Private):
    """The counted rows with one owner each. Private.

    Attributes:
      unit: (m,) int32 in [0, n_units).
      group: (m,) int64 in [0, n_groups).
      value: (m,) int64 in [0, n_codes).
      rows: (m,) int64 the number of equal rows that each entry stands for, in [1, 2^32].
      n_codes: D, the number of values of the public grid.
    """

    unit: Int32s
    group: Ints
    value: Ints
    rows: Ints
    n_units: int
    n_groups: int
    n_codes: int

    @classmethod
    def of(cls, tuples: RankedTuples, n_codes: int) -> OwnRows:
        """Leave out rows without an owner, without a value, or outside of the groups.

        A value beyond the grid counts at its end. An error would reveal the one row that caused it.
        Raises: InvalidParameter for several owner positions.
        """
        if len(tuples.owners) != 1:
            raise InvalidParameter("rows with one owner must have one owner position")
        codes, n_units = owner_codes(tuples.owners, len(tuples.group))
        counts = (tuples.group >= 0) & (tuples.value >= 0) & (tuples.rows > 0) & (codes[0] >= 0)
        unit, group, value, rows = (part[counts] for part in (codes[0], tuples.group, tuples.value, tuples.rows))
        value, rows = np.minimum(value, n_codes - 1), np.minimum(rows, _MOST_OWN_ROWS)
        return cls(unit, group, value, rows, n_units, tuples.n_groups, n_codes)

    def contributions(self) -> Ints:
        """(n_units,) the number of rows of each unit.

        There are at most 2^31 entries of at most 2^32 rows each, so int64 does not overflow.
        """
        contribution = np.zeros(self.n_units, np.int64)
        np.add.at(contribution, self.unit, self.rows)
        return contribution

    def scaled(self, ranks: Sequence[Rank], tau: int) -> Iterator[list[Ranks]]:
        """Each group's offsets from quantiles, where a row weighs TAU / max(tau, its unit's rows).

        A unit's rows weigh TAU together at most, in all groups. An offset A - q N = (1 - q) A - q (N - A) lies for
        the unit's part between -q TAU and (1 - q) TAU. So when the unit comes or goes, all groups' offsets together
        move by at most max(q, 1 - q) TAU. Rounding of q N adds one in each group.
        """
        weight = self.rows * TAU // np.maximum(self.contributions(), tau)[self.unit]
        for codes, (levels,) in self._by_group(weight):
            total = int(levels[-1])
            yield [
                Ranks(codes, levels - total * rank.above // (rank.above + rank.below), self.n_codes) for rank in ranks
            ]

    def clipped(self, ranks: Sequence[Rank], tau: int) -> Iterator[list[Ranks]]:
        """Each group's offsets from quantiles, where a unit adds its rows on either side up to `Rank.caps`.

        For units in one group at most: `Rank.moves` then bounds what an offset moves by. A row counts below the
        values from its own on as far as the unit's rows below it leave room. It counts above the values before its
        own in the same way.
        """
        order = np.argsort(self.unit.astype(np.int64) * self.n_codes + self.value, kind="stable")
        contribution = self.contributions()
        rows, left = self.rows[order], contribution[self.unit[order]]
        upto = (
            np.cumsum(rows) - (np.cumsum(contribution) - contribution)[self.unit[order]]
        )  # of its unit's, from the lowest value
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
        """Each group's offsets from extremes of one side, in TAU per person.

        A unit's largest (or smallest) value of each group weighs TAU / (the number of its groups). So its offsets
        move as those of `scaled` do with q = 1.
        """
        highest = ranks[0].highest
        unit, group, value = _outermost(self.unit, self.group, self.value, highest=highest)
        weight = TAU // np.maximum(1, np.bincount(unit, minlength=self.n_units))[unit]
        kept = OwnRows(unit, group, value, np.ones_like(value), self.n_units, self.n_groups, self.n_codes)
        for codes, (levels,) in kept._by_group(weight):
            total = int(levels[-1]) if highest else 0
            yield [Ranks(codes, levels - total + rank.shift * TAU, self.n_codes) for rank in ranks]

    def _by_group(self, *weights: Ints) -> Iterator[tuple[Ints, list[Ints]]]:
        """Each group's distinct values, and per weight the (r + 1,) sums of the rows below each of them."""
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


def _sides(levels: Sequence[Ints]) -> Iterator[Ints]:
    """In turn what lies below each place, and what lies above it."""
    for turn, level in enumerate(levels):
        yield level[-1] - level if turn % 2 else level


def _outermost(unit: Int32s, group: Ints, value: Ints, *, highest: bool) -> tuple[Int32s, Ints, Ints]:
    """Each unit's largest or smallest value in each of its groups."""
    order = np.lexsort((-value if highest else value, group, unit))
    unit, group, value = unit[order], group[order], value[order]
    first = np.ones(len(unit), np.bool_)
    first[1:] = (unit[1:] != unit[:-1]) | (group[1:] != group[:-1])
    return unit[first], group[first], value[first]


_MOST_SHARED_ROWS = 1 << 31

SLACK = 2.0**-24
"""The epsilon that rounding may add to a draw beyond that of its exact distribution: `rank.SLACK` for each random
number that it takes. On average that is at most two pairs, as at least every other pair is accepted."""


@dataclass(frozen=True)
class Sharing:
    """The public parameters of rows with several owners.

    Attributes:
      gap: eta of the solver; 0 for two owners.
      groups_per_unit: L0; None if only the number of groups bounds it.
      solver: which truncates.
    """

    gap: float
    groups_per_unit: int | None = None
    solver: SolverName = "certified"

    def reached(self, n_groups: int) -> int:
        """The most groups that one unit's rows fall into."""
        n_groups = max(1, n_groups)
        return n_groups if self.groups_per_unit is None else min(self.groups_per_unit, n_groups)


class SharedRows(Private):
    """The counted rows with several owners each, in the order of their values in each group. Private."""

    def __init__(self, tuples: RankedTuples, n_codes: int, sharing: Sharing) -> None:
        """Leave out rows without an owner, without a value, or outside of the groups; number the owners.

        Args:
          n_codes: D, the number of values of the public grid; a value beyond it counts at its end.
        """
        owned = ~np.logical_and.reduce([owner.missing for owner in tuples.owners])
        counts = np.flatnonzero(owned & (tuples.group >= 0) & (tuples.value >= 0) & (tuples.rows > 0))
        value = np.minimum(tuples.value[counts], n_codes - 1)
        order = np.lexsort((value, tuples.group[counts]))
        kept = counts[order]
        owners = tuple(replace(one, keys=one.keys[kept], missing=one.missing[kept]) for one in tuples.owners)
        weights = (np.minimum(tuples.rows[kept], _MOST_SHARED_ROWS) * ONE)[None]
        self._value = value[order]
        self._joined = JoinTuples(owners, np.ascontiguousarray(tuples.group[kept]), tuples.n_groups, weights)
        self._n_codes = n_codes
        self._sharing = sharing

    def together(self) -> CodedJoinTuples:
        """The rows of all groups, taken together as one group."""
        return encode(replace(self._joined, group=np.zeros_like(self._joined.group), n_groups=1))

    def by_group(self, tau: int) -> Iterator[GroupRows]:
        """Yield the rows of each group. Their offsets count at most `Rank.caps(tau)` of one unit on either side."""
        coded = encode(self._joined)
        for group in range(self._joined.n_groups):
            here = slice(int(coded.row_start[group]), int(coded.row_start[group + 1]))
            first, last = (int(place) for place in coded.member_start[group : group + 2])
            members = coded.members[:, here]
            one = replace(
                coded,
                members=np.where(members >= 0, members - first, -1).astype(np.int32),
                row_start=np.array([0, here.stop - here.start]),
                member_start=np.array([0, last - first]),
                weights=coded.weights[:, here],
                units=coded.units[first:last],
            )
            yield GroupRows(one, self._value[here], self._n_codes, tau, self._sharing)


class GroupRows:
    """One group's rows with several owners. Private.

    F_c(P) is the most weight of the rows in P of which no owner adds more than c. If a unit loses rows it falls by
    between 0 and c, for every set of values P (docs/mathematics.md, section 3.1). So A(v) = F(x <= v) and B(v) = F(x
    > v) replace the sums of `OwnRows.clipped`, and `Rank.moves` bounds the offset. A solver's value may lie below F
    by gap c, which adds gap (below c + above c') to what an offset moves by.

    A rank in people has a threshold of one. By duality F_1(x > v) is the least weight of units that together have a
    share of one in every row above v. So no fewer units can own all those rows.
    """

    def __init__(self, coded: CodedJoinTuples, value: Ints, n_codes: int, tau: int, sharing: Sharing) -> None:
        """Take rows in the order of their values."""
        self._coded, self._n_codes, self._tau, self._sharing = coded, n_codes, tau, sharing
        self._codes, first = np.unique(value, return_index=True)
        self._ends = np.append(first, len(value))
        self._known: dict[tuple[bool, int, int], int] = {}

    def of(self, rank: Rank) -> SharedRanks:
        """The offsets from one rank."""
        return SharedRanks(self, rank, self._codes, self._ends, self._n_codes)

    def offset(self, rank: Rank, place: int) -> int:
        """The offset of the values below the one at `place`, in 2^-30 of a row: two programs, unless known."""
        under, over = rank.caps(self._tau)
        below = rank.below * self._truncated(True, place, under) if rank.below else 0
        above = rank.above * self._truncated(False, place, over) if rank.above else 0
        return below - above + rank.shift * ONE

    def slack(self, rank: Rank) -> int:
        """The most by which the solver's gap lets an offset fall from one value to a larger one."""
        under, over = rank.caps(self._tau)
        return int(self._sharing.gap * ONE * (rank.below * under + rank.above * over)) + 1 if self._sharing.gap else 0

    def _truncated(self, below: bool, place: int, cap: int) -> int:
        key = below, place, cap
        if key not in self._known:
            middle = int(self._ends[place])
            here = slice(0, middle) if below else slice(middle, int(self._ends[-1]))
            self._known[key] = self._solved(here, cap)
        return self._known[key]

    def _solved(self, here: slice, cap: int) -> int:
        size = here.stop - here.start
        if size == 0:
            return 0
        part = replace(
            self._coded,
            members=np.ascontiguousarray(self._coded.members[:, here]),
            row_start=np.array([0, size]),
            weights=np.ascontiguousarray(self._coded.weights[:, here]),
        )
        level = Thresholds(0, 0) if cap == 1 else Thresholds(1, 1, cap)
        answer = truncate(part, 0, level, self._sharing.gap, solver=self._sharing.solver)
        return answer.solve(0, 0)


@dataclass(frozen=True, eq=False, repr=False)
class SharedRanks(Private):
    """The offsets of one group's values from one rank, each computed when it is asked for. Private.

    Place i in [0, r] is that of the values from codes[i - 1] up to below codes[i].

    Attributes:
      rows: of the group.
      rank: that is asked for.
      codes: (r,) int64 distinct values in [0, n_codes), ascending.
      ends: (r + 1,) how many rows lie below each place.
      n_codes: D, the number of values of the public grid.
    """

    rows: GroupRows
    rank: Rank
    codes: Ints
    ends: Ints
    n_codes: int

    def offset(self, code: int) -> int:
        """The offset of a value of the grid, or of -1."""
        return self.rows.offset(self.rank, int(np.searchsorted(self.codes, code, side="right")))

    def draw(self, gamma: float, points: Iterator[int]) -> int:
        """Draw a value with the distribution of `draw_code`, computing few of the offsets.

        One thing differs: a value counts as far by its own distance, not by its distance above the smallest one.

        The draw is exact, by rejection. Offsets rise, so known offsets bound the weights of the values between their
        places. A value is drawn by these bounds and accepted with probability weight / bound. If it is rejected, its
        offsets are known, which tightens the bounds. Places where the bounds are widest are solved first, until at
        least every second draw is accepted. The distribution of the value does not depend on what is solved.

        Args:
          gamma: > 0, per unit of the offsets.
          points: random numbers from `uniform`; a draw takes two for each attempt.
        Cost: for most data 20 to 50 places, of two programs each.
        """
        law = _Bounds(self, gamma)
        while True:
            law.sharpen()
            code, bound = law.proposed(next(points))
            weight = law.weight(code)
            if bound * next(points) >> POINT_BITS < weight:
                return code


class _Bounds:
    """Bounds of the law of a draw, from the known offsets; they only tighten.

    Cells lie between known places i < j and hold the values codes[i] .. codes[j - 1]. Their distances are at least
    max(0, offset(i), -offset(j)) and at most max(0, offset(j), -offset(i)). One more cell at each known place holds
    the values between rows, whose distance is known. With a gap the offsets rise but for `slack`.
    """

    def __init__(self, ranks: SharedRanks, gamma: float) -> None:
        self._ranks, self._gamma = ranks, gamma
        self._slack = ranks.rows.slack(ranks.rank)
        last = len(ranks.codes)
        self._places: list[int] = sorted({0, last, self._guess(0, last)})

    def sharpen(self) -> None:
        """Solve places until the upper bounds add up to at most twice the lower bounds."""
        while True:
            cells = [self._cell(low, high) for low, high in zip(self._places, self._places[1:], strict=False)]
            own = sum(self._between(place) for place in self._places)
            most, least = (sum(cell[side] for cell in cells) + own for side in (0, 1))
            if most <= 2 * least:
                return
            widest = max(range(len(cells)), key=lambda turn: cells[turn][0] - cells[turn][1])
            low, high = self._places[widest : widest + 2]
            self._know(self._halved(low, high))

    def proposed(self, point: int) -> tuple[int, int]:
        """Draw a value with probability proportional to its upper bound; return the value and this bound."""
        parts = list(self._parts())
        drawn = sum(length * weight for _, length, weight in parts) * point >> POINT_BITS
        for start, length, weight in parts:
            if drawn < length * weight:
                return start + drawn // weight, weight
            drawn -= length * weight
        raise AssertionError("a weighted random draw exceeded the total weight")

    def weight(self, code: int) -> int:
        """The weight of a value. Its offsets are computed and remembered."""
        place = int(np.searchsorted(self._ranks.codes, code, side="right"))
        at = place > 0 and int(self._ranks.codes[place - 1]) == code
        for known in {place - at, place}:
            self._know(known)
        return self._weight(max(0, self._offset(place - at), -self._offset(place)))

    def _parts(self) -> Iterator[tuple[int, int, int]]:
        """(first value, number of values, bound of the weight of each)."""
        codes = self._ranks.codes
        for turn, place in enumerate(self._places):
            start, length = self._gap(place)
            if length:
                yield start, length, self._weight(abs(self._offset(place)))
            if turn + 1 < len(self._places):
                after = self._places[turn + 1]
                first, last = int(codes[place]), int(codes[after - 1])
                yield first, last - first + 1, self._weight(self._least(place, after))

    def _gap(self, place: int) -> tuple[int, int]:
        """The first of the values between rows at a place, and how many there are."""
        codes = self._ranks.codes
        start = int(codes[place - 1]) + 1 if place else 0
        end = int(codes[place]) if place < len(codes) else self._ranks.n_codes
        return start, end - start

    def _between(self, place: int) -> int:
        return self._gap(place)[1] * self._weight(abs(self._offset(place)))

    def _cell(self, low: int, high: int) -> tuple[int, int]:
        """Bounds on the weight of the values between two known places: an upper one, and a lower one."""
        codes = self._ranks.codes
        size = int(codes[high - 1]) - int(codes[low]) + 1
        most = self._weight(self._least(low, high))
        if high == low + 1:
            return size * most, size * most
        farthest = max(0, self._offset(high), -self._offset(low)) + self._slack
        return size * most, size * self._weight(farthest)

    def _least(self, low: int, high: int) -> int:
        """The least distance between two known places; for neighbours that of their one value."""
        slack = self._slack if high > low + 1 else 0
        return max(0, self._offset(low) - slack, -self._offset(high) - slack)

    def _halved(self, low: int, high: int) -> int:
        """A place between two: in the middle of their rows or, while the rank lies between them, by turns where it
        would lie if offsets rose evenly.
        """
        ends = self._ranks.ends
        start, stop = int(ends[low]), int(ends[high])
        below, above = self._offset(low), self._offset(high)
        share = 0.5
        if below < 0 < above and len(self._places) % 2:
            share = min(0.95, max(0.05, -below / (above - below)))
        place = int(np.searchsorted(ends, start + share * (stop - start)))
        return min(max(place, low + 1), high - 1)

    def _guess(self, low: int, high: int) -> int:
        """Where the rank would be if no rows were clipped."""
        rank, ends = self._ranks.rank, self._ranks.ends
        if rank.quantile is not None:
            return int(np.searchsorted(ends, int(ends[-1]) * rank.above // (rank.below + rank.above)))
        rows = int(ends[-1]) - rank.beyond if rank.highest else rank.beyond
        return min(max(int(np.searchsorted(ends, rows)), low), high)

    def _know(self, place: int) -> None:
        if self._places[bisect_left(self._places, place, hi=len(self._places) - 1)] != place:
            insort(self._places, place)

    def _offset(self, place: int) -> int:
        return self._ranks.rows.offset(self._ranks.rank, place)

    def _weight(self, distance: int) -> int:
        return weight_of(self._gamma * distance)
