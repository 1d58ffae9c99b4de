import numpy as np

from privacy.truncation.flow.neighbours import neighbours
from tests.unit.privacy.truncation.flow.graphs import pairs

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
