import numpy as np
import pytest

from privacy.truncation.flow.neighbours import Neighbours, neighbours
from privacy.truncation.flow.pairs import Pairs, pairs_of
from privacy.truncation.flow.peeling import FULL, OPEN, SLACK, Peeling, guess, peel
from privacy.units import MAX_UNITS
from tests.unit.privacy.truncation.flow.graphs import pairs, random_graph
from tests.unit.privacy.truncation.instances import optimum, program


def _begin(given: Pairs) -> tuple[Neighbours, Peeling]:
    m, n = len(given.weights), len(given.caps)
    state = Peeling(
        weights=given.weights,
        x=np.zeros(m, np.int64),
        done=np.zeros(m, np.bool_),
        spare=given.caps.copy(),
        load=given.loads(),
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


@pytest.mark.parametrize("seed", range(30))
def test_exact_steps_keep_the_optimum_and_guesses_stay_feasible(seed: int) -> None:
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
    assert settled + int(state.x.sum()) + left == pytest.approx(optimum(instance), abs=1e-5)
    guess(graph, state, np.flatnonzero(state.role == OPEN))
    _check_feasible(given, state)
    assert state.done.all()
    assert settled + int(state.x.sum()) >= 0.5 * optimum(instance) - 1e-5, "a maximal filling is half of the best"


def test_a_load_too_large_to_count_is_never_slack() -> None:
    cap = MAX_UNITS - 1
    given = pairs([(0, 1, cap), (0, 2, cap), (0, 3, cap), (0, 4, 1)], [cap, cap, cap, cap, 1])
    graph, state = _begin(given)
    peel(graph, state)
    _check_feasible(given, state)
    assert int(state.role[0]) == FULL
    assert int(state.x.sum()) == cap
