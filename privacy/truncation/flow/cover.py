"""The double cover: every member once on the left and once on the right, so that any graph has two sides.

A pair {u, v} becomes the arcs u -> v and v -> u from the left to the right, each with its weight as capacity; the
source feeds every left copy and the sink drains every right copy with the member's cap. The mean of both arcs of
a pair is feasible in the program, and a feasible x gives a flow of 2 sum x: so the optimum is half of a maximum
flow (privacy.md section 2, fact 4). Where a component has two sides by itself, its copy with the
sides exchanged is left idle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.truncation.flow.neighbours import Neighbours

LEFT, RIGHT, BOTH = 0, 1, 2
_UNSEEN = -1


class Cover(NamedTuple):
    """A flow on the double cover. The slot p of u stands for the arc from the left copy of u to the right copy of
    other[p], and equally for the arc into the right copy of u from the left copy of other[p].

    All numbers lie in [0, 2^62]: a flow is at most its arc's capacity, a spare at most its member's cap.

    Attributes:
      capacity: (2 m,) int64 the weight of each slot's pair.
      out, into: (2 m,) int64 flow on the arc that leaves, and on the arc that enters, by the slot of that
        end: into[twin[p]] == out[p].
      left_spare, right_spare: (n,) int64 what source and sink could still carry.
      left_level, right_level: (n,) int32 arcs from a source with something to spare; negative when out of reach.
      left_next, right_next: (n,) int64 the slot to try next.
      sinks: (n,) int32 right copies in reach that have something to spare.
      queue: (2 n,) int32 and
      path: (2 n,) int64 work space.
    """

    capacity: NDArray[np.int64]
    out: NDArray[np.int64]
    into: NDArray[np.int64]
    left_spare: NDArray[np.int64]
    right_spare: NDArray[np.int64]
    left_level: NDArray[np.int32]
    right_level: NDArray[np.int32]
    left_next: NDArray[np.int64]
    right_next: NDArray[np.int64]
    sinks: NDArray[np.int32]
    queue: NDArray[np.int32]
    path: NDArray[np.int64]


def double_cover(
    graph: Neighbours, weights: NDArray[np.int64], x: NDArray[np.int64], spare: NDArray[np.int64]
) -> tuple[Cover, NDArray[np.int8]]:
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
    graph: Neighbours,
    cover: Cover,
    side: NDArray[np.int8],
    first: NDArray[np.int32],
    forward: NDArray[np.int64],
    backward: NDArray[np.int64],
) -> None:
    """Write the flow of each pair of the graph from its first member, and from its second; an idle copy repeats
    the other one.
    """
    for u in range(len(side)):
        for p in range(graph.start[u], graph.start[u + 1]):
            amount = cover.into[p] if side[u] == RIGHT else cover.out[p]
            if first[graph.pair[p]] == u:
                forward[graph.pair[p]] = amount
            else:
                backward[graph.pair[p]] = amount


def read_cut(cover: Cover, side: NDArray[np.int8]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(n,) which left and which right copies a minimum cut pays for; an idle copy repeats the other one."""
    left, right = cover.left_level < 0, cover.right_level >= 0
    return np.where(side == RIGHT, right, left), np.where(side == LEFT, left, right)
