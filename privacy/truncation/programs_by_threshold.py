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
from privacy.truncation.codes import KeyFormat, sort_keys
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
from privacy.truncation.programs.program import Incidence, PreparedProgram
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


@dataclass(frozen=True, eq=False, repr=False)
class Reduced(Private):
    """min(MAX_UNITS, the optimum) is min(MAX_UNITS, `settled` plus the optimum of `core`).

    Attributes:
      settled: units, exact up to MAX_UNITS; a larger optimum has at least MAX_UNITS here or in the core.
      core: what only a solver can decide; None if nothing is left.
    """

    settled: int
    core: PreparedProgram | None


def canonical_core(owners: Int32s, weights: Ints, caps: Ints) -> PreparedProgram | None:
    """The tuples that can still count, with their binding owners only, merged by owners.

    Args:
      owners: (m, width) places of the owners, ascending; those below len(caps) bind.
      weights: (m,).
      caps: (binding,) what is left of each cap; overwritten.
    Returns: tuples sorted by their owners, so that the program depends on the set of tuples only; None if no tuple
      can count.
    Cost: one pass per byte of the binding owners of a tuple.
    """
    form = KeyFormat(1, len(caps), owners.shape[1])
    keys, worth = np.empty((len(form.ends) - 1, len(weights)), np.int64), np.empty(len(weights), np.int64)
    size = _pack(owners, weights, caps, form.ends, form.code_bits, keys, worth)
    if not size:
        return None
    keys, rows = sort_keys(keys[:, :size], np.arange(size, dtype=np.int32), form)
    merged, indptr = np.empty(size, np.int64), np.zeros(size + 1, np.int64)
    units = np.empty(size * owners.shape[1], np.int64)
    runs, end = _merge(keys, rows, worth, caps, form.ends, form.code_bits, merged, indptr, units)
    n_units = _renumber(units[:end], caps)
    return PreparedProgram(merged[:runs], Incidence(indptr[: runs + 1], units[:end], n_units), caps[:n_units])


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


@kernel
def _pack(owners: Int32s, weights: Ints, caps: Ints, ends: Ints, bits: int, keys: Ints, worth: Ints) -> int:
    """Write the keys of the tuples that can still count, of their binding owners only, and the smallest cap of these.

    Returns: how many such tuples there are.
    """
    size = 0
    for t in range(len(weights)):
        weight = weights[t]
        for word in range(len(ends) - 1):
            key = np.int64(0)
            for position in range(ends[word], ends[word + 1]):
                own, field = np.int64(owners[t, position]), np.int64(0)
                if own < len(caps):
                    weight, field = min(weight, caps[own]), own + 1
                key = (key << bits) | field
            keys[word, size] = key
        worth[size] = weight
        size += weight > 0
    return size


@kernel
def _merge(
    keys: Ints,
    rows: NDArray[np.integer],
    worth: Ints,
    caps: Ints,
    ends: Ints,
    bits: int,
    weights: Ints,
    indptr: Ints,
    units: Ints,
) -> tuple[int, int]:
    """Write owners and weights of every run of equal keys. Returns the numbers of runs and of owners.

    A run counts at most the smallest cap of its owners, as each of its tuples does, so no sum wraps.
    """
    run, end, limit = -1, 0, np.int64(0)
    words, mask = len(keys), (1 << bits) - 1
    for i in range(keys.shape[1]):
        fresh = i == 0
        for word in range(words):
            fresh |= keys[word, i] != keys[word, i - 1]
        if not fresh:
            weights[run] = min(weights[run] + worth[rows[i]], limit)
            continue
        run += 1
        limit = np.int64(MAX_UNITS)
        for word in range(words):
            shift = bits * (ends[word + 1] - ends[word])
            for _ in range(ends[word], ends[word + 1]):
                shift -= bits
                field = (keys[word, i] >> shift) & mask
                if field:
                    units[end] = field - 1
                    limit = min(limit, caps[field - 1])
                    end += 1
        indptr[run + 1] = end
        weights[run] = worth[rows[i]]
    return run + 1, end


@kernel
def _renumber(units: Ints, caps: Ints) -> int:
    """Renumber the units that occur, in order and in place, with their caps. Returns how many occur."""
    code = np.full(len(caps), -1, np.int64)
    for u in units:
        code[u] = 0
    size = 0
    for u in range(len(caps)):
        if code[u] == 0:
            code[u] = size
            caps[size] = caps[u]
            size += 1
    for i in range(len(units)):
        units[i] = code[units[i]]
    return size


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
