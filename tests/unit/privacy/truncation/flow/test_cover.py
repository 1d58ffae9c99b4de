import numpy as np
import pytest

from privacy.truncation.flow.cover import BOTH, LEFT, RIGHT, double_cover, read_flow, sides
from privacy.truncation.flow.neighbours import neighbours
from tests.unit.privacy.truncation.flow.graphs import pairs


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([(0, 1, 1), (1, 2, 1)], [LEFT, RIGHT, LEFT]),
        ([(0, 1, 1), (1, 2, 1), (2, 0, 1)], [BOTH, BOTH, BOTH]),
        ([(0, 1, 1), (2, 3, 1), (3, 4, 1), (4, 2, 1)], [LEFT, RIGHT, BOTH, BOTH, BOTH]),
        ([(0, 1, 1), (1, 0, 1)], [LEFT, RIGHT]),
        ([(0, 3, 1), (1, 2, 1), (2, 3, 1), (0, 2, 1), (3, 1, 1)], [LEFT, LEFT, RIGHT, RIGHT]),
    ],
)
def test_components_have_two_sides_unless_a_cycle_is_odd(
    edges: list[tuple[int, int, int]], expected: list[int]
) -> None:
    n = len(expected)
    given = pairs(edges, [1] * n)
    if len(edges) == 5:  # 2 and 3 are neighbours and so are their neighbours: odd
        expected = [BOTH] * n
    graph = neighbours(given.first, given.second, np.zeros(len(edges), np.bool_), n)
    assert sides(graph, n).tolist() == expected


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
