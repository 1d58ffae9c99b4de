"""COUNT and SUM(DISTINCT x) as truncation programs: a value is one more owner of its tuples, and may count once.

A value p weighs w_p: 1 in a count, p / W in a sum of values up to W. R2T's projection program is max sum_p v_p with
v_p <= min(w_p, sum_{t -> p} x_t), 0 <= x_t <= w_p and sum_{t: u in U(t)} x_t <= tau. Some optimum has
sum_{t -> p} x_t <= w_p for every value p (lower the x of a value that has more), and then v_p is that sum. So it is

    max sum_t x_t  s.t.  sum_{t: u in U(t)} x_t <= tau for every u, sum_{t -> p} x_t <= w_p for every p, x_t >= 0:

the program of program.py, in which a value is owned like a unit and has the cap w_p at every threshold. The programs
of all groups are one block, with bounds that cost a pass each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CompactJoinTuples, DistinctTuples, JoinTuples, OwnerColumn, Private
from privacy.thresholds import Thresholds
from privacy.truncation.encode import compact
from privacy.truncation.programs.program import Incidence, PreparedProgram, fair_share
from privacy.truncation.programs_by_threshold import Reduced
from privacy.truncation.truncated_answer import StartingBounds
from privacy.units import MAX_UNITS, ONE, Bools, Ints, saturating_add, saturating_sums


@dataclass(frozen=True, eq=False, repr=False)
class Segments(Private):
    """Values of many groups side by side.

    Attributes:
      groups: (m,) int64 ascending, in [0, n_groups).
      n_groups: G; groups may be empty.
    """

    groups: Ints
    n_groups: int

    def sums(self, values: Ints) -> Ints:
        """(G,) totals of values in [0, MAX_UNITS], exact, saturating at MAX_UNITS."""
        if int(values.max(initial=0)) * len(values) >= MAX_UNITS:
            return saturating_sums(self.groups, values, self.n_groups)
        return self.reduced(np.add, values, 0)

    def reduced(self, ufunc: np.ufunc, values: Ints, empty: int) -> Ints:
        """(G,) the values of each group reduced by a ufunc; `empty` where there are none."""
        result = np.full(self.n_groups, empty, np.int64)
        present, first = self._starts
        if len(present):
            result[present] = ufunc.reduceat(values, first)
        return result

    @cached_property
    def _starts(self) -> tuple[Ints, NDArray[np.intp]]:
        """The groups that occur and where each begins."""
        begins = np.ones(len(self.groups), bool)
        begins[1:] = self.groups[1:] != self.groups[:-1]
        first = np.flatnonzero(begins)
        return self.groups[first], first


@dataclass(frozen=True, eq=False, repr=False)
class GroupInstance(Private):
    """The tuples of positive weight; a unit that occurs in two groups is two members, so that groups share nothing.

    Attributes:
      weights: (m,) int64 > 0, sorted by group.
      incidence: m tuples by n members; the members of a group are consecutive.
      row_group: (m,) and
      member_group: (n,) int64, ascending.
    """

    weights: Ints
    incidence: Incidence
    row_group: Ints
    member_group: Ints
    n_groups: int

    @cached_property
    def contributions(self) -> Ints:
        """(n,) total weight of each member's tuples, saturating."""
        return self.incidence.unit_sums(self.weights)

    def row_totals(self, values: Ints) -> Ints:
        """(G,) saturating totals of a value per tuple, in [0, MAX_UNITS]."""
        return self._rows.sums(values)

    def member_totals(self, values: Ints) -> Ints:
        """(G,) saturating totals of a value per member, in [0, MAX_UNITS]."""
        return self._members.sums(values)

    def member_max(self, values: Ints) -> Ints:
        """(G,) the largest of a value per member >= 0, 0 in an empty group."""
        return self._members.reduced(np.maximum, values, 0)

    def program(self, group: int, tau: int) -> PreparedProgram:
        """The truncation program of one group at threshold tau, before presolve."""
        first, last = np.searchsorted(self.row_group, [group, group + 1])
        low, high = np.searchsorted(self.member_group, [group, group + 1])
        indptr = self.incidence.indptr[first : last + 1]
        units = self.incidence.units[indptr[0] : indptr[-1]] - low
        incidence = Incidence(indptr - indptr[0], units, int(high - low))
        return PreparedProgram(self.weights[first:last], incidence, np.full(high - low, tau, np.int64))

    @cached_property
    def _rows(self) -> Segments:
        return Segments(self.row_group, self.n_groups)

    @cached_property
    def _members(self) -> Segments:
        return Segments(self.member_group, self.n_groups)


def group_instance(tuples: CompactJoinTuples, release: int) -> GroupInstance:
    """Take one release apart into its groups. Cost: linear for one group, a sort of the owners otherwise."""
    weights = tuples.weights[release]
    alive = weights > 0
    owners = np.diff(tuples.indptr)
    group = tuples.group[alive]
    indptr = np.zeros(len(group) + 1, np.int64)
    np.cumsum(owners[alive], out=indptr[1:])
    units = tuples.units[np.repeat(alive, owners)].astype(np.int64)
    pair = np.repeat(group, owners[alive]) * tuples.n_units + units
    distinct, members = _ranked(pair, tuples.n_units * tuples.n_groups)
    member_group = distinct // max(tuples.n_units, 1)
    incidence = Incidence(indptr, members, len(distinct))
    return GroupInstance(weights[alive], incidence, group, member_group, tuples.n_groups)


def _ranked(values: Ints, size: int) -> tuple[Ints, Ints]:
    """Distinct values in [0, size) and the rank of each; by a table when that is not much longer than the values."""
    if size > 4 * len(values) + 1024:
        distinct, rank = np.unique(values, return_inverse=True)
        return distinct, rank.astype(np.int64)
    occurs = np.zeros(size, bool)
    occurs[values] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[values]


_VALUES = ""  # no privacy-unit relation has an empty name


@dataclass(frozen=True, eq=False, repr=False)
class DistinctInstance(Private):
    """One count of distinct values as a block of independent programs, one per group.

    Attributes:
      graph: distinct (owners, value) pairs, each of its value's weight; the last member of a tuple is its value, the
        others are its owners, at least one.
      thresholds: the candidate thresholds.
    """

    graph: GroupInstance
    thresholds: Thresholds

    @property
    def n_groups(self) -> int:
        """Number of public groups G."""
        return self.graph.n_groups

    @cached_property
    def is_value(self) -> Bools:
        """(n,) which members are values."""
        return self.worth > 0

    @cached_property
    def worth(self) -> Ints:
        """(n,) the weight of each value, 0 for units."""
        return _worth(self.graph.incidence, self.graph.weights)

    @property
    def single_owner(self) -> bool:
        """Does every tuple have one owner, so that every program is a transportation problem?"""
        return bool(np.all(self.graph.incidence.owners == 2))

    def program(self, group: int, tau: int) -> PreparedProgram:
        """The program of one group at threshold tau, before presolve."""
        program = self.graph.program(group, tau)
        worth = _worth(program.incidence, program.weights)
        caps = np.where(worth > 0, worth, program.caps)
        return PreparedProgram(np.minimum(program.weights, tau), program.incidence, caps)

    def reduced(self, group: int, index: int) -> Reduced:
        """The same at the threshold with this index, with nothing settled."""
        program = self.program(group, int(self.thresholds.units[index]))
        return Reduced(0, program if len(program.weights) else None)


def distinct_instance(tuples: DistinctTuples, thresholds: Thresholds) -> DistinctInstance:
    """Merge tuples that have the same group, owners and value; drop those without an owner, a value or a group.

    Merging keeps the optimum: a second tuple could only bring its value above 1.
    Raises: InvalidParameter as `compact`.
    Cost: as `compact`.
    """
    if tuples.value.shape != tuples.group.shape or tuples.value.dtype != np.int64:
        raise InvalidParameter("values must be int64, one per tuple")
    if tuples.weight is not None and tuples.weight.shape != tuples.value.shape:
        raise InvalidParameter("weights must be one per tuple")
    counts = (tuples.value >= 0) & _owned(tuples)
    worth = np.full(len(counts), ONE, np.int64) if tuples.weight is None else tuples.weight
    weights = np.where(counts, np.stack([np.full(len(counts), ONE, np.int64), worth]), 0)
    values = OwnerColumn(_VALUES, tuples.value, ~counts)  # the last relation, so the last member of each tuple
    merged = compact(JoinTuples((*tuples.owners, values), tuples.group, tuples.n_groups, weights))
    alike = np.maximum(merged.weights[0] // ONE, 1)  # how many tuples became one; they have one value, so one weight
    once = replace(merged, weights=(merged.weights[1] // alike)[None, :])
    return DistinctInstance(group_instance(once, 0), thresholds)


def _owned(tuples: DistinctTuples) -> Bools:
    """The tuples that have an owner."""
    owned = np.zeros(len(tuples.group), bool)
    for owner in tuples.owners:
        if owner.missing.shape != owned.shape:
            raise InvalidParameter("an owner column must have one entry per tuple")
        owned |= ~owner.missing.astype(bool)
    return owned


def _worth(incidence: Incidence, weights: Ints) -> Ints:
    """(n,) the weights of values, which come last in a tuple: codes ascend, and theirs are the highest."""
    worth = np.zeros(incidence.n_units, np.int64)
    worth[incidence.units[incidence.indptr[1:] - 1]] = weights
    return worth


_FILLS = 2
_PASSES = 12
"""Thresholds below the largest contribution that get a pass over all owners; lower ones follow from these."""

Bounds = tuple[Ints, Ints]


def distinct_bounds(instance: DistinctInstance) -> StartingBounds:
    """Bounds of fbar for every group and threshold, equal where a closed form applies.

    If no value of weight w is reached more often than w / tau times, values do not bind and fbar is linear. From the
    largest number of tuples of a unit up, no unit is clipped and every value counts. In between: what is left beside
    the overloaded values, or beside the overloaded units; dual points that are equal on all of both; and a primal
    point that starts from one tuple per value or, below 1, from all in proportion.
    Cost: about ten passes over the owners for each of at most twelve thresholds.
    """
    graph, thresholds = instance.graph, instance.thresholds
    taus = thresholds.units
    everything = graph.member_totals(instance.worth)
    heaviest = graph.member_max(np.where(instance.is_value, 0, graph.contributions))
    shares = np.where(instance.is_value, instance.worth // np.maximum(graph.incidence.degrees, 1), MAX_UNITS)
    least = MAX_UNITS - graph.member_max(MAX_UNITS - shares)
    linear = np.where(everything > 0, np.searchsorted(taus, least, side="right") - 1, -1)
    if not thresholds.doubling:
        linear[:] = -1
    upper = np.repeat(everything[:, None], len(thresholds), axis=1)
    lower = np.where(taus[None, :] >= heaviest[:, None], upper, 0)
    picked = _picked(instance)
    first = int(linear[everything > 0].min(initial=len(thresholds)))
    last = int(np.searchsorted(taus, heaviest.max(initial=0)))
    for column in range(max(first, last - _PASSES, 0), last):
        low, high = _column_bounds(instance, int(taus[column]), picked)
        np.maximum(lower[:, column], low, out=lower[:, column])
        np.minimum(upper[:, column], high, out=upper[:, column])
    return StartingBounds(lower, upper, linear).spread(thresholds.doubling)


def _column_bounds(instance: DistinctInstance, tau: int, picked: Bools) -> Bounds:
    """(G,) bounds at one threshold below the largest contribution, so below MAX_UNITS."""
    graph, incidence = instance.graph, instance.graph.incidence
    weight = np.minimum(graph.weights, tau)  # no member can use more of a tuple
    caps = np.where(instance.is_value, instance.worth, tau)
    heavy = incidence.unit_sums(weight) > caps
    hits = incidence.row_sums(heavy.astype(np.int64))
    upper = np.minimum(
        _beside(instance, weight, caps, heavy & instance.is_value, _spending_unit(instance)),
        _beside(instance, weight, caps, heavy & ~instance.is_value, _value(instance)),
    )
    for share in range(1, int(incidence.owners.max(initial=1)) + 1):
        upper = np.minimum(upper, _flat_dual(instance, weight, caps, heavy, hits, share))
    contested = graph.row_totals((hits > 1).astype(np.int64)) > 0
    nothing = np.zeros(incidence.n_rows, np.int64)
    chosen = _filled(instance, caps, weight * picked, nothing) if tau >= ONE else nothing
    lower = graph.row_totals(_filled(instance, caps, weight, chosen))
    return np.where(contested, lower, upper), upper


def _beside(instance: DistinctInstance, weight: Ints, caps: Ints, paid: Bools, payer: Ints) -> Ints:
    """(G,) the caps of the `paid` members, and what the other tuples' `payer` allows them."""
    incidence = instance.graph.incidence
    left = incidence.row_sums(paid.astype(np.int64)) == 0
    asked = np.zeros(incidence.n_units, np.int64)
    np.add.at(asked, payer[left], weight[left])
    return instance.graph.member_totals(np.where(paid, caps, np.minimum(caps, asked)))


def _flat_dual(instance: DistinctInstance, weight: Ints, caps: Ints, heavy: Bools, hits: Ints, share: int) -> Ints:
    """Weak duality at y = 1/share on the overloaded members.

    With share = 1 it is attained if no tuple has two of them: each fills its cap, all other tuples count.
    """
    slack = -(-weight // share) * np.maximum(share - hits, 0)
    paid = np.where(heavy, -(-caps // share), 0)
    return saturating_add(instance.graph.row_totals(slack), instance.graph.member_totals(paid))


def _filled(instance: DistinctInstance, caps: Ints, wanted: Ints, x: Ints) -> Ints:
    """A feasible point above x: capacity shared in proportion to demand, and the rest of it again."""
    for _ in range(_FILLS):
        spare = caps - instance.graph.incidence.unit_sums(x)
        x = x + fair_share(instance.graph.incidence, wanted - x, spare)
    return x


def _value(instance: DistinctInstance) -> Ints:
    """(m,) the value of each tuple."""
    incidence = instance.graph.incidence
    return incidence.units[incidence.indptr[1:] - 1]


def _spending_unit(instance: DistinctInstance) -> Ints:
    """(m,) one owner of each tuple: the first."""
    incidence = instance.graph.incidence
    return incidence.units[incidence.indptr[:-1]]


def _picked(instance: DistinctInstance) -> Bools:
    """(m,) one tuple per value: that whose busiest owner has the fewest tuples, the first of equals."""
    incidence = instance.graph.incidence
    busy = np.where(instance.is_value, 0, incidence.degrees)[incidence.units]
    busiest = np.maximum.reduceat(busy, incidence.indptr[:-1]) if incidence.n_rows else busy
    order = np.argsort(busiest, kind="stable")[::-1]
    pick = np.zeros(incidence.n_units, np.int64)
    pick[_value(instance)[order]] = order  # the last write, so the least busy, stays
    picked = np.zeros(incidence.n_rows, bool)
    picked[pick[instance.is_value]] = True
    return picked
