import dataclasses

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples, JoinTuples, OwnerColumn
from privacy.ladder import Ladder
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.instances import join_tuples, owner


def _rows(coded: CodedJoinTuples) -> list[tuple[list[int], list[int]]]:
    """Owners and weights of every tuple, in their order."""
    return [
        ([u for u in coded.members[:, t].tolist() if u >= 0], coded.weights[:, t].tolist())
        for t in range(coded.members.shape[1])
    ]


def test_owners_are_the_union_over_the_positions() -> None:
    columns = [owner("n", [7, None, 9, 8, None]), owner("n", [8, 8, 9, None, None]), owner("n", [7, 9, 9, 8, None])]
    coded = encode(join_tuples(columns, [1, 2, 3, 4, 5]))
    assert _rows(coded) == [([0, 1], [1]), ([1, 2], [2]), ([2], [3]), ([1], [4])]
    assert coded.owners == (1, 2)
    assert coded.row_start.tolist() == [0, 4]


def test_equal_keys_of_two_relations_are_two_units() -> None:
    assert _rows(encode(join_tuples([owner("a", [5, 6]), owner("b", [5, 5])], [1, 2]))) == [
        ([0, 2], [1]),
        ([1, 2], [2]),
    ]


def test_tuples_lie_by_group_and_a_unit_in_two_groups_is_two_members() -> None:
    columns = [owner("n", [5, 6, 5, 7, 6]), owner("n", [6, None, 7, None, 5])]
    coded = encode(join_tuples(columns, [[1, 2, 3, 4, 5], [6, 7, 8, 9, 0]], [2, 0, -1, 2, 0], 4))
    assert coded.row_start.tolist() == [0, 2, 2, 4, 4]
    assert coded.member_start.tolist() == [0, 2, 2, 5, 5]
    assert _rows(coded) == [([1], [2, 7]), ([1, 0], [5, 0]), ([2, 3], [1, 6]), ([4], [4, 9])]
    assert coded.units.tolist() == [0, 1, 0, 1, 2]
    assert coded.n_groups == 4


def test_every_member_of_many_groups_knows_its_unit() -> None:
    keys = [key for start in range(40) for key in (start % 3, start % 5)]
    groups = [group for group in range(40) for _ in range(2)]
    coded = encode(join_tuples([owner("n", keys)], [1] * 80, groups, 40))
    assert [coded.units[u] for u in coded.members[0]] == keys


def test_weights_are_copied_only_when_a_tuple_is_dropped_or_moved() -> None:
    clean = join_tuples([owner("n", [5, 6])], [1, 2], [0, 1], 2)
    assert encode(clean).weights is clean.weights
    swapped = dataclasses.replace(clean, group=clean.group[::-1])
    assert encode(swapped).weights.tolist() == [[2, 1]]
    assert clean.weights.tolist() == [[1, 2]]


@pytest.mark.parametrize("n_groups", [1, 3])
def test_nothing_is_left_of_tuples_without_owners(n_groups: int) -> None:
    for columns in ([], [owner("n", [None, None], np.int64)]):
        coded = encode(join_tuples(columns, [1, 2], [0, 0], n_groups))
        assert (_rows(coded), coded.owners) == ([], (1, 1))
        assert not truncate(coded, 0, Ladder(0, 2), 0.0).bounds()[0].any()
        assert not truncate(coded, 0, Ladder(0, 2), 0.01).bounds()[1].any()


@pytest.mark.parametrize("step", [1, 3, 10**6, 10**15])
def test_units_are_numbered_in_the_order_of_their_keys(step: int) -> None:
    keys = np.random.default_rng(step).integers(-50, 50, (3, 400))
    columns = [OwnerColumn("n", column * step, np.zeros(400, bool)) for column in keys]
    members = encode(join_tuples(columns, np.ones(400))).members
    for row, drawn in zip(members.T.tolist(), keys.T.tolist(), strict=True):
        assert len(set(drawn)) == len([u for u in row if u >= 0])
    full = np.all(members >= 0, axis=0)
    assert np.array_equal(
        np.argsort(members[:, full].ravel(), kind="stable"), np.argsort(keys[:, full].ravel(), kind="stable")
    )


def test_tables_that_cannot_be_written_to_stay_as_they_are() -> None:
    tuples = join_tuples([owner("n", [5, 5, None]), owner("n", [6, 5, 6])], [ONE, ONE, ONE], [1, 0, -1], 2)
    for array in (tuples.group, tuples.weights, *(column.keys for column in tuples.owners)):
        array.flags.writeable = False
    values = truncate(encode(tuples), 0, Ladder(0, 1), 0.0)
    assert [values.solve(group, 0) for group in (0, 1)] == [ONE, ONE]


@pytest.mark.parametrize(
    "change",
    [
        {"weights": np.array([[1, -1]])},
        {"weights": np.array([[1, MAX_UNITS + 1]])},
        {"weights": np.array([[1.0, 2.0]])},
        {"weights": np.array([[1, 2, 3]])},
        {"group": np.array([0, 1])},
        {"group": np.array([0, -2])},
        {"group": np.array([0.0, 0.0])},
        {"n_groups": 0},
        {"owners": (owner("n", [1, 2, 3]),)},
    ],
)
def test_what_the_backend_must_never_return_is_refused(change: dict[str, object]) -> None:
    tuples = join_tuples([owner("n", [1, 2])], [1, 2])
    with pytest.raises(InvalidParameter):
        encode(dataclasses.replace(tuples, **change))  # type: ignore[arg-type]


def test_a_hundred_thousand_groups_need_no_table_of_groups_by_units() -> None:
    m = 300_000
    random = np.random.default_rng(0)
    column = OwnerColumn("n", random.integers(0, 50_000, m), np.zeros(m, bool))
    group = random.integers(0, 100_000, m)
    coded = encode(JoinTuples((column,), group, 100_000, np.full((1, m), ONE)))
    assert np.array_equal(np.diff(coded.row_start), np.bincount(group, minlength=100_000))
    pairs = np.unique(np.stack([group, column.keys]), axis=1)[0]
    assert np.array_equal(np.diff(coded.member_start), np.bincount(pairs, minlength=100_000))


def test_a_private_table_shows_nothing_of_itself() -> None:
    assert repr(encode(join_tuples([owner("n", [424242])], [7]))) == "CodedJoinTuples(releases=1, <private>)"
