"""The parts of the exact flow: pairs, neighbours, covers, peeling, and proofs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from privacy.errors import SolverFailed
from privacy.truncation.programs.exact_flow import (
    FULL,
    OPEN,
    SLACK,
    FlowAndCut,
    Pairs,
    Peeling,
    guess,
    pairs_of,
    peel,
    proved,
)
from privacy.truncation.programs.max_flow import (
    BOTH,
    LEFT,
    RIGHT,
    Neighbours,
    double_cover,
    neighbours,
    read_flow,
    sides,
)
from privacy.units import MAX_UNITS
from tests.support.seeds import examples
from tests.unit.privacy.truncation.instances import optimum, program
from tests.unit.privacy.truncation.programs.graphs import pairs, random_graph


def test_tuples_of_one_member_fill_it_first() -> None:
    settled, found = pairs_of(program([(frozenset({0}), 3), (frozenset({0, 1}), 9), (frozenset({1}), 7)], [5, 6]))
    assert settled == 3 + 6
    assert found.caps.tolist() == [2, 0]
    assert found.weights.tolist() == [0]


def test_weights_are_cut_to_the_smaller_cap() -> None:
    settled, found = pairs_of(program([(frozenset({0, 1}), 9), (frozenset({1, 2}), 1)], [5, 4, 7]))
    assert settled == 0
    assert found.weights.tolist() == [4, 1]
    assert (found.first.tolist(), found.second.tolist()) == ([0, 1], [1, 2])
    assert found.contributions().tolist() == [4, 5, 1]


def test_no_tuples_are_no_pairs_and_three_members_are_refused() -> None:
    settled, found = pairs_of(program([], [5]))
    assert (settled, len(found.weights), found.contributions().tolist()) == (0, 0, [0])
    with pytest.raises(SolverFailed, match="at most two owners"):
        pairs_of(program([(frozenset({0, 1, 2}), 1)], [1, 1, 1]))


def test_loads_of_pairs_stop_at_the_largest_weight_and_a_repr_tells_nothing() -> None:
    heavy = MAX_UNITS - 1
    found = pairs([(0, 1, heavy), (1, 2, heavy), (1, 0, heavy)], [heavy] * 3)
    assert found.contributions().tolist() == [MAX_UNITS, MAX_UNITS, heavy]
    assert np.all(found.contributions() <= MAX_UNITS)
    assert repr(pairs([(0, 1, 7)], [7, 7])) == "Pairs(<private>)"


TRIANGLE_AND_TAIL = pairs([(0, 1, 1), (1, 2, 1), (2, 0, 1), (3, 0, 1)], [1] * 5)


def test_every_pair_has_two_slots_that_know_each_other() -> None:
    given = TRIANGLE_AND_TAIL
    graph = neighbours(given.first, given.second, np.zeros(4, np.bool_), 5)
    assert np.diff(graph.start).tolist() == [3, 2, 2, 1, 0]
    tail = np.repeat(np.arange(5), np.diff(graph.start))
    assert np.array_equal(graph.twin[graph.twin], np.arange(8))
    assert np.array_equal(graph.other, tail[graph.twin])
    assert np.array_equal(graph.pair, graph.pair[graph.twin])
    assert sorted(graph.pair.tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]
    ends = np.minimum(given.first, given.second), np.maximum(given.first, given.second)
    assert np.array_equal(np.minimum(tail, graph.other), ends[0][graph.pair])
    assert np.array_equal(np.maximum(tail, graph.other), ends[1][graph.pair])


def test_pairs_can_be_left_out() -> None:
    given = TRIANGLE_AND_TAIL
    graph = neighbours(given.first, given.second, np.array([True, False, False, True]), 5)
    assert np.diff(graph.start).tolist() == [1, 1, 2, 0, 0]
    assert sorted(graph.pair.tolist()) == [1, 1, 2, 2]


def test_components_have_two_sides_unless_a_cycle_is_odd() -> None:
    for edges, expected in [
        ([(0, 1, 1), (1, 2, 1)], [LEFT, RIGHT, LEFT]),
        ([(0, 1, 1), (1, 2, 1), (2, 0, 1)], [BOTH, BOTH, BOTH]),
        ([(0, 1, 1), (2, 3, 1), (3, 4, 1), (4, 2, 1)], [LEFT, RIGHT, BOTH, BOTH, BOTH]),
        ([(0, 1, 1), (1, 0, 1)], [LEFT, RIGHT]),
        ([(0, 3, 1), (1, 2, 1), (2, 3, 1), (0, 2, 1), (3, 1, 1)], [LEFT, LEFT, RIGHT, RIGHT]),
    ]:
        n = len(expected)
        given = pairs(edges, [1] * n)
        if len(edges) == 5:  # 2 and 3 are neighbours and so are their neighbours: odd
            expected = [BOTH] * n
        graph = neighbours(given.first, given.second, np.zeros(len(edges), np.bool_), n)
        assert sides(graph, n).tolist() == expected, (edges, expected)


def test_the_cover_carries_what_was_given_and_gives_it_back() -> None:
    given = pairs([(0, 1, 5), (1, 2, 5), (2, 0, 5), (3, 4, 5), (4, 5, 2)], [9] * 6)
    graph = neighbours(given.first, given.second, np.zeros(5, np.bool_), 6)
    x = np.array([1, 2, 3, 4, 0])
    spare = given.caps - given.totals(x, x)
    cover, side = double_cover(graph, given.weights, x, spare)
    assert cover.left_spare.tolist() == [5, 6, 4, 5, 0, 9]
    assert cover.right_spare.tolist() == [5, 6, 4, 0, 5, 0]
    forward, backward = np.zeros(5, np.int64), np.zeros(5, np.int64)
    read_flow(graph, cover, side, given.first, forward, backward)
    assert forward.tolist() == backward.tolist() == x.tolist()


def _begin(given: Pairs) -> tuple[Neighbours, Peeling]:
    m, n = len(given.weights), len(given.caps)
    state = Peeling(
        weights=given.weights,
        x=np.zeros(m, np.int64),
        done=np.zeros(m, np.bool_),
        spare=given.caps.copy(),
        contribution=given.contributions(),
        role=np.zeros(n, np.int8),
        queue=np.empty(n, np.int32),
    )
    return neighbours(given.first, given.second, state.done, n), state


def _check_feasible(given: Pairs, state: Peeling) -> None:
    assert np.all((state.x >= 0) & (state.x <= given.weights))
    assert np.all(state.spare >= 0)
    assert np.array_equal(state.spare, given.caps - given.totals(state.x, state.x))


def test_a_path_is_decided_from_its_ends() -> None:
    given = pairs([(0, 1, 1), (1, 2, 1), (2, 3, 1)], [1, 1, 1, 1])
    graph, state = _begin(given)
    peel(graph, state)
    assert state.x.tolist() == [1, 0, 1]
    assert state.done.all()
    assert set(state.role.tolist()) == {SLACK, FULL}


def test_an_odd_cycle_is_left_open() -> None:
    given = pairs([(0, 1, 1), (1, 2, 1), (2, 0, 1)], [1, 1, 1])
    graph, state = _begin(given)
    peel(graph, state)
    assert not state.done.any()
    assert state.role.tolist() == [OPEN] * 3


def test_exact_steps_keep_the_optimum_and_guesses_stay_feasible() -> None:
    for seed in range(examples(8, 30)):
        instance = random_graph(seed, n=14, m=20)
        settled, given = pairs_of(instance)
        graph, state = _begin(given)
        peel(graph, state)
        _check_feasible(given, state)
        rest = [
            (frozenset({int(given.first[e]), int(given.second[e])}), int(given.weights[e]))
            for e in np.flatnonzero(~state.done)
        ]
        left = optimum(program(rest, state.spare.tolist()))
        assert settled + int(state.x.sum()) + left == pytest.approx(optimum(instance), abs=1e-5), seed
        guess(graph, state, np.flatnonzero(state.role == OPEN))
        _check_feasible(given, state)
        assert state.done.all(), seed
        assert settled + int(state.x.sum()) >= 0.5 * optimum(instance) - 1e-5, "a maximal filling is half of the best"


def test_a_load_too_large_to_count_is_never_slack() -> None:
    cap = MAX_UNITS - 1
    given = pairs([(0, 1, cap), (0, 2, cap), (0, 3, cap), (0, 4, 1)], [cap, cap, cap, cap, 1])
    graph, state = _begin(given)
    peel(graph, state)
    _check_feasible(given, state)
    assert int(state.role[0]) == FULL
    assert int(state.x.sum()) == cap


TRIANGLE = pairs([(0, 1, 1), (1, 2, 1), (2, 0, 1)], [1, 1, 1])
ROUND = FlowAndCut(np.ones(3, np.int64), np.zeros(3, np.int64), np.ones(3, np.bool_), np.zeros(3, np.bool_))
"""Once around: every left copy sends 1 to the next right copy."""


def test_a_triangle_is_worth_one_and_a_half() -> None:
    proof = proved(TRIANGLE, ROUND)
    assert (proof.value, proof.upper, proof.bits) == (3, 3, 1)
    assert (proof.floor(), proof.ceiling()) == (1, 2)


def test_claims_that_prove_nothing_are_refused() -> None:
    for change, message in [
        ({"forward": np.array([1, 1, 0])}, "smaller than the minimum cut"),
        ({"forward": np.array([2, 1, 0])}, "exceeds a weight"),
        ({"forward": np.array([-1, 1, 1])}, "exceeds a weight"),
        ({"backward": np.array([0, 1, 0])}, "exceeds a cap"),
        ({"left_cut": np.array([True, True, False])}, None),
        ({"right_cut": np.ones(3, np.bool_)}, "smaller than the minimum cut"),
        ({"left_cut": np.zeros(3, np.bool_)}, "smaller than the minimum cut"),
    ]:
        claim = replace(ROUND, **change)
        with pytest.raises(SolverFailed, match=message):
            proved(TRIANGLE, claim)


def test_sums_beyond_an_int64_are_refused_like_others() -> None:
    huge = (1 << 62) - 1
    given = pairs([(0, 1, huge)] * 3, [huge, huge])
    claim = FlowAndCut(np.full(3, huge), np.full(3, huge), np.ones(2, np.bool_), np.zeros(2, np.bool_))
    with pytest.raises(SolverFailed, match="exceeds a cap"):
        proved(given, claim)
    one = np.array([huge, 0, 0])
    assert proved(given, replace(claim, forward=one, backward=one)).floor() == huge
