"""Programs of at most two members per tuple: the exact optimum, proved by a flow and a cut of the same size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.errors import SolverFailed
from privacy.truncation.control import QUIET, Control
from privacy.truncation.flow.cover import Cover, double_cover, read_cut, read_flow
from privacy.truncation.flow.dinic import abandon, augment, layers
from privacy.truncation.flow.neighbours import Neighbours, neighbours
from privacy.truncation.flow.pairs import Pairs, pairs_of
from privacy.truncation.flow.peeling import FULL, OPEN, Peeling, guess, peel
from privacy.truncation.flow.proof import FlowAndCut, proved
from privacy.truncation.programs.certificate import Certificate
from privacy.truncation.programs.program import PreparedProgram

_MAX_PAIRS = 1 << 30
_GUESSES = 1 << 17
_PATHS = 1 << 17
"""Members and paths between two looks at whether to stop: some tens of milliseconds."""


def exact_flow(program: PreparedProgram, control: Control = QUIET) -> Certificate:
    """The optimum of a program in which every tuple has one or two members.

    Fractional b-matching: integer weights and caps have an optimum in half units, half of a maximum flow on the
    double cover, and on graphs with two sides an integer. It is unique, so it does not depend on how it was found.

    Args:
      program: weights in [0, 2^62], caps in [0, 2^62); before presolve or after it.
      control: asked between steps whether to stop.
    Returns: value == upper, in half units.
    Raises: SolverFailed for a tuple of three members, for 2^30 tuples, and when flow and cut do not prove each
      other (a bug, not an outcome). Cancelled.
    Cost: linear, a sort, and Dinic's algorithm on what peeling leaves: 0.1 s for 350,000 tuples of a
      friendship graph at the worst threshold. 90 bytes per tuple.
    Source: privacy.md section 2, fact 4.
    """
    settled, pairs = pairs_of(program)
    if len(pairs.weights) >= _MAX_PAIRS:
        raise SolverFailed("more tuples than a flow can number")
    control.check("peeling")
    state = _peeled(pairs)
    decided = FlowAndCut(state.x.copy(), state.x.copy(), state.role == FULL, state.role == FULL)
    claim = decided if np.all(state.done) else _with_core(pairs, state, decided, control)
    return proved(pairs, claim).plus(settled)


def exact_optimum(program: PreparedProgram, slack: int, control: Control = QUIET) -> Certificate:
    """`exact_flow` where an optimiser may leave so much slack: it leaves none."""
    assert slack >= 0
    return exact_flow(program, control)


def _peeled(pairs: Pairs) -> Peeling:
    """All that is decided without a guess."""
    m, n = len(pairs.weights), len(pairs.caps)
    state = Peeling(
        weights=pairs.weights,
        x=np.zeros(m, np.int64),
        done=np.zeros(m, np.bool_),
        spare=pairs.caps.copy(),
        load=pairs.loads(),
        role=np.zeros(n, np.int8),
        queue=np.empty(n, np.int32),
    )
    peel(neighbours(pairs.first, pairs.second, state.done, n), state)
    return state


def _with_core(pairs: Pairs, state: Peeling, decided: FlowAndCut, control: Control) -> FlowAndCut:
    """What is decided, and a maximum flow of the rest, which starts from a guess."""
    is_open = state.role == OPEN
    graph = neighbours(pairs.first, pairs.second, state.done, len(pairs.caps))
    _guess(graph, state, np.flatnonzero(is_open), control)
    cover, side = double_cover(graph, pairs.weights, state.x, state.spare)
    _maximise(graph, cover, control)
    read_flow(graph, cover, side, pairs.first, decided.forward, decided.backward)
    left, right = read_cut(cover, side)
    return FlowAndCut(
        decided.forward,
        decided.backward,
        np.where(is_open, left, decided.left_cut),
        np.where(is_open, right, decided.right_cut),
    )


def _guess(graph: Neighbours, state: Peeling, members: NDArray[np.int64], control: Control) -> None:
    """Fill all members, those first that miss the least to be slack."""
    order = members[np.argsort((state.load - state.spare)[members], kind="stable")]
    for start in range(0, len(order), _GUESSES):
        control.check("guess", start)
        guess(graph, state, order[start : start + _GUESSES])


def _maximise(graph: Neighbours, cover: Cover, control: Control) -> None:
    """Phases until no sink can be reached."""
    phase = 0
    while sinks := layers(graph, cover):
        served = 0
        while served < sinks:
            control.check("flow", phase)
            served = augment(graph, cover, served, sinks, _PATHS)
        phase += 1
        if phase & (phase - 1) == 0:  # a power of two
            abandon(graph, cover)
