"""The programs of all thresholds at once: capacities, tuples that a threshold settles, and the rest, the core.

Each tuple of one release is read a few times for all thresholds together. At a threshold only the tuples with two
binding owners are left to a solver, with what the others leave of their owners' caps. Units of a relation may
contribute a public multiple of tau.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples, Private
from privacy.kernel import kernel
from privacy.thresholds import Thresholds
from privacy.truncation.level_index import (
    LOW_BITS,
    LOW_MASK,
    NO_PLACE,
    LevelIndex,
    add_contributions,
    add_parts,
    count_levels,
    file_tuples,
    levels_of,
    sort_down,
)
from privacy.truncation.programs.large_core import LargeCore, canonical_core
from privacy.truncation.programs.program import PreparedProgram
from privacy.units import MAX_UNITS, Bools, Int32s, Ints

CAPACITY_BITS = 10
"""A capacity is a whole number of 2^-10 of tau. Every threshold of a list that doubles is a whole number of 2^10
units. So capacities are exact and double with it, and fbar stays concave, and linear where it was. 2^-10 of tau is
also a whole number of the steps of noise."""


@dataclass(frozen=True)
class Capacities:
    """What the units of each relation may contribute at threshold tau, in multiples of tau.

    Attributes:
      factors: per relation, 2^10 times its capacity / tau, at least 2^10; other relations have tau itself.
    """

    factors: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        if any(factor < 1 << CAPACITY_BITS for _, factor in self.factors):
            raise InvalidParameter("every capacity must be at least the threshold")

    @property
    def distinct(self) -> tuple[int, ...]:
        """The factors that occur, rising; the first is that of tau itself."""
        return tuple(sorted({1 << CAPACITY_BITS, *(factor for _, factor in self.factors)}))


ALIKE = Capacities()
"""All units have tau."""


@dataclass(frozen=True, eq=False, repr=False)
class MemberCapacities(Private):
    """The capacity of every member at every threshold.

    Attributes:
      kind: (n,) int8 row of `table` of each member.
      table: (K, L) int64 units, each row a capacity at every threshold, saturating at MAX_UNITS; rows rise. A unit
        that may contribute MAX_UNITS saturates the answer too, so saturation changes no value.
    """

    kind: NDArray[np.int8]
    table: Ints

    def at(self, members: NDArray[np.integer] | slice, index: int) -> Ints:
        """The capacities of some members at one threshold."""
        return np.ascontiguousarray(self.table[:, index][self.kind[members]])

    def by_kind(self) -> list[tuple[Bools | None, Ints]]:
        """Per kind, its members, None for all of them, and its capacities."""
        if len(self.table) == 1:
            return [(None, self.table[0])]
        return [(self.kind == kind, self.table[kind]) for kind in range(len(self.table))]


def member_capacities(tuples: CodedJoinTuples, thresholds: Thresholds, capacities: Capacities) -> MemberCapacities:
    """Look up the capacity of every member by the relation of its unit.

    Raises: InvalidParameter for capacities that differ at thresholds that do not double.
    Cost: linear in the members.
    """
    factors = capacities.distinct
    if len(factors) > 1 and not thresholds.doubling:
        raise InvalidParameter("capacities may differ only if each threshold is twice the one before")
    table = [[min(int(tau) * factor >> CAPACITY_BITS, MAX_UNITS) for tau in thresholds.units] for factor in factors]
    kind = np.zeros(len(tuples.units), np.int8)
    if len(factors) > 1:
        known = dict(capacities.factors)
        rows = [factors.index(known.get(relation, factors[0])) for relation, _ in tuples.relations]
        ends = np.array([end for _, end in tuples.relations], np.int64)
        kind = np.array([*rows, 0], np.int8)[np.searchsorted(ends, tuples.units, side="right")]
    return MemberCapacities(kind, np.array(table, np.int64))


LARGE = 1 << 19
"""Cores with so many tuples and three owners in some are solved by columns."""


@dataclass(frozen=True, eq=False, repr=False)
class Reduced(Private):
    """min(MAX_UNITS, the optimum) is min(MAX_UNITS, `settled` plus the optimum of `core`).

    Attributes:
      settled: units, exact up to MAX_UNITS; a larger optimum has at least MAX_UNITS here or in the core.
      core: what only a solver can decide; None if nothing is left.
      large: the core, if it has so many tuples that only some of them are made a program at first; `core` is then
        None.
    """

    settled: int
    core: PreparedProgram | None
    large: LargeCore | None = None


@kernel
def fill_alone(owners: Int32s, weights: Ints, high: Ints, low: Ints, limits: Ints) -> tuple[Ints, int]:
    """Fill every binding member by the tuples that have no other binding owner.

    Args:
      owners: (m, width) places of the owners of the tuples with two binding owners or more, ascending; those below
        len(high) bind.
      weights: (m,) of these tuples.
      high, low: (binding,) the weight of all tuples whose top owner this is, in two parts; overwritten.
      limits: (binding,) what each may contribute.
    Returns: (binding,) what is left of each cap, and what was filled, saturating.
    """
    binding = len(high)
    for t in range(len(weights)):
        top = owners[t, 0]
        high[top] -= weights[t] >> LOW_BITS
        low[top] -= weights[t] & LOW_MASK
    caps = np.empty(binding, np.int64)
    filled = 0
    for u in range(binding):
        # The low part may be negative by itself, never together with the high one.
        upper = high[u] + (low[u] >> LOW_BITS)
        wanted = MAX_UNITS if upper >= (MAX_UNITS >> LOW_BITS) else (upper << LOW_BITS) + (low[u] & LOW_MASK)
        used = min(wanted, limits[u])
        caps[u] = limits[u] - used
        filled = min(filled, MAX_UNITS - used) + used
    return caps, filled


@dataclass(frozen=True, eq=False, repr=False)
class ProgramsByThreshold(Private):
    """Independent programs, one per group; a unit in two groups is two members.

    A member's level is the number of thresholds at which its capacity, tau or more, is below its contribution. So it
    binds at threshold j exactly if its level exceeds j. A tuple without a binding owner counts in full: its weight is
    at most a contribution within a capacity, and its owners' constraints hold anyway. A tuple with one binding owner
    u, its top owner, competes only for u's capacity c_u. Some optimum gives those tuples min(c_u, their weight): if
    they have less, raise them and lower other tuples of u by as much. So

        fbar(tau) = sum of the weights without a binding owner
                    + sum over binding u of min(c_u, weight with u as the only binding owner)
                    + the optimum over the tuples with two binding owners and more, with the caps that are left.

    Those last tuples are the ones whose second-highest level exceeds j. They are filed by that level, so that they
    are a prefix of their group's file (`LevelIndex`). The weight with u alone is the weight T_u of the tuples whose
    top owner is u less the part of it in the prefix, in exact integers. A contribution that saturates belongs to a
    unit that alone allows MAX_UNITS, so the answer saturates as well.

    Attributes:
      weights: (m,) one row of the tuples'.
      row_start, member_start: (G + 1,) where each group's tuples and members begin.
      members: (positions, m) int32 owners, as CodedJoinTuples.
      capacities: of the members at every threshold.
      contributions: (n,) saturating.
      level: (n,) int8.
      high, low: (n,) T_u = high * 2^31 + low.
      order: the members of positive level, by group and falling level.
      file: the tuples with two owners of positive level.
      owners: (smallest, largest) number of owners of a tuple.
      binding, cut: (G, L) how many members bind and how many tuples have two that do.
      whole: (G, L) the weight of the tuples without a binding owner, saturating.
    """

    thresholds: Thresholds
    weights: Ints
    members: Int32s
    row_start: Ints
    member_start: Ints
    capacities: MemberCapacities
    contributions: Ints
    level: NDArray[np.int8]
    high: Ints
    low: Ints
    order: Int32s
    file: LevelIndex
    owners: tuple[int, int]
    binding: Ints
    cut: Ints
    whole: Ints

    @property
    def n_groups(self) -> int:
        """G, the number of groups, each a program of its own."""
        return len(self.row_start) - 1

    def reduced(self, group: int, index: int) -> Reduced:
        """What threshold thresholds.units[index] settles at once, and the tuples with two binding owners.

        Cost: linear in those tuples and in the binding members; a sort of the tuples, unless they are `large`.
        """
        first = int(self.binding[:group, 0].sum()) if group else 0
        bound = self.order[first : first + int(self.binding[group, index])]
        owners, weights = self.file.above(group, index)
        caps, filled = fill_alone(
            owners, weights, self.high[bound], self.low[bound], self.capacities.at(bound, index)
        )
        settled = int(self.whole[group, index]) + int(filled)
        if self.owners[1] > 2 and len(weights) >= LARGE:
            return Reduced(settled, None, LargeCore(owners, weights, caps))
        return Reduced(settled, canonical_core(owners, weights, caps))


def programs_by_threshold(
    tuples: CodedJoinTuples, release: int, thresholds: Thresholds, capacities: Capacities = ALIKE
) -> ProgramsByThreshold:
    """File the tuples of one release.

    Cost: two passes over the owners. Memory: a byte per tuple, and later what the file copies.
    """
    weights = np.ascontiguousarray(tuples.weights[release])
    row_start, member_start, members = tuples.row_start, tuples.member_start, tuples.members
    n, n_groups = int(member_start[-1]), len(row_start) - 1
    contributions = add_contributions(members, weights, n)
    of_members = member_capacities(tuples, thresholds, capacities)
    level = _levels(contributions, of_members)
    high, low = np.zeros(n, np.int64), np.zeros(n, np.int64)
    second, filed = np.empty(len(weights), np.int8), np.zeros((n_groups, len(thresholds) + 1), np.int64)
    file_tuples(row_start, members, weights, level, high, low, second, filed)
    counts = count_levels(member_start, level, len(thresholds) + 1)
    order = np.empty(int(counts[:, 1:].sum()), np.int32)
    sort_down(member_start, level, counts, order)
    binding, cut = _above(counts), _above(filed)
    place = _places(order, binding[:, 0], n)
    return ProgramsByThreshold(
        thresholds=thresholds,
        weights=weights,
        members=members,
        row_start=row_start,
        member_start=member_start,
        capacities=of_members,
        contributions=contributions,
        level=level,
        high=high,
        low=low,
        order=order,
        file=LevelIndex(row_start, members, weights, second, place, filed),
        owners=tuples.owners,
        binding=binding,
        cut=cut,
        whole=_whole(member_start, level, high, low, len(thresholds)),
    )


def _levels(contributions: Ints, capacities: MemberCapacities) -> NDArray[np.int8]:
    """(n,) at how many thresholds each member's capacity is below its contribution."""
    level = np.zeros(len(contributions), np.int8)
    for own, caps in capacities.by_kind():
        if own is None:
            return levels_of(contributions, caps)
        level[own] = levels_of(contributions[own], caps)
    return level


def _above(counts: Ints) -> Ints:
    """(G, L) how many items have a level above each index."""
    return np.ascontiguousarray(np.cumsum(counts[:, :0:-1], axis=1)[:, ::-1])


def _places(order: Int32s, sizes: Ints, n: int) -> Int32s:
    """(n,) a member's place in its group's part of `order`; the largest int32 if it has none."""
    place = np.full(n, NO_PLACE, np.int32)
    starts = np.cumsum(sizes) - sizes
    place[order] = np.arange(len(order)) - np.repeat(starts, sizes)
    return place


def _whole(member_start: Ints, level: NDArray[np.int8], high: Ints, low: Ints, n_levels: int) -> Ints:
    """(G, L) the weight of the tuples without a binding owner, saturating: by the level of their top owners."""
    parts = np.zeros((3, len(member_start) - 1, n_levels + 1), np.int64)
    add_parts(member_start, level, high, low, parts)
    top, middle, bottom = np.cumsum(parts, axis=2)[:, :, :n_levels]
    middle += bottom >> LOW_BITS
    top += middle >> LOW_BITS
    full = top > 0
    exact = ((middle & LOW_MASK) << LOW_BITS) + (bottom & LOW_MASK)
    return np.where(full, MAX_UNITS, exact)
