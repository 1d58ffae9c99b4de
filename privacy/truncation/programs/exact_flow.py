"""Programs of two owners per tuple, solved exactly: reduced, solved as a flow, and proved in integers.

Such a program is a weighted graph: the privacy units of its group are the nodes and are called members here, because
a unit is also a weight of 2^-30. Tuples are the edges and are called pairs. Karp and Sipser's algorithm with
capacities decides what needs no flow, and guesses the rest. A member is slack if what is left of its pairs fits under
its cap. A pair of a slack member can only help by filling its other member, so it fills it. A full member ends its
other pairs, which may leave their members slack. These steps are exact (docs/mathematics.md, section 3.3). When they
stop, some member is filled by a guess, from the neighbours that are closest to slack, and the exact steps go on. The
guesses start the flow; on graphs of people they miss the optimum by 0.1%.

Then a flow and a cut of the same size prove each other, recomputed in integers. Take flows f, g along each pair {u,
v}, one per arc of the double cover, that respect all weights and the caps of all copies. Then (f + g) / 2 is feasible
in the program. For any duals y, z in {0, 1} of the left and the right copies,

    2 fbar <= sum_u c_u (y_u + z_u) + sum_{u, v} w (max(0, 1 - y_u - z_v) + max(0, 1 - y_v - z_u)).

Equal bounds are the optimum, in half units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacy.errors import SolverFailed
from privacy.join_tuples import Private
from privacy.kernel import kernel
from privacy.truncation.programs.certificate import Certificate
from privacy.truncation.programs.large_core import LargeCore
from privacy.truncation.programs.max_flow import (
    Cover,
    Neighbours,
    abandon,
    augment,
    double_cover,
    layers,
    neighbours,
    read_cut,
    read_flow,
)
from privacy.truncation.programs.program import PreparedProgram
from privacy.units import Bools, Int32s, Ints, exact_sum, saturating_add, saturating_sums


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(Private):
    """Maximise sum_e x_e with 0 <= x_e <= w_e and, for every member u, sum over its pairs x_e <= c_u.

    Attributes:
      first, second: (m,) int32 the members of each pair, different from each other; pairs may repeat.
      weights: (m,) int64 in [0, 2^62), at most the caps of both members.
      caps: (n,) int64 in [0, 2^62).
    """

    first: Int32s
    second: Int32s
    weights: Ints
    caps: Ints

    def contributions(self) -> Ints:
        """(n,) total weight of each member's pairs, saturating at 2^62."""
        return self.totals(self.weights, self.weights)

    def totals(self, of_first: Ints, of_second: Ints) -> Ints:
        """(n,) per member, the total of its pairs' values, each in [0, 2^62]: exact, saturating at 2^62."""
        n = len(self.caps)
        return saturating_add(saturating_sums(self.first, of_first, n), saturating_sums(self.second, of_second, n))


def pairs_of(program: PreparedProgram) -> tuple[int, Pairs]:
    """Solve the tuples with one owner, and return the tuples with two owners as pairs.

    A tuple with one owner uses the cap of no other unit. So these tuples use their owner's cap first, and the pairs
    get what is left of it (docs/mathematics.md, section 3.3). A tuple never counts above the smallest cap of its
    owners, so larger weights are clipped to that cap.

    Returns: the exact total of the tuples with one owner, in weight units, and the program of the pairs.
    Raises: SolverFailed if a tuple has more than two owners.
    """
    owners, units, caps = program.incidence.owners, program.incidence.units, program.caps
    if len(owners) and int(owners.max()) > 2:
        raise SolverFailed("this solver needs tuples with at most two owners")
    weights, settled = program.weights, 0
    if np.any(owners == 1):
        alone = owners == 1
        wanted = saturating_sums(units[np.repeat(alone, owners)], weights[alone], len(caps))
        filled = np.minimum(wanted, caps)
        settled, caps = exact_sum(filled), caps - filled
        units, weights = units[np.repeat(~alone, owners)], weights[~alone]
    first, second = (np.ascontiguousarray(side, np.int32) for side in units.reshape(-1, 2).T)
    weights = np.minimum(weights, np.minimum(caps[first], caps[second]))
    return settled, Pairs(first, second, weights, np.ascontiguousarray(caps))


OPEN, SLACK, FULL = 0, 1, 2

SATURATED = 1 << 62
"""A contribution of this much or more is unknown, so never slack, and not reduced."""


class Peeling(NamedTuple):
    """What has been decided so far. All capacities are exact: x is feasible at every moment.

    Attributes:
      weights: (m,) int64, at most the caps of both members.
      x: (m,) int64 what each pair counts, at most its weight.
      done: (m,) bool whether the pair is decided.
      spare: (n,) int64 >= 0, each cap less what the pairs of the member count.
      contribution: (n,) int64 the weight of the pairs that are not decided.
      role: (n,) int8 OPEN, SLACK or FULL.
      queue: (n,) int32 members that left OPEN and whose pairs are not decided yet.
    """

    weights: Ints
    x: Ints
    done: Bools
    spare: Ints
    contribution: Ints
    role: NDArray[np.int8]
    queue: Int32s


@kernel
def peel(graph: Neighbours, state: Peeling) -> None:
    """Take all exact steps. Cost: linear; each pair is decided once."""
    waiting = 0
    for u in range(len(state.spare)):
        waiting = _close(state, u, waiting)
    _drain(graph, state, waiting)


@kernel
def guess(graph: Neighbours, state: Peeling, order: Ints) -> None:
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
def _by_need(graph: Neighbours, state: Peeling, u: int) -> Ints:
    """The undecided slots of a member, first those whose other end is closest to slack."""
    slots = np.empty(graph.start[u + 1] - graph.start[u], np.int64)
    missing = np.empty(len(slots), np.int64)
    count = 0
    for slot in range(graph.start[u], graph.start[u + 1]):
        if not state.done[graph.pair[slot]]:
            v = graph.other[slot]
            slots[count] = slot
            missing[count] = state.contribution[v] - state.spare[v]
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
    """Decide the pair in a slot of u: its weight counts, but at most `most`."""
    e, v = graph.pair[slot], graph.other[slot]
    amount = min(state.weights[e], most)
    state.done[e] = True
    state.x[e] = amount
    state.spare[u] -= amount
    state.spare[v] -= amount
    if state.contribution[u] < SATURATED:
        state.contribution[u] -= state.weights[e]
    if state.contribution[v] < SATURATED:
        state.contribution[v] -= state.weights[e]


@kernel
def _close(state: Peeling, u: int, waiting: int) -> int:
    """Put an open member that became slack or full into the queue. Returns the length of the queue."""
    if state.role[u] == OPEN:
        if state.spare[u] == 0:  # first: what did not fit has left the contribution
            state.role[u] = FULL
        elif state.contribution[u] <= state.spare[u]:
            state.role[u] = SLACK
        else:
            return waiting
        state.queue[waiting] = u
        return waiting + 1
    return waiting


@dataclass(frozen=True, eq=False, repr=False)
class FlowAndCut(Private):
    """A flow and a cut, not yet proved.

    Attributes:
      forward: (m,) int64 flow from the left copy of each pair's first member to the right copy of its second.
      backward: (m,) int64 flow from the left copy of its second member to the right copy of its first.
      left_cut, right_cut: (n,) bool whether the cut pays for the left, the right copy of a member.
    """

    forward: Ints
    backward: Ints
    left_cut: Bools
    right_cut: Bools


def proved(pairs: Pairs, claim: FlowAndCut) -> Certificate:
    """The optimum in half units.

    Raises: SolverFailed if the flow is not feasible or the cut is larger than the flow.
    Cost: linear, without a kernel.
    """
    forward, backward = claim.forward, claim.backward
    for flow in (forward, backward):
        if not np.all((flow >= 0) & (flow <= pairs.weights)):
            raise SolverFailed("a flow exceeds a weight")
    left, right = pairs.totals(forward, backward), pairs.totals(backward, forward)
    if not np.all((left <= pairs.caps) & (right <= pairs.caps)):
        raise SolverFailed("a flow exceeds a cap")
    value, upper = exact_sum(forward) + exact_sum(backward), _cut(pairs, claim)
    if value != upper:
        raise SolverFailed("a flow is smaller than the minimum cut")
    return Certificate(value, upper, 1)


def _cut(pairs: Pairs, claim: FlowAndCut) -> int:
    """The size of the cut, which bounds every flow."""
    y, z, u, v = claim.left_cut, claim.right_cut, pairs.first, pairs.second
    return (
        exact_sum(pairs.caps[y])
        + exact_sum(pairs.caps[z])
        + exact_sum(pairs.weights[~(y[u] | z[v])])
        + exact_sum(pairs.weights[~(y[v] | z[u])])
    )


_MAX_PAIRS = 1 << 30
_GUESSES = 1 << 17
_PATHS = 1 << 17
"""Members and paths in one call: some tens of milliseconds, so that signals are heeded."""


def exact_flow(program: PreparedProgram) -> Certificate:
    """The optimum of a program in which every tuple has one or two owners.

    It is a fractional b-matching: integer weights and caps have an optimum in half units, half of a maximum flow on
    the double cover. On bipartite graphs it is an integer. The optimum is unique, so it does not depend on how it was
    found.

    Args:
      program: weights in [0, 2^62], caps in [0, 2^62); before presolve or after it.
    Returns: value == upper, in half units.
    Raises: SolverFailed for a tuple of three members, for 2^30 tuples, and if flow and cut do not prove each other,
      which is a bug.
    Cost: linear, a sort, and Dinic's algorithm on what peeling leaves: 0.1 s for 350,000 tuples of a friendship graph
      at the worst threshold. 90 bytes per tuple.
    Source: docs/mathematics.md, section 3.3.
    """
    settled, pairs = pairs_of(program)
    if len(pairs.weights) >= _MAX_PAIRS:
        raise SolverFailed("more tuples than a flow can number")
    state = _peeled(pairs)
    decided = FlowAndCut(state.x.copy(), state.x.copy(), state.role == FULL, state.role == FULL)
    claim = decided if np.all(state.done) else _with_core(pairs, state, decided)
    return proved(pairs, claim).plus(settled)


def exact_optimum(program: PreparedProgram | LargeCore, slack: int) -> Certificate:
    """`exact_flow` in the form of a solver that may stop `slack` units below the optimum; this one never does."""
    assert slack >= 0 and isinstance(program, PreparedProgram)  # with two owners per tuple no core is large
    return exact_flow(program)


def _peeled(pairs: Pairs) -> Peeling:
    """Take all exact steps from the start, without a guess."""
    m, n = len(pairs.weights), len(pairs.caps)
    state = Peeling(
        weights=pairs.weights,
        x=np.zeros(m, np.int64),
        done=np.zeros(m, np.bool_),
        spare=pairs.caps.copy(),
        contribution=pairs.contributions(),
        role=np.zeros(n, np.int8),
        queue=np.empty(n, np.int32),
    )
    peel(neighbours(pairs.first, pairs.second, state.done, n), state)
    return state


def _with_core(pairs: Pairs, state: Peeling, decided: FlowAndCut) -> FlowAndCut:
    """What is decided, and a maximum flow of the rest, which starts from a guess."""
    is_open = state.role == OPEN
    graph = neighbours(pairs.first, pairs.second, state.done, len(pairs.caps))
    _guess(graph, state, np.flatnonzero(is_open))
    cover, side = double_cover(graph, pairs.weights, state.x, state.spare)
    _maximise(graph, cover)
    read_flow(graph, cover, side, pairs.first, decided.forward, decided.backward)
    left, right = read_cut(cover, side)
    return FlowAndCut(
        decided.forward,
        decided.backward,
        np.where(is_open, left, decided.left_cut),
        np.where(is_open, right, decided.right_cut),
    )


def _guess(graph: Neighbours, state: Peeling, members: Ints) -> None:
    """Fill all members, first those that are closest to slack."""
    order = members[np.argsort((state.contribution - state.spare)[members], kind="stable")]
    for start in range(0, len(order), _GUESSES):
        guess(graph, state, order[start : start + _GUESSES])


def _maximise(graph: Neighbours, cover: Cover) -> None:
    """Increase the flow, phase by phase, until no sink can be reached."""
    phase = 0
    while sinks := layers(graph, cover):
        served = 0
        while served < sinks:
            served = augment(graph, cover, served, sinks, _PATHS)
        phase += 1
        if phase & (phase - 1) == 0:  # a power of two
            abandon(graph, cover)
