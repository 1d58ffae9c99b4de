"""Rows of owners as codes: in order of groups, and compacted."""

from __future__ import annotations

import dataclasses
import time
import uuid
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.join_tuples import CodedJoinTuples, CompactJoinTuples, JoinTuples, OwnerColumn
from privacy.thresholds import Thresholds
from privacy.truncation.codes import NO_OWNER, KeyFormat, owner_codes, radix_sort, row_type
from privacy.truncation.encode import compact, encode
from privacy.truncation.truncate import truncate
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.refusals import refuses, refuses_each
from tests.unit.privacy.truncation.instances import as_sets, from_sets, join_tuples, owner


def _rows(coded: CodedJoinTuples) -> list[tuple[list[int], list[int]]]:
    """Owners and weights of every tuple, in their order."""
    return [
        ([u for u in coded.members[:, t].tolist() if u >= 0], coded.weights[:, t].tolist())
        for t in range(coded.members.shape[1])
    ]


def test_owners_are_the_union_over_the_positions_and_equal_keys_of_two_relations_are_two_units() -> None:
    columns = [owner("n", [7, None, 9, 8, None]), owner("n", [8, 8, 9, None, None]), owner("n", [7, 9, 9, 8, None])]
    coded = encode(join_tuples(columns, [1, 2, 3, 4, 5]))
    assert _rows(coded) == [([0, 1], [1]), ([1, 2], [2]), ([2], [3]), ([1], [4])]
    assert coded.owners == (1, 2)
    assert coded.row_start.tolist() == [0, 4]
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
    # weights are copied only when a tuple is dropped or moved
    clean = join_tuples([owner("n", [5, 6])], [1, 2], [0, 1], 2)
    assert encode(clean).weights is clean.weights
    swapped = dataclasses.replace(clean, group=clean.group[::-1])
    assert encode(swapped).weights.tolist() == [[2, 1]]
    assert clean.weights.tolist() == [[1, 2]]


def test_nothing_is_left_of_tuples_without_owners() -> None:
    for n_groups in [1, 3]:
        for columns in ([], [owner("n", [None, None], np.int64)]):
            coded = encode(join_tuples(columns, [1, 2], [0, 0], n_groups))
            assert (_rows(coded), coded.owners) == ([], (1, 1)), n_groups
            assert not truncate(coded, 0, Thresholds(0, 2), 0.0).bounds()[0].any(), n_groups
            assert not truncate(coded, 0, Thresholds(0, 2), 0.01).bounds()[1].any(), n_groups


def test_units_are_numbered_in_the_order_of_their_keys() -> None:
    for step in [1, 3, 10**6, 10**15]:
        keys = np.random.default_rng(step).integers(-50, 50, (3, 400))
        columns = [OwnerColumn("n", column * step, np.zeros(400, bool)) for column in keys]
        members = encode(join_tuples(columns, np.ones(400))).members
        for row, drawn in zip(members.T.tolist(), keys.T.tolist(), strict=True):
            assert len(set(drawn)) == len([u for u in row if u >= 0]), step
        full = np.all(members >= 0, axis=0)
        assert np.array_equal(
            np.argsort(members[:, full].ravel(), kind="stable"), np.argsort(keys[:, full].ravel(), kind="stable")
        ), step


def test_tables_that_cannot_be_written_to_stay_as_they_are() -> None:
    tuples = join_tuples([owner("n", [5, 5, None]), owner("n", [6, 5, 6])], [ONE, ONE, ONE], [1, 0, -1], 2)
    for array in (tuples.group, tuples.weights, *(column.keys for column in tuples.owners)):
        array.flags.writeable = False
    values = truncate(encode(tuples), 0, Thresholds(0, 1), 0.0)
    assert [values.solve(group, 0) for group in (0, 1)] == [ONE, ONE]


def _taken(take: Callable[[JoinTuples], object], **change: Any) -> object:
    return take(dataclasses.replace(join_tuples([owner("n", [1, 2])], [1, 2]), **change))


def test_what_the_backend_must_never_return_is_refused() -> None:
    tables: list[list[Any]] = [[[1, -1]], [[1, MAX_UNITS + 1]], [[1.0, 2.0]], [[1, 2, 3]], [1, 2]]
    groups: list[list[float]] = [[0, 1], [0, -2], [0.0, 0.0]]
    for take in (encode, compact):
        refuses(partial(_taken, take), weights=[*map(np.array, tables)], group=[*map(np.array, groups)], n_groups=[0])
    refuses(partial(_taken, encode), owners=[(owner("n", [1, 2, 3]),)])


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
    assert repr(encode(join_tuples([owner("n", [424242])], [7]))) == "CodedJoinTuples(<private>)"
    # equal sets merge and duplicate owners collapse
    columns = [owner("n", [1, 2, 2, 1]), owner("n", [2, 1, 2, 1])]
    assert as_sets(compact(join_tuples(columns, [1, 10, 100, 1000]))) == [
        (0, frozenset({0}), (1000,)),
        (0, frozenset({0, 1}), (11,)),
        (0, frozenset({1}), (100,)),
    ]


def test_groups_stay_apart_and_releases_merge_alike() -> None:
    keys = [owner("n", [5, 5, 5, 6])]
    found = compact(join_tuples(keys, [[1, 2, 4, 8], [3, 5, 7, 9]], [1, 0, 1, 0], 2))
    assert as_sets(found)[:2] == [(0, frozenset({0}), (2, 5)), (0, frozenset({1}), (8, 9))]
    assert as_sets(found)[2:] == [(1, frozenset({0}), (5, 10))]
    assert (found.n_units, found.n_groups) == (2, 2)
    twice = compact(join_tuples([owner("n", [7, 7]), owner("n", [7, 8]), owner("n", [9, 7])], [1, 2]))
    assert (twice.indptr.tolist(), twice.units.tolist()) == ([0, 2, 4], [0, 1, 0, 2]), "once in two positions"


def test_tuples_without_owner_or_group_are_dropped_zero_weights_stay_and_sums_saturate() -> None:
    columns = [owner("n", [None, 3, 9, 1]), owner("m", [None, None, 4, 4])]
    dropped = compact(join_tuples(columns, [1, 2, 4, 8], [0, 0, -1, 0]))
    assert as_sets(dropped) == [(0, frozenset({0, 2}), (8,)), (0, frozenset({1}), (2,))]
    assert dropped.n_units == 3
    large = compact(from_sets([(frozenset({1}), MAX_UNITS), (frozenset({1}), 5), (frozenset({2}), 0)]))
    assert large.weights.tolist() == [[MAX_UNITS, 0]]
    nothing = compact(join_tuples([owner("n", [], np.int64)], np.zeros((2, 0))))
    assert (nothing.n_units, nothing.indptr.tolist(), nothing.weights.shape) == (0, [0], (2, 0))
    assert nothing.units.dtype == np.int32
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


@pytest.mark.slow
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


def test_codes_are_ranks_for_every_type_of_key() -> None:
    cases: list[tuple[list[Any], Any]] = [
        ([30, 10, 20, 10], np.int64),
        ([30, 10, 20, 10], np.int8),
        ([-120, -128, 127, -128], np.int8),
        ([2**63 - 1, -(2**63), 5, -(2**63)], np.int64),
        ([2**64 - 1, 2**64 - 9, 2**64 - 3, 2**64 - 9], np.uint64),
        ([3 * 10**12, 10, 10**12, 10], np.int64),
        ([True, False, True, False], None),
        (["c", "a", "b", "a"], None),
        (["c", "a", "b", "a"], object),
        ([b"c", b"a", b"b", b"a"], None),
        ([Decimal("3.5"), Decimal("1"), Decimal("2"), Decimal("1.0")], object),
        ([uuid.UUID(int=7), uuid.UUID(int=1), uuid.UUID(int=3), uuid.UUID(int=1)], object),
        ([2.5, -1.0, 0.0, -1.0], np.float64),
        (["2024-03-01", "2024-01-01", "2024-02-01", "2024-01-01"], "datetime64[D]"),
    ]
    for keys, dtype in cases:
        codes, n_units = owner_codes([owner("p", keys, dtype)], 4)
        ordered = sorted(set(keys))
        assert codes[0].tolist() == [ordered.index(key) for key in keys], (keys, dtype)
        assert n_units == len(ordered), (keys, dtype)


def test_positions_of_one_relation_share_codes_and_relations_do_not() -> None:
    columns = [owner("node", [7, 8]), owner("shop", [7, 7]), owner("node", [8, 9])]
    codes, n_units = owner_codes(columns, 2)
    assert n_units == 4
    assert codes[0, 1] == codes[2, 0]
    assert not set(codes[1].tolist()) & set(codes[[0, 2]].ravel().tolist())


def test_missing_keys_are_nobody_and_narrow_and_wide_integers_compare_exactly() -> None:
    column = OwnerColumn("p", np.array(["b", None, "a"], object), np.array([False, True, False]))
    assert column.keys.dtype == object
    wide = [owner("p", [1, 2], np.int32), owner("p", [2, 2**40], np.int64)]
    none = [owner("p", [None, None]), owner("q", [1, 1], np.int64)]
    for columns, rows, codes, n_units in (
        ([column], 3, [[1, NO_OWNER, 0]], 2),
        (none, 2, [[NO_OWNER, NO_OWNER], [0, 0]], 1),
        (wide, 2, [[0, 1], [1, 2]], 3),
    ):
        found, units = owner_codes(columns, rows)
        assert (found.tolist(), units) == (codes, n_units)


def test_keys_that_cannot_be_compared_are_refused() -> None:
    refuses_each(
        lambda columns: owner_codes(columns, 2),
        [
            [owner("p", [1, 2], np.int64), owner("p", ["1", "2"])],
            [owner("p", [1, 2], np.int64), owner("p", [1, 2], np.uint64)],
            [owner("p", [1, 2], np.int64), owner("p", [1.0, 2.0])],
            [owner("p", [1, "2"], object)],
            [owner("p", [[1], [2, 3]], object)],
            [owner("p", [1, 2, 3], np.int64)],
        ],
    )


def test_keys_and_rows_are_sorted_stably_as_unsigned_numbers() -> None:
    for bits in [1, 7, 8, 9, 33, 63, 64]:
        random = np.random.default_rng(bits)
        values = random.integers(0, 1 << min(bits, 63), 3000, np.uint64)
        values[::7] = np.uint64((1 << bits) - 1)
        keys, rows = radix_sort(values.view(np.int64).copy(), np.arange(3000, dtype=np.int32), bits)
        order = np.argsort(values, kind="stable")
        assert keys.view(np.uint64).tolist() == values[order].tolist(), bits
        assert rows.tolist() == order.tolist(), bits


def test_sorted_keys_stay_where_they_are_and_nothing_is_sorted() -> None:
    keys = np.array([1, 5, 5, 9])
    assert radix_sort(keys, np.arange(4, dtype=np.int32), 4)[0] is keys
    assert len(radix_sort(np.empty(0, np.int64), np.empty(0, np.int32), 64)[0]) == 0
    # rows take four bytes while these suffice
    assert (row_type(2**31 - 1), row_type(2**31)) == (np.int32, np.int64)
    # a field never crosses a word
    form = KeyFormat(n_groups=5, n_codes=1 << 20, positions=7)
    assert (form.group_bits, form.code_bits) == (3, 21)
    assert form.ends.tolist() == [0, 2, 5, 7]
    assert [form.bits(word) for word in range(3)] == [45, 63, 42]
    assert repr(form) == "KeyFormat(<private>)"
