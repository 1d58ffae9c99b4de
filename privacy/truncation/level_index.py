"""An index of the tuples by the level up to which each is clipped.

A member is one unit in one group. Contributions, levels and files are made once. A threshold then touches only the
tuples with two binding owners, copied in the order in which thresholds stop clipping them twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import Private
from privacy.kernel import kernel
from privacy.units import MAX_UNITS, Int32s, Ints

LOW_BITS = 31
LOW_MASK = (1 << LOW_BITS) - 1
"""Weights are added up in two parts, w >> 31 and w & LOW_MASK: 2^31 parts below 2^31 do not wrap."""


NO_PLACE = np.int32(2**31 - 1)
"""The place of a member that no threshold clips, and of no member at all."""


@kernel
def add_contributions(members: Int32s, weights: Ints, n_members: int) -> Ints:
    """(n,) the total weight of each member's tuples, saturating at MAX_UNITS.

    A sum is clipped to MAX_UNITS - weight before the weight is added, so it never wraps.
    """
    contributions = np.zeros(n_members, np.int64)
    for position in range(len(members)):
        own = members[position]
        for t in range(len(weights)):
            u = own[t]
            if u >= 0:
                contributions[u] = min(contributions[u], MAX_UNITS - weights[t]) + weights[t]
    return contributions


@kernel
def by_unit(member_start: Ints, units: Int32s, contributions: Ints) -> tuple[Ints, Int32s, Ints]:
    """Reorder members (each is one unit in one group) from by-group to by-unit.

    The members of one unit stay in the order of their groups.

    Args:
      member_start: (G + 1,) the index of each group's first member, and the end.
      units: (n,) the unit of each member.
      contributions: (n,) the contribution of each member.
    Returns: (n_units + 1,) the index of each unit's first member, and the end; then, in the new order, (n,) the group
      and (n,) the contribution of each member.
    Cost: linear, by a counting sort. n_units is the largest number of a unit plus one.
    """
    n_units = 0
    for member in range(len(units)):
        n_units = max(n_units, units[member] + 1)
    start = np.zeros(n_units + 2, np.int64)
    for member in range(len(units)):
        start[units[member] + 2] += 1
    for unit in range(1, n_units + 2):
        start[unit] += start[unit - 1]
    group, contribution = np.empty(len(units), np.int32), np.empty(len(units), np.int64)
    for own in range(len(member_start) - 1):
        for member in range(member_start[own], member_start[own + 1]):
            place = start[units[member] + 1]
            start[units[member] + 1] = place + 1
            group[place], contribution[place] = own, contributions[member]
    return start[: n_units + 1], group, contribution


@kernel
def fewest_owners(members: Int32s, n_members: int) -> Ints:
    """(n,) the fewest owners of a tuple of each member; 2^31 without tuples."""
    fewest = np.full(n_members, 1 << 31, np.int64)
    positions, m = members.shape
    for t in range(m):
        owners = positions
        while members[owners - 1, t] < 0:
            owners -= 1
        for i in range(owners):
            fewest[members[i, t]] = min(fewest[members[i, t]], owners)
    return fewest


@kernel
def levels_of(values: Ints, taus: Ints) -> NDArray[np.int8]:
    """The number of thresholds below each value; taus ascend."""
    levels = np.empty(len(values), np.int8)
    for i in range(len(values)):
        low, high = 0, len(taus)
        while low < high:
            middle = (low + high) >> 1
            if taus[middle] < values[i]:
                low = middle + 1
            else:
                high = middle
        levels[i] = low
    return levels


@kernel
def file_tuples(
    row_start: Ints,
    members: Int32s,
    weights: Ints,
    level: NDArray[np.int8],
    high: Ints,
    low: Ints,
    second: NDArray[np.int8],
    filed: Ints,
) -> None:
    """Find the two highest levels among the owners of every tuple.

    The top owner has the smallest number among the members of the highest level.

    Args:
      high, low: (n,) to be increased by the weight of the tuples whose top owner is u, in two parts.
      second: (m,) set to the second-highest level, 0 without a second owner or without weight.
      filed: (G, L + 1) increased by how many tuples have it.
    """
    for group in range(len(row_start) - 1):
        for t in range(row_start[group], row_start[group + 1]):
            weight = weights[t]
            top = members[0, t]
            best, runner_up = np.int64(level[top]), np.int64(0)
            for position in range(1, len(members)):
                u = members[position, t]
                if u < 0:
                    break
                own = np.int64(level[u])
                runner_up = max(runner_up, min(own, best))
                top = u if own > best or (own == best and u < top) else top
                best = max(own, best)
            if weight >> LOW_BITS:
                high[top] += weight >> LOW_BITS
            low[top] += weight & LOW_MASK
            runner_up = runner_up if weight > 0 else np.int64(0)
            second[t] = runner_up
            filed[group, runner_up] += 1


@kernel
def add_parts(member_start: Ints, level: NDArray[np.int8], high: Ints, low: Ints, parts: Ints) -> None:
    """Add high * 2^31 + low of every member to parts[:, group, level]: in multiples of 2^62, of 2^31, and of 1."""
    for group in range(len(member_start) - 1):
        for u in range(member_start[group], member_start[group + 1]):
            at = level[u]
            parts[0, group, at] += high[u] >> LOW_BITS
            parts[1, group, at] += (high[u] & LOW_MASK) + (low[u] >> LOW_BITS)
            parts[2, group, at] += low[u] & LOW_MASK


@kernel
def sort_down(start: Ints, level: NDArray[np.int8], counts: Ints, order: Int32s) -> None:
    """Sort the items of each group by falling level, stably, and leave out those of level 0.

    Args:
      start: (G + 1,) the index of each group's first item, and the end.
      level: per item.
      counts: (G, L + 1) how many items of each group have each level.
      order: filled with the items' indices, one group after the other.
    """
    places = np.zeros(counts.shape[1], np.int64)
    end = 0
    for group in range(len(start) - 1):
        for at in range(counts.shape[1] - 1, 0, -1):
            places[at] = end
            end += counts[group, at]
        for item in range(start[group], start[group + 1]):
            at = level[item]
            if at > 0:
                order[places[at]] = item
                places[at] += 1


@kernel
def write_file(
    row_start: Ints,
    members: Int32s,
    weights: Ints,
    second: NDArray[np.int8],
    filed: Ints,
    floor: int,
    place: Int32s,
    file_owners: Int32s,
    file_weights: Ints,
) -> None:
    """Copy the tuples whose second level exceeds `floor`, by group and falling level, stably.

    Args:
      place: (n,) of each member among its group's, by falling level.
      file_owners: (F, width) filled with the owners' places, ascending: the top owner first.
    """
    width = file_owners.shape[1]
    places = np.zeros(filed.shape[1], np.int64)
    end = 0
    for group in range(len(row_start) - 1):
        for at in range(filed.shape[1] - 1, floor, -1):
            places[at] = end
            end += filed[group, at]
        for t in range(row_start[group], row_start[group + 1]):
            at = second[t]
            if at <= floor:
                continue
            row = places[at]
            places[at] = row + 1
            file_weights[row] = weights[t]
            size = 0
            for position in range(width):
                u = members[position, t]
                if u < 0:
                    break
                own = place[u]
                slot = size
                while slot > 0 and file_owners[row, slot - 1] > own:
                    file_owners[row, slot] = file_owners[row, slot - 1]
                    slot -= 1
                file_owners[row, slot] = own
                size += 1
            for slot in range(size, width):
                file_owners[row, slot] = NO_PLACE


@kernel
def count_levels(start: Ints, level: NDArray[np.int8], n_levels: int) -> Ints:
    """(G, n_levels) the number of items of each group and level."""
    counts = np.zeros((len(start) - 1, n_levels), np.int64)
    for group in range(len(start) - 1):
        for item in range(start[group], start[group + 1]):
            counts[group, level[item]] += 1
    return counts


@kernel
def capped_totals(start: Ints, values: Ints, taus: Ints) -> Ints:
    """(G, L) for each group and threshold tau, the sum of min(tau, value) over the group's items, saturating.

    Values lie in [0, MAX_UNITS].

    Cost: a binary search per item, O(G L).
    """
    n_taus = len(taus)
    totals = np.zeros((len(start) - 1, n_taus), np.int64)
    above = np.zeros(n_taus + 1, np.int64)
    whole = np.zeros(n_taus + 1, np.int64)
    for group in range(len(totals)):
        above[:] = 0
        whole[:] = 0
        for item in range(start[group], start[group + 1]):
            value = values[item]
            low, high = 0, n_taus
            while low < high:
                middle = (low + high) >> 1
                if taus[middle] < value:
                    low = middle + 1
                else:
                    high = middle
            above[low] += 1
            whole[low] = min(whole[low], MAX_UNITS - value) + value
        count, total = start[group + 1] - start[group], 0
        for at in range(n_taus):
            count -= above[at]
            total = min(total, MAX_UNITS - whole[at]) + whole[at]
            cut = MAX_UNITS if count > MAX_UNITS // taus[at] else count * taus[at]
            totals[group, at] = min(total, MAX_UNITS - cut) + cut
    return totals


Slice = tuple[Int32s, Ints]


@dataclass(eq=False, repr=False)
class LevelIndex(Private):
    """Tuples by group and falling second-highest level: those of one group at one threshold are a prefix.

    Mechanisms ask about high thresholds, at which few tuples have two binding owners. So only the levels above the
    lowest threshold asked so far are copied; a lower one copies all of them again.

    Attributes:
      row_start: (G + 1,) where each group's tuples begin.
      members, weights: the m tuples, as CodedJoinTuples.
      second: (m,) int8 second-highest levels.
      place: (n,) int32 of each member among its group's, by falling level.
      filed: (G, L + 1) how many tuples have each second level.
    """

    row_start: Ints
    members: Int32s
    weights: Ints
    second: NDArray[np.int8]
    place: Int32s
    filed: Ints

    def __post_init__(self) -> None:
        self._floor = self.filed.shape[1]
        self._starts = np.zeros(len(self.filed) + 1, np.int64)
        self._owners, self._weights = np.empty((0, len(self.members)), np.int32), np.empty(0, np.int64)

    def above(self, group: int, index: int) -> Slice:
        """The tuples of one group whose second-highest level exceeds `index`.

        Returns: (size, positions) int32 places of their owners, ascending, NO_PLACE for none; and weights.
        Cost: nothing, or a byte of every tuple and a copy of those above, of all groups.
        """
        if index < self._floor:
            self._copy(index)
        start = int(self._starts[group])
        stop = start + int(self.filed[group, index + 1 :].sum())
        return self._owners[start:stop], self._weights[start:stop]

    def _copy(self, floor: int) -> None:
        """Copy the tuples above a new floor."""
        counts = self.filed[:, floor + 1 :].sum(axis=1)
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        size = int(self._starts[-1])
        self._owners, self._weights = np.empty((size, len(self.members)), np.int32), np.empty(size, np.int64)
        write_file(
            self.row_start,
            self.members,
            self.weights,
            self.second,
            self.filed,
            floor,
            self.place,
            self._owners,
            self._weights,
        )
        self._floor = floor
