"""The double cover of a graph, and Dinic's maximum flow on it.

In the double cover every member is once on the left and once on the right, so that any graph becomes bipartite. A
pair {u, v} becomes the arcs u -> v and v -> u from left to right, each with its weight as capacity. The source feeds
every left copy and the sink drains every right copy with the member's cap. The mean of both arcs of a pair is
feasible in the program, and a feasible x gives a flow of 2 sum x. So the optimum is half of a maximum flow
(docs/mathematics.md, section 3.3). In a bipartite component the copy with the sides exchanged stays idle.

Levels are searched from the sources, then paths backwards from the sinks with something to spare. So a search never
enters a dead end. Each sink is served along its own shortest paths: a path lowers the level by one with every arc,
which keeps levels valid as distances. Every sink is then farther away in the next phase, as in Dinic's algorithm,
with fewer phases. Near the end most sources can reach no sink any more; `abandon` removes them from the search.
Integers do not overflow: flows stay between 0 and a capacity, spares only fall.
Source: Dinic (1970), with current arcs; distance labels as in Goldberg and Tarjan (1988).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.units import Bools, Int32s, Ints


class Neighbours(NamedTuple):
    """A graph by its nodes. A slot is a pair as one of its members sees it; every pair has two.

    Attributes:
      start: (n + 1,) int64; the slots of u are start[u]..start[u + 1] - 1.
      other: (2 m,) int32 the member at the other end.
      pair: (2 m,) int32 the number of the pair.
      twin: (2 m,) int32 the slot of the same pair at the other end.
    """

    start: Ints
    other: Int32s
    pair: Int32s
    twin: Int32s


@kernel
def neighbours(first: Int32s, second: Int32s, left_out: Bools, n: int) -> Neighbours:
    """The graph of the pairs that are not left out, over n members.

    Needs fewer than 2^30 pairs, so that a slot fits an int32. Cost: linear.
    """
    start = np.zeros(n + 1, np.int64)
    for e in range(len(first)):
        if not left_out[e]:
            start[first[e] + 1] += 1
            start[second[e] + 1] += 1
    for u in range(n):
        start[u + 1] += start[u]
    free = start[:-1].copy()
    other = np.empty(start[n], np.int32)
    pair = np.empty(start[n], np.int32)
    twin = np.empty(start[n], np.int32)
    for e in range(len(first)):
        if not left_out[e]:
            u, v = first[e], second[e]
            p, q = free[u], free[v]
            free[u] += 1
            free[v] += 1
            other[p], other[q] = v, u
            pair[p], pair[q] = e, e
            twin[p], twin[q] = q, p
    return Neighbours(start, other, pair, twin)


LEFT, RIGHT, BOTH = 0, 1, 2
_UNSEEN = -1


class Cover(NamedTuple):
    """A flow on the double cover.

    Slot p of u is the arc from the left copy of u to the right copy of other[p]. It is also the arc from the left
    copy of other[p] into the right copy of u. All numbers lie in [0, 2^62]: a flow is at most its arc's capacity, a
    spare at most its member's cap.

    Attributes:
      capacity: (2 m,) int64 the weight of each slot's pair.
      out, into: (2 m,) int64 flow on the arc that leaves, and on the arc that enters, by the slot of that end:
        into[twin[p]] == out[p].
      left_spare, right_spare: (n,) int64 what source and sink could still carry.
      left_level, right_level: (n,) int32 arcs from a source with something to spare; negative when out of reach.
      left_next, right_next: (n,) int64 the slot to try next.
      sinks: (n,) int32 right copies in reach that have something to spare.
      queue: (2 n,) int32 and
      path: (2 n,) int64 work space.
    """

    capacity: Ints
    out: Ints
    into: Ints
    left_spare: Ints
    right_spare: Ints
    left_level: Int32s
    right_level: Int32s
    left_next: Ints
    right_next: Ints
    sinks: Int32s
    queue: Int32s
    path: Ints


def double_cover(graph: Neighbours, weights: Ints, x: Ints, spare: Ints) -> tuple[Cover, NDArray[np.int8]]:
    """The cover that carries x in both directions, and the side of every member.

    Args:
      graph: n members; x and weights (m,) belong to its pairs, spare (n,) is what x leaves of the caps.
    """
    n = len(spare)
    side = sides(graph, n)
    flow = x[graph.pair]
    cover = Cover(
        capacity=weights[graph.pair],
        out=flow,
        into=flow.copy(),
        left_spare=np.where(side == RIGHT, 0, spare),
        right_spare=np.where(side == LEFT, 0, spare),
        left_level=np.full(n, _UNSEEN, np.int32),
        right_level=np.full(n, _UNSEEN, np.int32),
        left_next=np.empty(n, np.int64),
        right_next=np.empty(n, np.int64),
        sinks=np.empty(n, np.int32),
        queue=np.empty(2 * n, np.int32),
        path=np.empty(2 * n, np.int64),
    )
    return cover, side


@kernel
def sides(graph: Neighbours, n: int) -> NDArray[np.int8]:
    """(n,) LEFT or RIGHT in components that have two sides, BOTH in those with an odd cycle. Cost: linear."""
    side = np.full(n, _UNSEEN, np.int8)
    queue = np.empty(n, np.int32)
    for root in range(n):
        if side[root] == _UNSEEN:
            side[root] = LEFT
            queue[0] = root
            read, size = 0, 1
            odd = False
            while read < size:
                u = queue[read]
                read += 1
                for slot in range(graph.start[u], graph.start[u + 1]):
                    v = graph.other[slot]
                    if side[v] == _UNSEEN:
                        side[v] = RIGHT - side[u]
                        queue[size] = v
                        size += 1
                    elif side[v] == side[u]:
                        odd = True
            if odd:
                for i in range(size):
                    side[queue[i]] = BOTH
    return side


@kernel
def read_flow(
    graph: Neighbours, cover: Cover, side: NDArray[np.int8], first: Int32s, forward: Ints, backward: Ints
) -> None:
    """Write each pair's flow, from its first member and from its second; an idle copy repeats the other one."""
    for u in range(len(side)):
        for p in range(graph.start[u], graph.start[u + 1]):
            amount = cover.into[p] if side[u] == RIGHT else cover.out[p]
            if first[graph.pair[p]] == u:
                forward[graph.pair[p]] = amount
            else:
                backward[graph.pair[p]] = amount


def read_cut(cover: Cover, side: NDArray[np.int8]) -> tuple[Bools, Bools]:
    """(n,) which left and which right copies a minimum cut pays for; an idle copy repeats the other one."""
    left, right = cover.left_level < 0, cover.right_level >= 0
    return np.where(side == RIGHT, right, left), np.where(side == LEFT, left, right)


_DEAD = -2
_ABANDONED = (1 << 31) - 1
"""A level that no search meets. Like all levels that are not negative, it lies on the source's side of the cut."""


@kernel
def layers(graph: Neighbours, flow: Cover) -> int:
    """Set the levels, and collect the sinks that can be reached, nearest first. Returns how many.

    Without any the flow is maximum, and the levels that are not negative are the source's side of a minimum cut.
    """
    n = len(flow.left_spare)
    size = 0
    for u in range(n):
        flow.left_next[u] = flow.right_next[u] = graph.start[u]
        if flow.right_level[u] != _ABANDONED:
            flow.right_level[u] = _UNSEEN
        if flow.left_level[u] != _ABANDONED:
            flow.left_level[u] = _UNSEEN
            if flow.left_spare[u] > 0:
                flow.left_level[u] = 0
                flow.queue[size] = u
                size += 1
    first, level, sinks = 0, 0, 0
    while first < size:
        last = size
        size = _reach(graph, flow, flow.out, True, flow.right_level, level + 1, first, last)
        for i in range(last, size):
            if flow.right_spare[flow.queue[i]] > 0:
                flow.sinks[sinks] = flow.queue[i]
                sinks += 1
        first, last = last, size
        size = _reach(graph, flow, flow.into, False, flow.left_level, level + 2, first, last)
        first = last
        level += 2
    return sinks


@kernel
def _reach(
    graph: Neighbours, flow: Cover, carried: Ints, room: bool, level: Int32s, at: int, first: int, last: int
) -> int:
    """Queue the copies on the other side that the queued ones of this side reach, and set their level.

    Args:
      carried: the flow by the slots of this side: `out` of left copies, `into` of right ones.
      room: over arcs that could carry more; else over those that carry something.
      level: of the other side; negative where a copy is not reached yet.
    Returns: the end of the queue.
    """
    size = last
    for i in range(first, last):
        u = flow.queue[i]
        for p in range(graph.start[u], graph.start[u + 1]):
            if (carried[p] < flow.capacity[p]) if room else (carried[p] > 0):
                v = graph.other[p]
                if level[v] < 0:
                    level[v] = at
                    flow.queue[size] = v
                    size += 1
    return size


@kernel
def abandon(graph: Neighbours, flow: Cover) -> None:
    """Remove from all later searches the nodes that can reach no sink. No residual arc leaves that set.

    Cost: one search from the sinks.
    """
    size = 0
    for v in range(len(flow.right_spare)):
        if flow.left_level[v] != _ABANDONED:
            flow.left_level[v] = _UNSEEN
        if flow.right_level[v] != _ABANDONED:
            flow.right_level[v] = _UNSEEN
            if flow.right_spare[v] > 0:
                flow.right_level[v] = 0
                flow.queue[size] = v
                size += 1
    first = 0
    while first < size:
        last = size
        size = _reach(graph, flow, flow.into, True, flow.left_level, 0, first, last)
        first, last = last, size
        size = _reach(graph, flow, flow.out, False, flow.right_level, 0, first, last)
        first = last
    for u in range(len(flow.left_spare)):
        if flow.left_level[u] == _UNSEEN:
            flow.left_level[u] = _ABANDONED
        if flow.right_level[u] == _UNSEEN:
            flow.right_level[u] = _ABANDONED


@kernel
def augment(graph: Neighbours, flow: Cover, first: int, last: int, limit: int) -> int:
    """Send flow to these of the collected sinks along paths that are shortest for each, at most `limit` of them.

    Returns: the next sink; `last` if no such path is left.
    """
    paths = 0
    for i in range(first, last):
        sink = flow.sinks[i]
        while flow.right_spare[sink] > 0:
            if paths == limit:
                return i
            length = _path(graph, flow, sink)
            if length == 0:
                break
            _push(graph, flow, sink, length)
            paths += 1
    return last


@kernel
def _path(graph: Neighbours, flow: Cover, sink: int) -> int:
    """Write the slots of a path from this sink back to a source. Returns its length, 0 when there is none.

    Slots at even places belong to right copies, at odd places to left ones.
    """
    length, node = 0, sink
    while True:
        slot = _from_right(graph, flow, node) if length % 2 == 0 else _from_left(graph, flow, node)
        if slot >= 0:
            flow.path[length] = slot
            length += 1
            node = graph.other[slot]
            if length % 2 == 1 and flow.left_level[node] == 0 and flow.left_spare[node] > 0:
                return length
        else:
            if length % 2 == 0:
                flow.right_level[node] = _DEAD
            else:
                flow.left_level[node] = _DEAD
            if length == 0:
                return 0
            length -= 1
            node = graph.other[graph.twin[flow.path[length]]]
            if length % 2 == 0:
                flow.right_next[node] += 1
            else:
                flow.left_next[node] += 1


@kernel
def _from_right(graph: Neighbours, flow: Cover, v: int) -> int:
    """The next slot by which flow can still come to the right copy of v from one layer before; -1 if none."""
    before, end = flow.right_level[v] - 1, graph.start[v + 1]
    p = flow.right_next[v]
    while p < end and not (flow.into[p] < flow.capacity[p] and flow.left_level[graph.other[p]] == before):
        p += 1
    flow.right_next[v] = p
    return p if p < end else -1


@kernel
def _from_left(graph: Neighbours, flow: Cover, u: int) -> int:
    """The next slot whose flow the left copy of u could take back for one layer before; -1 if none."""
    before, end = flow.left_level[u] - 1, graph.start[u + 1]
    if before < 0:
        return -1
    p = flow.left_next[u]
    while p < end and not (flow.out[p] > 0 and flow.right_level[graph.other[p]] == before):
        p += 1
    flow.left_next[u] = p
    return p if p < end else -1


@kernel
def _push(graph: Neighbours, flow: Cover, sink: int, length: int) -> None:
    """Send as much as the path carries."""
    source = graph.other[flow.path[length - 1]]
    amount = min(flow.left_spare[source], flow.right_spare[sink])
    for i in range(length):
        p = flow.path[i]
        amount = min(amount, flow.capacity[p] - flow.into[p] if i % 2 == 0 else flow.out[p])
    for i in range(length):
        p = flow.path[i]
        if i % 2 == 0:
            flow.into[p] += amount
            flow.out[graph.twin[p]] += amount
        else:
            flow.out[p] -= amount
            flow.into[graph.twin[p]] -= amount
    flow.left_spare[source] -= amount
    flow.right_spare[sink] -= amount
