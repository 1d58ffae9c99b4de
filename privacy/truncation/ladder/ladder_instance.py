"""One release of the join tuples on a ladder: each tuple is read a few times for all thresholds together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.truncation.ladder.capacities import ALIKE, Capacities, MemberCapacities, member_capacities
from privacy.truncation.ladder.core import canonical_core, fill_alone
from privacy.truncation.ladder.level_index import LevelIndex
from privacy.truncation.ladder.level_index_kernels import (
    LOW_BITS,
    LOW_MASK,
    NO_PLACE,
    add_loads,
    add_parts,
    count_levels,
    file_tuples,
    levels_of,
    sort_down,
)
from privacy.truncation.ladder.reduced import Reduced
from privacy.units import MAX_UNITS


@dataclass(frozen=True, eq=False, repr=False)
class LadderInstance:
    """A block of independent programs, one per group; a unit that occurs in two groups is two members.

    The level of a member is the number of thresholds at which its capacity, tau or more, is below its load, so it
    binds at threshold j exactly when its level exceeds j. A tuple without a binding owner counts in full there: its
    weight is at most a load that is at most a capacity, and its owners' constraints hold whatever the others do. A
    tuple with one binding owner u, its top owner, competes only for u's capacity c_u. Some optimum gives those tuples
    min(c_u, their weight): if they have less, raise them and lower other tuples of u by as much, which loses nothing
    and loads no one else. So

        fbar(tau) = sum of the weights without a binding owner
                    + sum over binding u of min(c_u, weight that only u cuts)
                    + the optimum over the tuples with two binding owners and more, with the caps that are left.

    Those tuples are the ones whose second-highest level exceeds j. They are filed by that level, so that they are a
    prefix of their group's file (TupleFile). What only u cuts is the weight T_u of the tuples whose top owner is u
    less the part of it in the prefix, in exact integers.
    A load that saturates belongs to a unit that alone allows MAX_UNITS, so the answer saturates as well.

    Attributes:
      weights: (m,) one row of the tuples'.
      row_start, member_start: (G + 1,) where each group's tuples and members begin.
      members: (positions, m) int32 owners, as CodedJoinTuples.
      capacities: of the members at every threshold.
      loads: (n,) saturating.
      level: (n,) int8.
      high, low: (n,) T_u = high * 2^31 + low.
      order: the members of positive level, by group and falling level.
      file: the tuples with two owners of positive level.
      owners: (smallest, largest) number of owners of a tuple.
      binding, cut: (G, L) how many members bind and how many tuples have two that do.
      whole: (G, L) the weight of the tuples without a binding owner, saturating.
    """

    ladder: Ladder
    weights: NDArray[np.int64]
    members: NDArray[np.int32]
    row_start: NDArray[np.int64]
    member_start: NDArray[np.int64]
    capacities: MemberCapacities
    loads: NDArray[np.int64]
    level: NDArray[np.int8]
    high: NDArray[np.int64]
    low: NDArray[np.int64]
    order: NDArray[np.int32]
    file: LevelIndex
    owners: tuple[int, int]
    binding: NDArray[np.int64]
    cut: NDArray[np.int64]
    whole: NDArray[np.int64]

    @property
    def n_groups(self) -> int:
        """G, the number of groups, each a program of its own."""
        return len(self.row_start) - 1

    def reduced(self, group: int, index: int) -> Reduced:
        """What threshold ladder.units[index] settles at once, and the tuples that it cuts twice.

        Cost: linear in those tuples and in the binding members.
        """
        first = int(self.binding[:group, 0].sum()) if group else 0
        bound = self.order[first : first + int(self.binding[group, index])]
        owners, weights = self.file.above(group, index)
        caps, filled = fill_alone(
            owners, weights, self.high[bound], self.low[bound], self.capacities.at(bound, index)
        )
        settled = int(self.whole[group, index]) + int(filled)
        return Reduced(settled, canonical_core(owners, weights, caps))

    def __repr__(self) -> str:
        return "LadderInstance(<private>)"


def ladder_instance(
    tuples: CodedJoinTuples, release: int, ladder: Ladder, capacities: Capacities = ALIKE
) -> LadderInstance:
    """File the tuples of one release.

    Cost: two passes over the owners; memory: a byte per tuple, and later what the file copies.
    """
    weights = np.ascontiguousarray(tuples.weights[release])
    row_start, member_start, members = tuples.row_start, tuples.member_start, tuples.members
    n, n_groups = int(member_start[-1]), len(row_start) - 1
    loads = add_loads(members, weights, n)
    of_members = member_capacities(tuples, ladder, capacities)
    level = _levels(loads, of_members)
    high, low = np.zeros(n, np.int64), np.zeros(n, np.int64)
    second, filed = np.empty(len(weights), np.int8), np.zeros((n_groups, len(ladder) + 1), np.int64)
    file_tuples(row_start, members, weights, level, high, low, second, filed)
    counts = count_levels(member_start, level, len(ladder) + 1)
    order = np.empty(int(counts[:, 1:].sum()), np.int32)
    sort_down(member_start, level, counts, order)
    binding, cut = _above(counts), _above(filed)
    place = _places(order, binding[:, 0], n)
    return LadderInstance(
        ladder=ladder,
        weights=weights,
        members=members,
        row_start=row_start,
        member_start=member_start,
        capacities=of_members,
        loads=loads,
        level=level,
        high=high,
        low=low,
        order=order,
        file=LevelIndex(row_start, members, weights, second, place, filed),
        owners=tuples.owners,
        binding=binding,
        cut=cut,
        whole=_whole(member_start, level, high, low, len(ladder)),
    )


def _levels(loads: NDArray[np.int64], capacities: MemberCapacities) -> NDArray[np.int8]:
    """(n,) at how many thresholds each member's capacity is below its load."""
    level = np.zeros(len(loads), np.int8)
    for own, caps in capacities.by_kind():
        if own is None:
            return levels_of(loads, caps)
        level[own] = levels_of(loads[own], caps)
    return level


def _above(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """(G, L) how many items have a level above each index."""
    return np.ascontiguousarray(np.cumsum(counts[:, :0:-1], axis=1)[:, ::-1])


def _places(order: NDArray[np.int32], sizes: NDArray[np.int64], n: int) -> NDArray[np.int32]:
    """(n,) where in its group's part of `order` a member stands; the largest int32 where it does not."""
    place = np.full(n, NO_PLACE, np.int32)
    starts = np.cumsum(sizes) - sizes
    place[order] = np.arange(len(order)) - np.repeat(starts, sizes)
    return place


def _whole(
    member_start: NDArray[np.int64],
    level: NDArray[np.int8],
    high: NDArray[np.int64],
    low: NDArray[np.int64],
    n_levels: int,
) -> NDArray[np.int64]:
    """(G, L) the weight of the tuples without a binding owner, saturating: by the level of their top owners."""
    parts = np.zeros((3, len(member_start) - 1, n_levels + 1), np.int64)
    add_parts(member_start, level, high, low, parts)
    top, middle, bottom = np.cumsum(parts, axis=2)[:, :, :n_levels]
    middle += bottom >> LOW_BITS
    top += middle >> LOW_BITS
    full = top > 0
    exact = ((middle & LOW_MASK) << LOW_BITS) + (bottom & LOW_MASK)
    return np.where(full, MAX_UNITS, exact)
