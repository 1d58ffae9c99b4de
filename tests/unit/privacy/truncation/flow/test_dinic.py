import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from privacy.truncation.flow.cover import Cover, double_cover
from privacy.truncation.flow.dinic import abandon, augment, layers
from privacy.truncation.flow.neighbours import Neighbours, neighbours
from privacy.truncation.flow.pairs import Pairs, pairs_of
from tests.unit.privacy.truncation.flow.graphs import pairs, random_graph


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


@pytest.mark.parametrize("bipartite", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_a_flow_is_as_large_as_another_implementation_finds(seed: int, bipartite: bool) -> None:
    _, given = pairs_of(random_graph(seed, bipartite=bipartite))
    graph, cover = _cover(given)
    expected = _scipy_flow(given, cover)
    _maximise(graph, cover, 1000)
    assert int(cover.out.sum()) == expected
    assert np.array_equal(cover.into[graph.twin], cover.out)
    assert np.all((cover.out >= 0) & (cover.out <= cover.capacity))


@pytest.mark.parametrize("seed", range(5))
def test_stopping_after_every_path_changes_nothing(seed: int) -> None:
    _, given = pairs_of(random_graph(seed))
    (graph, whole), (_, steps) = _cover(given), _cover(given)
    few, many = _maximise(graph, whole, 1000), _maximise(graph, steps, 1)
    assert many > few
    assert np.array_equal(whole.out, steps.out)
    assert np.array_equal(whole.left_level, steps.left_level)


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
