"""Flows of pairs, as large as other implementations find."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from privacy.errors import SolverFailed
from privacy.truncation.programs.exact_flow import Pairs, exact_flow, pairs_of
from privacy.truncation.programs.max_flow import Cover, Neighbours, abandon, augment, double_cover, layers, neighbours
from privacy.truncation.programs.program import Incidence, PreparedProgram
from privacy.units import MAX_UNITS, ONE
from tests.support.seeds import examples
from tests.unit.privacy.truncation.instances import Tuple, ones, optimum, program
from tests.unit.privacy.truncation.programs.graphs import pairs, random_graph


def _cover(given: Pairs) -> tuple[Neighbours, Cover]:
    m, n = len(given.weights), len(given.caps)
    graph = neighbours(given.first, given.second, np.zeros(m, np.bool_), n)
    cover, _ = double_cover(graph, given.weights, np.zeros(m, np.int64), given.caps)
    return graph, cover


def _maximise(graph: Neighbours, cover: Cover, limit: int) -> int:
    """The number of calls that augment."""
    calls = 0
    while sinks := layers(graph, cover):
        served = 0
        while served < sinks:
            served = augment(graph, cover, served, sinks, limit)
            calls += 1
        abandon(graph, cover)
    return calls


def _scipy_flow(given: Pairs, cover: Cover) -> int:
    """The maximum flow by another implementation; spare capacities of an empty flow are the caps."""
    n = len(given.caps)
    left, right = np.arange(n), np.arange(n) + n
    heads = np.concatenate([np.full(n, 2 * n), right, given.first, given.second])
    tails = np.concatenate([left, np.full(n, 2 * n + 1), given.second + n, given.first + n])
    capacity = np.concatenate([cover.left_spare, cover.right_spare, given.weights, given.weights]).astype(np.int32)
    size = 2 * n + 2
    return int(maximum_flow(csr_array((capacity, (heads, tails)), (size, size)), 2 * n, 2 * n + 1).flow_value)


def test_a_flow_is_as_large_as_another_implementation_finds() -> None:
    for bipartite in [True, False]:
        for seed in range(examples(5, 20)):
            _, given = pairs_of(random_graph(seed, bipartite=bipartite))
            graph, cover = _cover(given)
            expected = _scipy_flow(given, cover)
            _maximise(graph, cover, 1000)
            assert int(cover.out.sum()) == expected, (bipartite, seed)
            assert np.array_equal(cover.into[graph.twin], cover.out), (bipartite, seed)
            assert np.all((cover.out >= 0) & (cover.out <= cover.capacity)), (bipartite, seed)


def test_stopping_after_every_path_changes_nothing() -> None:
    for seed in range(5):
        _, given = pairs_of(random_graph(seed))
        (graph, whole), (_, steps) = _cover(given), _cover(given)
        few, many = _maximise(graph, whole, 1000), _maximise(graph, steps, 1)
        assert many > few, seed
        assert np.array_equal(whole.out, steps.out), seed
        assert np.array_equal(whole.left_level, steps.left_level), seed


def test_a_long_path_of_detours_is_found() -> None:
    n = 2000  # a path whose greedy filling must be undone from end to end
    given = pairs([(i, i + 1, 1) for i in range(n - 1)], [1] * n)
    graph = neighbours(given.first, given.second, np.zeros(n - 1, np.bool_), n)
    x = np.zeros(n - 1, np.int64)
    x[1::2] = 1
    cover, _ = double_cover(graph, given.weights, x, given.caps - given.totals(x, x))
    _maximise(graph, cover, 1000)
    from_left = np.repeat(np.arange(n) % 2 == 0, np.diff(graph.start))
    assert int(cover.out[from_left].sum()) == n // 2


HUGE = MAX_UNITS - 1


def _half_units(tuples: list[Tuple], caps: list[int]) -> int:
    proof = exact_flow(program(tuples, caps))
    assert proof.value == proof.upper
    assert proof.bits == 1
    return proof.value


def test_nothing_is_worth_nothing() -> None:
    assert _half_units([], []) == 0
    assert _half_units([], [3]) == 0
    # one pair counts up to its smaller cap
    assert _half_units([(frozenset({0, 1}), 7)], [5, 9]) == 10
    assert _half_units([(frozenset({0, 1}), 7)], [0, 9]) == 0
    # odd cycles have halves
    for length in (3, 5, 7, 99):
        cycle: list[Tuple] = [(frozenset({i, (i + 1) % length}), 1) for i in range(length)]
        assert _half_units(cycle, [1] * length) == length


def test_odd_cycles_on_a_path_share_a_half() -> None:
    """Two triangles joined by a long path: every member can be full, by halves around both cycles."""
    path = [(frozenset({i, i + 1}), 1) for i in range(20)]
    triangles = [(frozenset(pair), 1) for pair in ((0, 21), (0, 22), (21, 22), (20, 23), (20, 24), (23, 24))]
    assert _half_units(path + triangles, [1] * 25) == 25


def test_a_star_is_worth_its_centre_and_the_flow_of_small_graphs_is_twice_the_optimum() -> None:
    star = ones(*({0, i} for i in range(1, 500)))
    assert _half_units(star, [7 * ONE] + [ONE] * 499) == 2 * 7 * ONE
    assert _half_units(star, [1000 * ONE] * 500) == 2 * 499 * ONE
    # one member beside pairs comes first
    assert _half_units([(frozenset({0}), 3), (frozenset({0, 1}), 9)], [5, 9]) == 10
    # repeated pairs add up
    assert _half_units([(frozenset({0, 1}), 1)] * 5, [3, 9]) == 6
    for seed in range(examples(8, 40)):
        for bipartite in [True, False]:
            instance = random_graph(seed, bipartite=bipartite)
            assert exact_flow(instance).value == pytest.approx(2 * optimum(instance), abs=1e-4), (seed, bipartite)


def test_multiplying_everything_multiplies_the_optimum_and_loads_and_totals_beyond_an_int64() -> None:
    """Up to the last bit below 2^62, where floats have long lost the units."""
    for seed in range(examples(4, 10)):
        small = random_graph(seed, heaviest=9)
        factor = HUGE // 27
        large = PreparedProgram(small.weights * factor, small.incidence, small.caps * factor)
        assert exact_flow(large).value == exact_flow(small).value * factor, seed
    everybody = [(frozenset({i, j}), MAX_UNITS) for i in range(9) for j in range(i)]
    assert _half_units(everybody, [HUGE] * 9) == 9 * HUGE


def test_weights_that_no_float_tells_apart() -> None:
    cycle: list[Tuple] = [(frozenset({i, (i + 1) % 5}), MAX_UNITS) for i in range(5)]
    caps = [HUGE, HUGE - 1, HUGE, HUGE - 1, HUGE - 1]
    assert _half_units(cycle, caps) == sum(caps)


def test_the_order_of_tuples_and_members_does_not_matter() -> None:
    given = random_graph(3, n=40, m=200)
    random = np.random.default_rng(0)
    table = given.incidence.units.reshape(-1, 2)
    for _ in range(5):
        rows, names = random.permutation(len(table)), random.permutation(40)
        caps = np.empty_like(given.caps)
        caps[names] = given.caps
        units = names[table[rows]].ravel()
        other = PreparedProgram(given.weights[rows], Incidence(given.incidence.indptr, units, 40), caps)
        assert exact_flow(other).value == exact_flow(given).value


def test_three_members_are_refused() -> None:
    with pytest.raises(SolverFailed):
        exact_flow(program(ones({0, 1, 2}), [ONE] * 3))
