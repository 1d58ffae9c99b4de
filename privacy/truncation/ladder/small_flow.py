"""The program of one small group of two owners per tuple, in one kernel: augmenting paths on the double cover."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.errors import SolverFailed
from privacy.kernel import kernel
from privacy.truncation.ladder.ladder_instance import LadderInstance

FEW = 64
"""Tuples of a small group. A larger one is worth preparing as a program."""

_LARGE = 1 << 54
"""From weights or thresholds of this size on a sum of so many might wrap: left to the other solvers."""

_TOO_LARGE = -1
_UNPROVED = -2


def small_optimum(instance: LadderInstance, group: int, index: int) -> int | None:
    """floor(fbar) at threshold `index` of a group of at most FEW tuples with at most two owners; None for others.

    Splitting every member into a left and a right copy, and a tuple {a, b} into a -> b' and b -> a' (a lone {a}
    into a -> sink and source -> a'), makes twice fbar a maximum flow with the members' capacities. It
    is proved on the spot by the cut that the last search leaves.

    Raises: SolverFailed when flow and cut differ: a bug, not an outcome.
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
        raise SolverFailed("a small flow is not maximal")
    return None if value == _TOO_LARGE else value >> 1


@kernel
def _twice(
    members: NDArray[np.int32],
    weights: NDArray[np.int64],
    first: int,
    end: int,
    start: int,
    n: int,
    kind: NDArray[np.int8],
    table: NDArray[np.int64],
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
