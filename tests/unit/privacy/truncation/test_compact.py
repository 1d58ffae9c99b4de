import dataclasses
import time

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.join_tuples import CompactJoinTuples, JoinTuples, OwnerColumn
from privacy.truncation.compact import compact
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.instances import as_sets, from_sets, join_tuples, owner


def test_equal_sets_merge_and_duplicate_owners_collapse() -> None:
    columns = [owner("n", [1, 2, 2, 1]), owner("n", [2, 1, 2, 1])]
    assert as_sets(compact(join_tuples(columns, [1, 10, 100, 1000]))) == [
        (0, frozenset({0}), (1000,)),
        (0, frozenset({0, 1}), (11,)),
        (0, frozenset({1}), (100,)),
    ]


def test_a_unit_in_two_positions_owns_the_tuple_once() -> None:
    columns = [owner("n", [7, 7]), owner("n", [7, 8]), owner("n", [9, 7])]
    compacted = compact(join_tuples(columns, [1, 2]))
    assert compacted.indptr.tolist() == [0, 2, 4]
    assert compacted.units.tolist() == [0, 1, 0, 2]


def test_groups_stay_apart_and_releases_merge_alike() -> None:
    columns = [owner("n", [5, 5, 5, 6])]
    compacted = compact(join_tuples(columns, [[1, 2, 4, 8], [3, 5, 7, 9]], [1, 0, 1, 0], 2))
    assert as_sets(compacted) == [
        (0, frozenset({0}), (2, 5)),
        (0, frozenset({1}), (8, 9)),
        (1, frozenset({0}), (5, 10)),
    ]
    assert (compacted.n_units, compacted.n_groups) == (2, 2)


def test_tuples_without_owner_or_group_are_dropped_and_their_units_with_them() -> None:
    columns = [owner("n", [None, 3, 9, 1]), owner("m", [None, None, 4, 4])]
    compacted = compact(join_tuples(columns, [1, 2, 4, 8], [0, 0, -1, 0]))
    assert as_sets(compacted) == [(0, frozenset({0, 2}), (8,)), (0, frozenset({1}), (2,))]
    assert compacted.n_units == 3


def test_zero_weights_stay_and_sums_saturate() -> None:
    compacted = compact(from_sets([(frozenset({1}), MAX_UNITS), (frozenset({1}), 5), (frozenset({2}), 0)]))
    assert compacted.weights.tolist() == [[MAX_UNITS, 0]]


def test_no_tuples_at_all() -> None:
    compacted = compact(join_tuples([owner("n", [], np.int64)], np.zeros((2, 0))))
    assert (compacted.n_units, compacted.indptr.tolist(), compacted.weights.shape) == (0, [0], (2, 0))
    assert compacted.units.dtype == np.int32


def test_no_owner_position_at_all_drops_everything() -> None:
    assert as_sets(compact(join_tuples([], [1, 2]))) == []


def test_wide_keys_that_do_not_fit_one_integer_sort_the_same() -> None:
    m, positions = 300, 9
    table = np.random.default_rng(3).integers(0, 200, (m, positions))
    columns = [owner(f"r{i}", table[:, i].tolist()) for i in range(positions)]
    weights = np.arange(m)
    twice = [OwnerColumn(c.relation, np.tile(c.keys, 2), np.tile(c.missing, 2)) for c in columns]
    compacted = compact(join_tuples(twice, np.tile(weights, 2)))
    rows = [tuple(compacted.units[i : i + positions].tolist()) for i in compacted.indptr[:-1]]
    assert rows == sorted(set(rows))
    assert sorted(compacted.weights[0].tolist()) == (2 * weights).tolist()


def _shuffled(tuples: JoinTuples, order: NDArray[np.int64]) -> JoinTuples:
    owners = tuple(OwnerColumn(o.relation, o.keys[order], o.missing[order]) for o in tuples.owners)
    return JoinTuples(owners, tuples.group[order], tuples.n_groups, tuples.weights[:, order])


def test_the_order_of_rows_does_not_matter() -> None:
    random = np.random.default_rng(0)
    columns = [owner("n", random.integers(0, 9, 200).tolist()), owner("n", random.integers(0, 9, 200).tolist())]
    tuples = join_tuples(columns, random.integers(0, ONE, (2, 200)), random.integers(-1, 3, 200).tolist(), 3)
    first, second = compact(tuples), compact(_shuffled(tuples, random.permutation(200)))
    for field in dataclasses.fields(CompactJoinTuples):
        assert np.array_equal(getattr(first, field.name), getattr(second, field.name))


@pytest.mark.parametrize(
    "change",
    [
        {"weights": np.array([[1, -1]])},
        {"weights": np.array([[1, MAX_UNITS + 1]])},
        {"weights": np.array([[1.0, 2.0]])},
        {"weights": np.array([[1, 2, 3]])},
        {"weights": np.array([1, 2])},
        {"group": np.array([0, 1])},
        {"group": np.array([0, -2])},
        {"group": np.array([0.0, 0.0])},
        {"n_groups": 0},
    ],
)
def test_what_the_backend_must_never_return_is_refused(change: dict[str, object]) -> None:
    tuples = join_tuples([owner("n", [1, 2])], [1, 2])
    with pytest.raises(InvalidParameter):
        compact(dataclasses.replace(tuples, **change))  # type: ignore[arg-type]


def test_a_private_table_shows_nothing_of_itself() -> None:
    compacted = compact(join_tuples([owner("n", [424242])], [7]))
    assert "424242" not in repr(compacted)


@pytest.mark.timed
def test_six_hundred_thousand_rows_take_a_moment() -> None:
    random = np.random.default_rng(1)
    m = 600_000
    columns = [
        OwnerColumn("c", random.integers(0, 150_000, m), np.zeros(m, bool)),
        OwnerColumn("s", random.integers(0, 10_000, m), np.zeros(m, bool)),
    ]
    tuples = join_tuples(columns, np.ones((1, m)))
    start = time.perf_counter()
    compacted = compact(tuples)
    assert time.perf_counter() - start < 3.0  # 0.3 s on an idle core
    assert int(compacted.weights.sum()) == m
