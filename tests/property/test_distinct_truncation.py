"""A truncated count of distinct values is R2T's projection program, and one unit moves it by at most tau."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privacy.thresholds import Thresholds
from privacy.truncation.distinct import distinct_bounds, distinct_instance
from privacy.truncation.truncate import truncate_distinct
from privacy.units import ONE
from tests.unit.privacy.truncation.distinct_instances import WORTH, Pair, distinct_tuples, projection_optimum

GAP = 0.05
THRESHOLDS = Thresholds(-4, 4)
OTHER = Thresholds(THRESHOLDS.low, THRESHOLDS.high, Fraction(12, 7))
"""As many thresholds, of which none is twice another."""

worths = st.sampled_from([None, WORTH])

CELLS = range(len(THRESHOLDS))
NEW_UNIT = 999

values = st.integers(-1, 6)
single = st.lists(st.tuples(st.integers(0, 6).map(lambda unit: frozenset({unit})), values), max_size=30)
several = st.lists(st.tuples(st.frozensets(st.integers(0, 6), max_size=3), values), min_size=1, max_size=25)


@given(several, st.permutations(CELLS), st.sampled_from([THRESHOLDS, OTHER]), worths)
def test_values_are_the_projection_program_within_the_gap_and_the_bounds(
    pairs: list[Pair], order: list[int], thresholds: Thresholds, worth: Sequence[int] | None
) -> None:
    tuples = distinct_tuples(pairs, worth=worth)
    answer = truncate_distinct(tuples, thresholds, GAP)
    fresh = [truncate_distinct(tuples, thresholds, GAP).solve(0, j) for j in CELLS]
    for j in order:
        low, high = answer.bounds()
        assert np.all((low[0] <= fresh) & (fresh <= high[0]))
        assert answer.solve(0, j) == fresh[j]
        tau = int(thresholds.units[j])
        exact = projection_optimum(pairs, tau, worth)
        assert exact - GAP * tau - 1e-5 * tau <= fresh[j] <= exact + 1e-5 * tau


@given(single, worths)
def test_with_one_owner_the_flow_is_the_projection_program_exactly(
    pairs: list[Pair], worth: Sequence[int] | None
) -> None:
    answer = truncate_distinct(distinct_tuples(pairs, worth=worth), THRESHOLDS, 0.0)
    for j, tau in enumerate(THRESHOLDS.units.tolist()):
        value = answer.solve(0, j)
        assert abs(value - projection_optimum(pairs, tau, worth)) <= 1e-5 * tau
        assert worth is not None or value % min(tau, ONE) == 0


@given(st.one_of(single, several), st.sampled_from([THRESHOLDS, OTHER]), worths)
def test_bounds_contain_the_projection_program(
    pairs: list[Pair], thresholds: Thresholds, worth: Sequence[int] | None
) -> None:
    start = distinct_bounds(distinct_instance(distinct_tuples(pairs, worth=worth), thresholds))
    exact = [projection_optimum(pairs, tau, worth) for tau in thresholds.units.tolist()]
    for j, tau in enumerate(thresholds.units.tolist()):
        assert start.lower[0, j] - 1e-5 * tau <= exact[j] <= start.upper[0, j] + 1e-5 * tau
    for j in range(int(start.linear[0])):
        assert abs(2 * exact[j] - exact[j + 1]) <= 1e-5 * int(thresholds.units[j])


@given(several, several, st.sampled_from([0, 1, NEW_UNIT]), worths)
def test_one_unit_moves_a_certified_value_by_at_most_one_plus_the_gap(
    table: list[Pair], added: list[Pair], unit: int, worth: Sequence[int] | None
) -> None:
    more = table + [(owners | {unit}, value) for owners, value in added]
    small = truncate_distinct(distinct_tuples(table, worth=worth), THRESHOLDS, GAP)
    large = truncate_distinct(distinct_tuples(more, worth=worth), THRESHOLDS, GAP)
    for j, tau in enumerate(THRESHOLDS.units.tolist()):
        assert abs(large.solve(0, j) - small.solve(0, j)) <= (1 + GAP) * tau


@given(single, single, st.integers(0, 7), worths)
def test_one_unit_moves_an_exact_value_by_at_most_the_threshold(
    table: list[Pair], added: list[Pair], unit: int, worth: Sequence[int] | None
) -> None:
    more = table + [(frozenset({unit}), value) for _, value in added]
    small = truncate_distinct(distinct_tuples(table, worth=worth), THRESHOLDS, 0.0)
    large = truncate_distinct(distinct_tuples(more, worth=worth), THRESHOLDS, 0.0)
    reached = len({value for owners, value in more if owners == {unit} and value >= 0})
    for j, tau in enumerate(THRESHOLDS.units.tolist()):
        assert 0 <= large.solve(0, j) - small.solve(0, j) <= min(tau, reached * ONE)


@given(st.lists(st.tuples(st.frozensets(st.integers(0, 20), min_size=1, max_size=3), st.just(0)), max_size=25))
def test_where_every_owner_determines_the_value_nothing_is_cut_at_one(pairs: list[Pair]) -> None:
    determined = [(frozenset(unit - unit % 4 + value for value in range(2)), unit % 4) for unit in range(8)]
    table = [(frozenset(unit // 4 * 4 + min(owners) % 4 for unit in owners), min(owners) % 4) for owners, _ in pairs]
    for rows in (determined, table):
        reached: dict[int, set[int]] = {}
        for owners, value in rows:
            for unit in owners:
                reached.setdefault(unit, set()).add(value)
        if all(len(found) == 1 for found in reached.values()):
            answer = truncate_distinct(distinct_tuples(rows), Thresholds(0, 0), GAP)
            assert answer.solve(0, 0) == len({value for _, value in rows}) * ONE


@given(several, st.randoms(use_true_random=False), worths)
def test_neither_order_nor_repetition_changes_a_value(
    pairs: list[Pair], random: object, worth: Sequence[int] | None
) -> None:
    shuffled = pairs + pairs[:5]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first = truncate_distinct(distinct_tuples(pairs, worth=worth), THRESHOLDS, GAP)
    second = truncate_distinct(distinct_tuples(shuffled, worth=worth), THRESHOLDS, GAP)
    assert [first.solve(0, j) for j in CELLS] == [second.solve(0, j) for j in CELLS]


@given(single, single, st.permutations(CELLS))
def test_groups_do_not_see_each_other(first: list[Pair], second: list[Pair], order: list[int]) -> None:
    group = [0] * len(first) + [1] * len(second)
    both = truncate_distinct(distinct_tuples(first + second, group, 2), THRESHOLDS, 0.0)
    alone = [truncate_distinct(distinct_tuples(pairs), THRESHOLDS, 0.0) for pairs in (first, second)]
    for j in order:
        for g in (0, 1):
            assert both.solve(g, j) == alone[g].solve(0, j)
