"""Counts of distinct values as programs, and tuples of groups."""

from __future__ import annotations

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.join_tuples import DistinctTuples, OwnerColumn
from privacy.thresholds import Thresholds
from privacy.truncation.distinct import GroupInstance, Segments, distinct_bounds, distinct_instance, group_instance
from privacy.truncation.encode import compact
from privacy.truncation.truncated_answer import StartingBounds
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.distinct_instances import Pair, distinct_tuples, projection_optimum
from tests.unit.privacy.truncation.instances import Tuple, from_sets, owner


def test_groups_add_up_and_empty_ones_are_filled_in() -> None:
    segments = Segments(np.array([1, 1, 3]), 5)
    values = np.array([4, 6, 9])
    assert segments.sums(values).tolist() == [0, 10, 0, 9, 0]
    assert segments.reduced(np.maximum, values, -7).tolist() == [-7, 6, -7, 9, -7]
    # totals of segments stop at the largest weight
    assert Segments(np.array([0, 0, 1]), 2).sums(np.array([MAX_UNITS, MAX_UNITS, 3])).tolist() == [MAX_UNITS, 3]
    # no values at all
    assert Segments(np.empty(0, np.int64), 2).sums(np.empty(0, np.int64)).tolist() == [0, 0]


TUPLES: list[Tuple] = [
    (frozenset({1, 2}), 3 * ONE),
    (frozenset({2}), ONE),
    (frozenset({2, 5}), 5 * ONE),
    (frozenset({1, 5}), 0),
]


def _instance() -> GroupInstance:
    return group_instance(compact(from_sets(TUPLES, [0, 0, 2, 2], 3)), 0)


def test_a_unit_of_two_groups_is_two_members_and_weightless_tuples_are_gone() -> None:
    instance = _instance()
    assert instance.row_group.tolist() == [0, 0, 2]
    assert instance.member_group.tolist() == [0, 0, 2, 2]
    assert (instance.contributions // ONE).tolist() == [3, 4, 5, 5]


def test_totals_and_extremes_of_every_group_and_the_program_of_a_group_holds_its_tuples_only() -> None:
    instance = _instance()
    assert (instance.row_totals(instance.weights) // ONE).tolist() == [4, 0, 5]
    assert (instance.member_max(instance.contributions) // ONE).tolist() == [4, 0, 5]
    program = _instance().program(2, 7)
    assert (program.weights.tolist(), program.caps.tolist()) == ([5 * ONE], [7, 7])
    assert program.incidence.units.tolist() == [0, 1]
    assert len(_instance().program(1, 7).weights) == 0


def test_many_groups_are_ranked_by_sorting() -> None:
    group = [0, 40_000, 99_999, 99_999]
    instance = group_instance(compact(from_sets(TUPLES, group, 100_000)), 0)
    assert instance.member_group.tolist() == [0, 0, 40_000, 99_999, 99_999]
    assert np.flatnonzero(instance.row_totals(instance.weights)).tolist() == [0, 40_000, 99_999]


def _pairs(*pairs: tuple[set[int], int]) -> list[Pair]:
    return [(frozenset(owners), value) for owners, value in pairs]


def test_equal_owners_and_values_merge_and_weigh_one() -> None:
    instance = distinct_instance(distinct_tuples(_pairs(({1, 2}, 5), ({2, 1}, 5), ({1, 2}, 6), ({1}, 5))), THRESHOLDS)
    assert instance.graph.weights.tolist() == [ONE] * 3
    assert int(instance.is_value.sum()) == 2
    assert not instance.single_owner


def test_what_nobody_owns_or_has_no_value_or_no_group_does_not_count() -> None:
    pairs = _pairs((set(), 1), ({1}, -1), ({1}, 2), ({1}, 3))
    instance = distinct_instance(distinct_tuples(pairs, [0, 0, -1, 0]), THRESHOLDS)
    assert instance.graph.weights.tolist() == [ONE]
    assert instance.single_owner


def test_a_value_has_the_cap_one_at_every_threshold() -> None:
    instance = distinct_instance(distinct_tuples(_pairs(({0}, 0), ({1}, 0), ({1}, 1))), THRESHOLDS)
    for tau in (ONE >> 3, ONE, ONE << 5):
        program = instance.program(0, tau)
        assert program.caps.tolist() == [tau, tau, ONE, ONE]
        assert program.weights.tolist() == [min(tau, ONE)] * 3


def test_groups_number_their_values_apart() -> None:
    instance = distinct_instance(distinct_tuples(_pairs(({0}, 0), ({0}, 0), ({1}, 1)), [0, 1, 1], 3), THRESHOLDS)
    assert [len(instance.program(group, ONE).caps) for group in range(3)] == [2, 4, 0]
    assert instance.n_groups == 3


def test_a_value_is_not_a_unit_of_the_same_key() -> None:
    instance = distinct_instance(distinct_tuples(_pairs(({3}, 3), ({4}, 4))), THRESHOLDS)
    assert len(instance.program(0, ONE).caps) == 4


def test_nothing_at_all_and_columns_of_other_lengths_are_refused_and_nothing_private_is_shown() -> None:
    instance = distinct_instance(distinct_tuples([]), THRESHOLDS)
    assert instance.single_owner
    assert instance.program(0, ONE).weights.tolist() == []
    group, value = np.zeros(2, np.int64), np.zeros(2, np.int64)
    with pytest.raises(InvalidParameter):
        distinct_instance(DistinctTuples((owner("unit", [1, 2]),), group, 1, value[:1]), THRESHOLDS)
    with pytest.raises(InvalidParameter):
        distinct_instance(DistinctTuples((owner("unit", [1]),), group, 1, value), THRESHOLDS)
    with pytest.raises(InvalidParameter):
        distinct_instance(DistinctTuples((owner("unit", [1, 2]),), group, 1, value.astype(np.int32)), THRESHOLDS)
    tuples = DistinctTuples((OwnerColumn("unit", np.array([4711]), np.zeros(1, bool)),), *_one_row())
    assert "4711" not in repr(tuples) + repr(distinct_instance(tuples, THRESHOLDS))


def _one_row() -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], int, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    return np.zeros(1, np.int64), 1, np.array([4711])


THRESHOLDS = Thresholds(-4, 4)


def _bounds(pairs: list[Pair], group: list[int] | None = None, n_groups: int = 1) -> StartingBounds:
    return distinct_bounds(distinct_instance(distinct_tuples(pairs, group, n_groups), THRESHOLDS))


def test_linear_as_far_as_no_value_binds_and_flat_from_the_busiest_unit_up() -> None:
    start = _bounds(_pairs(*(({unit}, 0) for unit in range(4)), *(({9}, value) for value in range(1, 4))))
    assert start.linear.tolist() == [2]  # four people reach the first value, so a quarter of each
    assert start.lower[0, :3].tolist() == start.upper[0, :3].tolist() == [5 * ONE >> shift for shift in (4, 3, 2)]
    assert start.lower[0, 6:].tolist() == start.upper[0, 6:].tolist() == [4 * ONE] * 3


def test_two_values_of_one_pair_of_owners() -> None:
    start = _bounds(_pairs(({0, 1}, 0), ({0, 1}, 1)))
    assert start.lower.tolist() == start.upper.tolist()
    assert (start.lower[0] / ONE).tolist() == [0.0625, 0.125, 0.25, 0.5, 1, 2, 2, 2, 2]


def test_groups_side_by_side_and_an_empty_one() -> None:
    first, second = _pairs(({0}, 0), ({0}, 1), ({1}, 1)), _pairs(({0, 1}, 0))
    both = _bounds(first + second, [0, 0, 0, 2], 3)
    for group, alone in ((0, first), (2, second)):
        for j, tau in enumerate(THRESHOLDS.units.tolist()):
            assert both.lower[group, j] <= projection_optimum(alone, tau) * (1 + 1e-6)
            assert both.upper[group, j] >= projection_optimum(alone, tau) * (1 - 1e-6)
    assert not both.upper[1].any()
    assert both.linear[1] == -1


def test_a_random_table_is_bounded_within_a_factor_of_two() -> None:
    random = np.random.default_rng(0)
    start = _bounds([(frozenset({int(a), 50 + int(b)}), int(v)) for a, b, v in random.integers(0, 50, (500, 3))])
    assert np.all(start.lower[0] <= start.upper[0])
    assert np.all(start.upper[0] <= 2 * start.lower[0])
