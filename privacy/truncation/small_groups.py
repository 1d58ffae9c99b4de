"""Bounds and values without a program, for many groups at once.

Bounds for every group and threshold come from sums over levels. Many groups of few tuples are settled by filling
their tuples in order. One small group with two owners per tuple is settled by augmenting paths on the double cover.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.errors import SolverFailed
from privacy.kernel import kernel
from privacy.truncation.level_index import LOW_BITS, capped_totals, fewest_owners
from privacy.truncation.programs_by_threshold import MemberCapacities, ProgramsByThreshold
from privacy.truncation.truncated_answer import StartingBounds
from privacy.units import MAX_UNITS, Int32s, Ints, saturating_add


def cheap_bounds(instance: ProgramsByThreshold) -> StartingBounds:
    """Bounds of fbar for every group and threshold, equal where nothing is left to solve.

    Exact: thresholds from the largest contribution up (nothing is clipped), and those at which no tuple has two
    binding owners. Above: any split of the tuples among their owners gives fbar <= sum_u min(c_u, what u was given),
    c_u the capacity of u. All goes to the owner of the highest level, or even shares. Below: what has no binding
    owner, and one unit filled up to tau, which no capacity is below. Then the concavity of fbar through 0.
    Cost: one pass over the members for each split, and O(G L).
    """
    taus = instance.thresholds.units[None, :]
    heaviest = group_max(instance.member_start, instance.contributions)
    top = _joined(instance.high, instance.low)
    given_to_top = capped_by_kind(instance.member_start, top, instance.capacities)
    totals = capped_totals(instance.member_start, top, np.array([MAX_UNITS]))
    upper = np.minimum(np.minimum(given_to_top, totals), _even_shares(instance))
    lower = np.maximum(np.minimum(taus, heaviest[:, None]), instance.whole)
    # Where no tuple has two binding owners, every binding one fills its cap with what it is the top owner of; a top
    # owner that does not bind has a contribution, hence a T_u, of at most tau.
    settled = instance.cut == 0
    lower[settled] = upper[settled] = given_to_top[settled]
    return StartingBounds(lower, upper, linear_until(instance, totals[:, 0])).spread(instance.thresholds.doubling)


def linear_until(instance: ProgramsByThreshold, totals: Ints) -> Ints:
    """(G,) index of the largest threshold at which no capacity exceeds any weight of the group; -1 without one.

    Up to there the bounds x <= w follow from the caps, so fbar(tau) is proportional to tau. Groups whose total
    saturates are left out, as a saturated value cannot be scaled down. So are empty ones.
    """
    largest = instance.capacities.table[-1]
    index = np.searchsorted(largest, lightest(instance.row_start, instance.weights), side="right") - 1
    return np.where((totals > 0) & (totals < MAX_UNITS), index, -1)


def _even_shares(instance: ProgramsByThreshold) -> Ints:
    """(G, L) sum_t x_t <= sum_u min(c_u, contribution_u) / (fewest owners of a tuple of u)."""
    least, most = instance.owners
    if least == most:
        return _share(instance, instance.contributions, least)
    fewest = fewest_owners(instance.members, len(instance.contributions))
    bound = np.zeros(instance.cut.shape, np.int64)
    for owners in range(least, most + 1):
        bound = saturating_add(bound, _share(instance, np.where(fewest == owners, instance.contributions, 0), owners))
    return bound


def _share(instance: ProgramsByThreshold, contributions: Ints, owners: int) -> Ints:
    """(G, L) sum_u min(c_u, contribution_u) / owners, rounded up; saturated sums have no share."""
    capped = capped_by_kind(instance.member_start, contributions, instance.capacities)
    return np.where(capped == MAX_UNITS, MAX_UNITS, -(-capped // owners))


def capped_by_kind(start: Ints, values: Ints, capacities: MemberCapacities) -> Ints:
    """(G, L) sum over a group's members of min(capacity, value), saturating. Cost: `capped_totals` for each kind."""
    total: Ints | None = None
    for own, caps in capacities.by_kind():
        found = capped_totals(start, values if own is None else np.where(own, values, 0), caps)
        total = found if total is None else saturating_add(total, found)
    assert total is not None, "at least one kind of unit is needed"
    return total


def _joined(high: Ints, low: Ints) -> Ints:
    """high * 2^31 + low, saturating."""
    upper = high + (low >> LOW_BITS)
    full = upper >= MAX_UNITS >> LOW_BITS
    return np.where(full, MAX_UNITS, (np.where(full, 0, upper) << LOW_BITS) + (low & ((1 << LOW_BITS) - 1)))


@kernel
def group_max(start: Ints, values: Ints) -> Ints:
    """(G,) the largest of a value >= 0 per item, 0 in an empty group."""
    best = np.zeros(len(start) - 1, np.int64)
    for group in range(len(best)):
        for item in range(start[group], start[group + 1]):
            best[group] = max(best[group], values[item])
    return best


@kernel
def lightest(start: Ints, weights: Ints) -> Ints:
    """(G,) the smallest positive weight, MAX_UNITS in an empty group."""
    least = np.full(len(start) - 1, MAX_UNITS, np.int64)
    for group in range(len(least)):
        for item in range(start[group], start[group + 1]):
            if weights[item] > 0:
                least[group] = min(least[group], weights[item])
    return least


FEW = 64
"""Tuples of a small group. A larger one is worth a program, as filling it takes a pass for each threshold."""

_LARGE = 1 << 54
"""From weights or thresholds of this size on a sum of so many might wrap; the other solvers take them."""

_TOO_LARGE = -1
_UNPROVED = -2


def small_optimum(instance: ProgramsByThreshold, group: int, index: int) -> int | None:
    """floor(fbar) at a level of a group of at most FEW tuples with at most two owners; None for others.

    Every member is split into a left and a right copy, and a tuple {a, b} into a -> b' and b -> a' (a lone {a} into a
    -> sink and source -> a'). Twice fbar is then a maximum flow with the members' capacities, proved by the cut that
    the last search leaves.

    Raises: SolverFailed if flow and cut differ, which is a bug.
    Cost: some microseconds for ten tuples; at most the augmentations of Edmonds and Karp.
    """
    first, end = int(instance.row_start[group]), int(instance.row_start[group + 1])
    if end - first > FEW or len(instance.members) > 2:
        return None
    start = int(instance.member_start[group])
    members = int(instance.member_start[group + 1]) - start
    if members > 2 * FEW:
        return None
    kind, table = instance.capacities.kind, instance.capacities.table
    value = int(_twice(instance.members, instance.weights, first, end, start, members, kind, table, index))
    if value == _UNPROVED:
        raise SolverFailed("the flow of a small component is not maximal")
    return None if value == _TOO_LARGE else value >> 1


@kernel
def _twice(
    members: Int32s,
    weights: Ints,
    first: int,
    end: int,
    start: int,
    n: int,
    kind: NDArray[np.int8],
    table: Ints,
    index: int,
) -> int:
    """The maximum flow. Nodes 0 .. n - 1 are left copies and n is the source's own; n + 1 .. are the right ones."""
    m = end - first
    tail, head = np.empty(2 * m, np.int64), np.empty(2 * m, np.int64)
    cap, flow = np.empty(2 * m, np.int64), np.zeros(2 * m, np.int64)
    limits = np.empty(n, np.int64)
    for u in range(n):
        limits[u] = table[kind[start + u], index]
        if limits[u] >= _LARGE:
            return _TOO_LARGE
    for i in range(m):
        t = first + i
        if weights[t] >= _LARGE:
            return _TOO_LARGE
        a, b = members[0, t] - start, np.int64(n)
        most = min(weights[t], limits[a])
        if len(members) > 1 and members[1, t] >= 0:
            b = members[1, t] - start
            most = min(most, limits[b])
        tail[2 * i], head[2 * i], tail[2 * i + 1], head[2 * i + 1] = a, n + 1 + b, b, n + 1 + a
        cap[2 * i] = cap[2 * i + 1] = most
    spare = np.empty(2 * n + 2, np.int64)  # at the source's arcs to the left, and the right's to the sink
    spare[:n] = limits
    spare[n + 1 : 2 * n + 1] = limits
    spare[n] = spare[2 * n + 1] = _LARGE * FEW
    full = spare.copy()
    total = np.int64(0)
    for arc in range(2 * m):
        amount = min(cap[arc], min(spare[tail[arc]], spare[head[arc]]))
        flow[arc] = amount
        spare[tail[arc]] -= amount
        spare[head[arc]] -= amount
        total += amount
    via = np.empty(2 * n + 2, np.int64)
    while True:
        via[:] = -2  # not reached; -1: from the source; else the arc by which it was
        for node in range(n + 1):
            if spare[node] > 0:
                via[node] = -1
        last, grew = np.int64(-1), True
        while grew and last < 0:
            grew = False
            for arc in range(2 * m):
                a, b = tail[arc], head[arc]
                if via[a] > -2 and via[b] == -2 and flow[arc] < cap[arc]:
                    via[b] = arc
                    grew = True
                    if spare[b] > 0:
                        last = b
                        break
                elif via[b] > -2 and via[a] == -2 and flow[arc] > 0:
                    via[a] = arc
                    grew = True
        if last < 0:
            break
        amount, node = spare[last], int(last)
        while via[node] >= 0:
            arc = via[node]
            if node == head[arc]:
                amount, node = min(amount, cap[arc] - flow[arc]), int(tail[arc])
            else:
                amount, node = min(amount, flow[arc]), int(head[arc])
        amount = min(amount, spare[node])
        spare[node] -= amount
        spare[last] -= amount
        total += amount
        node = int(last)
        while via[node] >= 0:
            arc = via[node]
            if node == head[arc]:
                flow[arc] += amount
                node = int(tail[arc])
            else:
                flow[arc] -= amount
                node = int(head[arc])
    cut = np.int64(0)
    for node in range(2 * n + 2):
        if (node <= n) == (via[node] == -2):
            cut += full[node]
    for arc in range(2 * m):
        if via[tail[arc]] > -2 and via[head[arc]] == -2:
            cut += cap[arc]
    return int(total) if cut == total else _UNPROVED


def settle_small_groups(instance: ProgramsByThreshold, bounds: StartingBounds) -> StartingBounds:
    """Make the bounds equal where filling the tuples in their order attains the upper bound.

    What is filled is feasible, so it is then the optimum for any order. Otherwise nothing is learnt, as a bound that
    depends on the order of rows could enter a value. If people rarely share tuples within a group, nearly every cell
    is settled.

    Returns: the given bounds, changed in place.
    Cost: one pass over the tuples of small groups for each open threshold.
    """
    tuples = instance.row_start, instance.member_start, instance.members, instance.weights
    _fill(*tuples, instance.capacities.kind, instance.capacities.table, bounds.lower, bounds.upper)
    return bounds


@kernel
def _fill(
    row_start: Ints,
    member_start: Ints,
    members: Int32s,
    weights: Ints,
    kind: NDArray[np.int8],
    capacities: Ints,
    lower: Ints,
    upper: Ints,
) -> None:
    """Raise lower[group, level] to upper where a greedy filling attains it. Spare caps never fall below 0."""
    spare = np.empty(FEW * max(1, len(members)), np.int64)
    for group in range(len(row_start) - 1):
        first, end = row_start[group], row_start[group + 1]
        size = member_start[group + 1] - member_start[group]
        if end - first > FEW or size > len(spare):
            continue
        for level in range(capacities.shape[1]):
            if lower[group, level] == upper[group, level]:
                continue
            for u in range(size):
                spare[u] = capacities[kind[member_start[group] + u], level]
            total = np.int64(0)
            for t in range(first, end):
                amount = weights[t]
                for position in range(len(members)):
                    if members[position, t] >= 0:
                        amount = min(amount, spare[members[position, t] - member_start[group]])
                for position in range(len(members)):
                    if members[position, t] >= 0:
                        spare[members[position, t] - member_start[group]] -= amount
                total = min(total, MAX_UNITS - amount) + amount
            if total == upper[group, level]:
                lower[group, level] = total
