"""Dinic's maximum flow on a double cover, one step per call so that the caller may stop in between.

Levels are searched from the sources, paths then backwards from the sinks with something to spare, so that a search
never enters what cannot lead to a source. Not only the nearest sinks are served but each along its own shortest
paths: a path lowers the level by one with every arc, which keeps levels valid as distances, so that every sink is
farther away in the next phase, as in Dinic's algorithm, and there are fewer phases. Near the end most sources can
reach no sink any more, and never will again; `abandon` takes them out of the search.
Integers do not overflow: flows stay between 0 and a capacity, spares only fall.
Source: Dinic (1970), with current arcs; distance labels as in Goldberg and Tarjan (1988).
"""

from __future__ import annotations

from privacy.kernel import kernel
from privacy.truncation.flow.cover import Cover
from privacy.truncation.flow.neighbours import Neighbours

_UNSEEN = -1
_DEAD = -2
_ABANDONED = (1 << 31) - 1
"""No search meets this level, and it lies on the source's side of the cut, as all levels that are not negative."""


@kernel
def layers(graph: Neighbours, flow: Cover) -> int:
    """Set the levels, and collect the sinks that can be reached, nearest first. Returns how many.

    None says that the flow is maximum, and the levels that are not negative are the source's side of a minimum cut.
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
        size = _to_the_right(graph, flow, first, last, level + 1)
        for i in range(last, size):
            if flow.right_spare[flow.queue[i]] > 0:
                flow.sinks[sinks] = flow.queue[i]
                sinks += 1
        first, last = last, size
        size = _to_the_left(graph, flow, first, last, level + 2)
        first = last
        level += 2
    return sinks


@kernel
def _to_the_right(graph: Neighbours, flow: Cover, first: int, last: int, level: int) -> int:
    """Right copies behind the left ones in the queue. Returns the end of the queue."""
    size = last
    for i in range(first, last):
        u = flow.queue[i]
        for p in range(graph.start[u], graph.start[u + 1]):
            if flow.out[p] < flow.capacity[p]:
                v = graph.other[p]
                if flow.right_level[v] < 0:
                    flow.right_level[v] = level
                    flow.queue[size] = v
                    size += 1
    return size


@kernel
def _to_the_left(graph: Neighbours, flow: Cover, first: int, last: int, level: int) -> int:
    """Left copies that send flow to the right ones in the queue. Returns the end of the queue."""
    size = last
    for i in range(first, last):
        v = flow.queue[i]
        for p in range(graph.start[v], graph.start[v + 1]):
            if flow.into[p] > 0:
                u = graph.other[p]
                if flow.left_level[u] < 0:
                    flow.left_level[u] = level
                    flow.queue[size] = u
                    size += 1
    return size


@kernel
def abandon(graph: Neighbours, flow: Cover) -> None:
    """Take out of all later searches what can reach no sink: no residual arc leaves that set, so none ever will.

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
        size = _back_to_the_left(graph, flow, first, last)
        first, last = last, size
        size = _back_to_the_right(graph, flow, first, last)
        first = last
    for u in range(len(flow.left_spare)):
        if flow.left_level[u] == _UNSEEN:
            flow.left_level[u] = _ABANDONED
        if flow.right_level[u] == _UNSEEN:
            flow.right_level[u] = _ABANDONED


@kernel
def _back_to_the_left(graph: Neighbours, flow: Cover, first: int, last: int) -> int:
    """Left copies that could send more to the right ones in the queue. Returns the end of the queue."""
    size = last
    for i in range(first, last):
        v = flow.queue[i]
        for p in range(graph.start[v], graph.start[v + 1]):
            if flow.into[p] < flow.capacity[p]:
                u = graph.other[p]
                if flow.left_level[u] < 0:
                    flow.left_level[u] = 0
                    flow.queue[size] = u
                    size += 1
    return size


@kernel
def _back_to_the_right(graph: Neighbours, flow: Cover, first: int, last: int) -> int:
    """Right copies that take flow from the left ones in the queue. Returns the end of the queue."""
    size = last
    for i in range(first, last):
        u = flow.queue[i]
        for p in range(graph.start[u], graph.start[u + 1]):
            if flow.out[p] > 0:
                v = graph.other[p]
                if flow.right_level[v] < 0:
                    flow.right_level[v] = 0
                    flow.queue[size] = v
                    size += 1
    return size


@kernel
def augment(graph: Neighbours, flow: Cover, first: int, last: int, limit: int) -> int:
    """Send flow to these of the collected sinks along paths that are shortest for each, at most `limit` of them.

    Returns: the sink to go on with; `last` when no such path is left.
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
