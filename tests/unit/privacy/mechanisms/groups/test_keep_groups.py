from __future__ import annotations

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.mechanisms.groups.keep_groups import keep_groups
from privacy.truncation.encode import encode
from tests.unit.privacy.truncation.instances import join_tuples, owner


def table(coded: CodedJoinTuples) -> list[tuple[int, int, list[int]]]:
    """(group, unit, weights) of every tuple."""
    group = np.repeat(np.arange(coded.n_groups), np.diff(coded.row_start))
    unit = coded.units[coded.members[0]]
    return list(zip(group.tolist(), unit.tolist(), coded.weights.T.tolist(), strict=True))


def test_a_unit_keeps_the_groups_where_it_weighs_most() -> None:
    coded = encode(join_tuples([owner("u", [7, 7, 7, 8, 7, 8])], [1, 2, 3, 9, 2, 1], [0, 1, 2, 0, 1, 2], 3))
    kept = keep_groups(coded, 2)
    assert table(kept) == [(0, 1, [9]), (1, 0, [2]), (1, 0, [2]), (2, 0, [3]), (2, 1, [1])]
    assert kept.row_start.tolist() == [0, 1, 3, 5]


def test_of_equals_the_first_groups_stay() -> None:
    coded = encode(join_tuples([owner("u", [7] * 4)], [5] * 4, [3, 1, 0, 2], 4))
    assert [group for group, _, _ in table(keep_groups(coded, 2))] == [0, 1]


def test_all_releases_keep_the_same_groups() -> None:
    coded = encode(join_tuples([owner("u", [7, 7])], [[5, 6], [3, 1]], [0, 1], 2))
    assert table(keep_groups(coded, 1)) == [(0, 0, [5, 3])]


def test_nothing_is_left_out_where_the_rule_allows_all() -> None:
    coded = encode(join_tuples([owner("u", [7, 8, 7])], [1, 2, 3], [0, 0, 1], 2))
    assert table(keep_groups(coded, 2)) == table(coded)


def test_refuses_several_owners_and_no_group() -> None:
    pair = encode(join_tuples([owner("u", [7]), owner("u", [8])], [1]))
    with pytest.raises(InvalidParameter, match="one owner"):
        keep_groups(pair, 1)
    with pytest.raises(InvalidParameter, match="at least one group"):
        keep_groups(pair, 0)
