"""What can be decided without a flow, and a good guess at the rest: Karp and Sipser's algorithm with capacities.

A member is slack when all that is left of its pairs fits under its cap. A pair of a slack member can only help by
filling its other member, so it fills it; a member that is full ends its other pairs, which may leave
their members slack. While that goes on, every step is exact (privacy.md section 2, fact 3). When it stops, a
guess must be made: some member is filled, from those neighbours first that are closest to being slack, and the
exact steps go on from there. The guesses start the flow; on graphs of people they miss the optimum by 0.1%.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.truncation.flow.neighbours import Neighbours

OPEN, SLACK, FULL = 0, 1, 2

SATURATED = 1 << 62
"""A load of this much or more: unknown, so never slack, and not reduced."""


class Peeling(NamedTuple):
    """What has been given out so far. All capacities are exact: x is feasible at every moment.

    Attributes:
      weights: (m,) int64, at most the caps of both members.
      x: (m,) int64 what each pair counts, at most its weight.
      done: (m,) bool whether the pair is decided.
      spare: (n,) int64 >= 0, each cap less what the pairs of the member count.
      load: (n,) int64 the weight of the pairs that are not decided.
      role: (n,) int8 OPEN, SLACK or FULL.
      queue: (n,) int32 members that left OPEN and whose pairs are still to be decided.
    """

    weights: NDArray[np.int64]
    x: NDArray[np.int64]
    done: NDArray[np.bool_]
    spare: NDArray[np.int64]
    load: NDArray[np.int64]
    role: NDArray[np.int8]
    queue: NDArray[np.int32]


@kernel
def peel(graph: Neighbours, state: Peeling) -> None:
    """Take all exact steps. Cost: linear; each pair is decided once."""
    waiting = 0
    for u in range(len(state.spare)):
        waiting = _close(state, u, waiting)
    _drain(graph, state, waiting)


@kernel
def guess(graph: Neighbours, state: Peeling, order: NDArray[np.int64]) -> None:
    """Fill the open members in this order, each followed by the exact steps that it allows.

    Cost: linear but for a sort of the neighbours of each member.
    """
    for i in range(len(order)):
        u = order[i]
        if state.role[u] == OPEN:
            slots = _by_need(graph, state, u)
            state.role[u] = FULL
            waiting = 0
            for j in range(len(slots)):
                slot = slots[j]
                most = min(state.spare[u], state.spare[graph.other[slot]])
                _decide(graph, state, u, slot, most)
                waiting = _close(state, graph.other[slot], waiting)
            _drain(graph, state, waiting)


@kernel
def _by_need(graph: Neighbours, state: Peeling, u: int) -> NDArray[np.int64]:
    """The undecided slots of a member, those first whose other end misses the least to be slack."""
    slots = np.empty(graph.start[u + 1] - graph.start[u], np.int64)
    missing = np.empty(len(slots), np.int64)
    count = 0
    for slot in range(graph.start[u], graph.start[u + 1]):
        if not state.done[graph.pair[slot]]:
            v = graph.other[slot]
            slots[count] = slot
            missing[count] = state.load[v] - state.spare[v]
            count += 1
    return slots[:count][np.argsort(missing[:count])]


@kernel
def _drain(graph: Neighbours, state: Peeling, waiting: int) -> None:
    """Decide the pairs of the members in the queue, and of those that join it meanwhile."""
    while waiting > 0:
        waiting -= 1
        u = state.queue[waiting]
        for slot in range(graph.start[u], graph.start[u + 1]):
            if not state.done[graph.pair[slot]]:
                v = graph.other[slot]
                _decide(graph, state, u, slot, state.spare[v] if state.role[u] == SLACK else 0)
                waiting = _close(state, v, waiting)


@kernel
def _decide(graph: Neighbours, state: Peeling, u: int, slot: int, most: int) -> None:
    """Let the pair of this slot of u count as much as it weighs, but at most so much."""
    e, v = graph.pair[slot], graph.other[slot]
    amount = min(state.weights[e], most)
    state.done[e] = True
    state.x[e] = amount
    state.spare[u] -= amount
    state.spare[v] -= amount
    if state.load[u] < SATURATED:
        state.load[u] -= state.weights[e]
    if state.load[v] < SATURATED:
        state.load[v] -= state.weights[e]


@kernel
def _close(state: Peeling, u: int, waiting: int) -> int:
    """Put an open member that became slack or full into the queue. Returns how many wait there."""
    if state.role[u] == OPEN:
        if state.spare[u] == 0:  # first: what did not fit is no longer in the load
            state.role[u] = FULL
        elif state.load[u] <= state.spare[u]:
            state.role[u] = SLACK
        else:
            return waiting
        state.queue[waiting] = u
        return waiting + 1
    return waiting
