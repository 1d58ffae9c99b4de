from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.errors import TooLarge
from privacy.sampling.join_tree import JoinTree, TreePart


def ints(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def everything(tree: JoinTree) -> list[tuple[int, ...]]:
    rows = tree.rows(np.arange(tree.tuples))
    return list(zip(*(part.tolist() for part in rows), strict=True))


def test_two_parts_that_meet_in_a_column() -> None:
    tree = JoinTree([TreePart(3), TreePart(4, 0, [ints(7, 5, 7, 9)], [ints(7, 8, 5)])])
    assert tree.tuples == 3
    assert sorted(everything(tree)) == [(0, 0), (0, 2), (2, 1)]
    # a row without a partner further down is in no tuple
    chain = [TreePart(2), TreePart(2, 0, [ints(1, 2)], [ints(1, 2)]), TreePart(1, 1, [ints(4)], [ints(3, 4)])]
    assert everything(JoinTree(chain)) == [(1, 1, 0)]
    # a star multiplies its branches
    star = [TreePart(1), TreePart(2, 0, [ints(1, 1)], [ints(1)]), TreePart(3, 0, [ints(1, 1, 1)], [ints(1)])]
    assert sorted(everything(JoinTree(star))) == [(0, left, right) for left in range(2) for right in range(3)]


def test_parts_that_meet_in_nothing_multiply_and_several_columns_meet_together() -> None:
    assert sorted(everything(JoinTree([TreePart(2), TreePart(2, 0)]))) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    own, above = [ints(1, 1, 2), ints(5, 6, 5)], [ints(1, 2), ints(6, 5)]
    assert everything(JoinTree([TreePart(2), TreePart(3, 0, own, above)])) == [(0, 1), (1, 2)]
    # no rows are no tuples
    for sizes in [(0, 3), (3, 0), (0, 0)]:
        first, second = sizes
        tree = JoinTree(
            [TreePart(first), TreePart(second, 0, [np.zeros(second, np.int64)], [np.zeros(first, np.int64)])]
        )
        assert tree.tuples == 0, sizes
        assert everything(tree) == [], sizes


def test_extreme_keys_are_keys() -> None:
    edge = np.iinfo(np.int64)
    tree = JoinTree([TreePart(2), TreePart(2, 0, [ints(edge.max, edge.min)], [ints(edge.min, edge.max)])])
    assert everything(tree) == [(0, 1), (1, 0)]
    for one, other in ((edge.max, edge.min), (edge.min, edge.max)):  # close together, and the others far away
        close = JoinTree([TreePart(3), TreePart(2, 0, [ints(one, one)], [ints(one, other, 0)])])
        assert sorted(everything(close)) == [(0, 0), (0, 1)]


def test_a_trillion_tuples_are_numbered_and_too_many_are_refused() -> None:
    ones = np.zeros(10**4, np.int64)
    star = [TreePart(10**4), *(TreePart(10**4, 0, [ones], [ones]) for _ in range(2))]
    tree = JoinTree(star)
    assert tree.tuples == 10**12
    assert [rows.tolist() for rows in tree.rows(ints(0, 10**12 - 1))] == [[0, 9_999]] * 3
    with pytest.raises(TooLarge):
        JoinTree([*star, *(TreePart(10**4, 0, [ones], [ones]) for _ in range(2))])
    # nothing of the rows is shown
    assert "<private>" in repr(TreePart(3))
