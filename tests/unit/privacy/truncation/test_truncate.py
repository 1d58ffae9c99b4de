"""From join tuples to truncated answers: of one owner, of several, of distinct values, of nothing."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from privacy.entropy import OpendpEntropy
from privacy.errors import InvalidParameter
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.registry import EachGroup, measurement
from privacy.thresholds import Thresholds
from privacy.truncation.encode import compact, encode
from privacy.truncation.lazy_answer import LazyAnswer
from privacy.truncation.truncate import single_owner, truncate, truncate_distinct
from privacy.truncation.truncated_answer import TabulatedAnswer
from privacy.units import MAX_UNITS, ONE
from tests.support.seeds import examples
from tests.unit.privacy.refusals import refuses_each
from tests.unit.privacy.truncation.distinct_instances import Pair, distinct_tuples, projection_optimum
from tests.unit.privacy.truncation.instances import from_sets, join_tuples, ones, optimum_of, owner


def test_no_gap_means_the_closed_form_and_a_gap_the_programs() -> None:
    alone, shared = encode(from_sets(ones([1], [2]))), encode(from_sets(ones((1, 2), (2, 3))))
    assert isinstance(truncate(alone, 0, Thresholds(0, 2), 0.0), TabulatedAnswer)
    assert isinstance(truncate(shared, 0, Thresholds(0, 2), 0.01), LazyAnswer)
    # each release has its own weights
    tuples = encode(join_tuples([owner("a", [1, 1]), owner("b", [1, 2])], [[ONE, ONE], [0, 3 * ONE]]))
    first, second = (truncate(tuples, release, Thresholds(0, 2), 0.01) for release in (0, 1))
    assert [first.solve(0, j) // ONE for j in range(3)] == [1, 2, 2]
    assert [second.solve(0, j) // ONE for j in range(3)] == [1, 2, 3]
    # an unknown release is refused
    refuses_each(lambda release: truncate(encode(from_sets(ones([1]))), release, Thresholds(), 0.0), [-1, 1])


def test_two_owners_without_a_gap_are_exact_and_rounded_down() -> None:
    triangle = [(frozenset(pair), ONE + 1) for pair in ((1, 2), (2, 3), (3, 1))]
    answer = truncate(encode(from_sets(triangle)), 0, Thresholds(-1, 3), 0.0)
    assert answer.gap == 0
    assert [answer.solve(0, j) for j in range(5)] == [3 * ONE // 4, 3 * ONE // 2, 3 * ONE, 3 * ONE + 3, 3 * ONE + 3]
    odd = [(frozenset(pair), 5) for pair in ((1, 2), (2, 3), (3, 1))]
    low, high = (bound[0, 0] for bound in truncate(encode(from_sets(odd)), 0, Thresholds(-20, -20), 0.0).bounds())
    assert low == high == 15
    # three owners without a gap are refused
    with pytest.raises(InvalidParameter):
        truncate(encode(from_sets(ones((1, 2, 3)))), 0, Thresholds(), 0.0)


THRESHOLDS = Thresholds(-20, 32)


def test_everybody_is_cut_at_the_threshold_as_the_sum_written_out_says() -> None:
    random = np.random.default_rng(5)
    m = 500
    tuples = [
        (frozenset({int(u)}), int(w))
        for u, w in zip(random.integers(0, 40, m), 2 ** random.integers(0, 45, m), strict=True)
    ]
    group = random.integers(0, 7, m).tolist()
    values = single_owner(encode(from_sets(tuples, group, 9)), 0, THRESHOLDS).values
    contributions: dict[tuple[int, int], int] = {}
    for (owners, weight), g in zip(tuples, group, strict=True):
        (u,) = owners
        contributions[g, u] = contributions.get((g, u), 0) + weight
    for j, tau in enumerate(THRESHOLDS.units.tolist()):
        for g in range(9):
            assert values[g, j] == sum(
                min(tau, contribution) for (h, _), contribution in contributions.items() if h == g
            )


def test_totals_saturate_instead_of_wrapping() -> None:
    values = single_owner(encode(from_sets([(frozenset({u}), MAX_UNITS) for u in range(5)])), 0, THRESHOLDS).values
    assert values[0, -1] == values[0, -2] == values[0, -3] == MAX_UNITS
    assert values[0, -4] == 5 * int(THRESHOLDS.units[-4])
    # nothing is worth nothing
    assert not single_owner(encode(from_sets([])), 0, THRESHOLDS).values.any()
    # two owners are refused
    with pytest.raises(InvalidParameter):
        single_owner(encode(from_sets([(frozenset({1, 2}), ONE)])), 0, THRESHOLDS)


def test_many_groups_need_no_dense_table() -> None:
    tuples = [(frozenset({u}), ONE) for u in range(1000)]
    values = single_owner(
        encode(from_sets(tuples, list(range(0, 100_000, 100)), 100_000)), 0, Thresholds(0, 2)
    ).values
    assert values.shape == (100_000, 3)
    assert values.sum() == 3000 * ONE


def test_conditions_that_leave_no_group_leave_an_empty_answer() -> None:
    """Public conditions may rule out every group; tuples outside of the domain may still be there."""
    for owners in [1, 2, 3]:
        for mechanism in ["gem", "r2t", "fixed"]:
            column = OwnerColumn("person", np.arange(3), np.zeros(3, bool))
            tuples = JoinTuples((column,) * owners, np.full(3, -1), 0, np.ones((1, 3), np.int64))
            assert compact(tuples).n_groups == 0, (owners, mechanism)
            made = measurement(mechanism, EachGroup(1.0, gap=0.0 if owners <= 2 else 0.01, global_sensitivity=8.0))
            noisy = made.release(truncate(encode(tuples), 0, made.thresholds, made.gap), OpendpEntropy())
            assert noisy.values.shape == noisy.low.shape == noisy.tau.shape == (0,), (owners, mechanism)


def _random(m: int, owners: int, n_units: int) -> JoinTuples:
    random = np.random.default_rng(owners)
    columns = tuple(OwnerColumn("n", random.integers(0, n_units, m), np.zeros(m, bool)) for _ in range(owners))
    return JoinTuples(columns, np.zeros(m, np.int64), 1, random.integers(0, ONE, (1, m)))


def _answer(tuples: JoinTuples) -> int:
    """Compact, bound, and take the largest core that there is out."""
    thresholds = Thresholds(-4, 16)
    answer = truncate(encode(tuples), 0, thresholds, 0.01 if len(tuples.owners) > 2 else 0.0)
    answer.sharpen(0, len(thresholds) // 2)
    return int(answer.bounds()[0][0, -1])


def test_at_most_sixty_bytes_per_tuple_and_owner() -> None:
    for owners in [1, 2, 3]:
        m = examples(40_000, 200_000)
        _answer(_random(100, owners, 50))  # compiling takes memory of its own
        tuples = _random(m, owners, m // 40)
        tracemalloc.start()
        try:
            _answer(tuples)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak <= 60 * m * owners


@pytest.mark.slow
def test_ten_million_tuples_of_one_owner() -> None:
    m = 10_000_000
    keys = OwnerColumn("n", np.arange(m) % 1_000_003, np.zeros(m, bool))
    tuples = JoinTuples((keys,), np.zeros(m, np.int64), 1, np.full((1, m), ONE))
    assert _answer(tuples) == m * ONE


def test_one_unit_that_owns_everything_units_that_occur_twice_and_nothing() -> None:
    for table in ([], [(frozenset({1, 2}), 0)], [(frozenset({1}), 0), (frozenset({2, 3}), 0)]):
        assert not np.any(truncate(encode(from_sets(table)), 0, Thresholds(), 0.0).bounds()), table
    for weight in [1, ONE]:
        table = [(frozenset({0, i % 3}), weight) for i in range(40)]
        answer = truncate(encode(from_sets(table)), 0, Thresholds(-20, 8), 0.0)
        for j, tau in enumerate(Thresholds(-20, 8).units.tolist()):
            assert answer.solve(0, j) == min(tau, 40 * weight)


def test_weights_from_a_billionth_to_one() -> None:
    random = np.random.default_rng(2)
    sets = [frozenset(pair) for pair in random.integers(0, 12, (60, 2)).tolist()]
    table = [(units, 1 << int(bits)) for units, bits in zip(sets, random.integers(0, 31, 60), strict=True)]
    thresholds = Thresholds(-20, 4)
    answer = truncate(encode(from_sets(table)), 0, thresholds, 0.0)
    for j, tau in enumerate(thresholds.units.tolist()):
        assert abs(answer.solve(0, j) - optimum_of(table, tau)) <= 1 + 1e-6 * tau


GAP = 0.01


def _single(pairs: list[tuple[int, int]]) -> list[Pair]:
    return [(frozenset({unit}), value) for unit, value in pairs]


def test_a_value_of_many_people_needs_little_of_each_and_one_unit_counts_at_most_tau_values() -> None:
    crowd, alone = [(unit, unit % 4) for unit in range(64)], [(0, value) for value in range(100)]
    answer = truncate_distinct(distinct_tuples(_single(crowd)), Thresholds(-6, 1), 0.0)
    assert [answer.solve(0, j) / ONE for j in range(8)] == [1.0, 2.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0]
    answer = truncate_distinct(distinct_tuples(_single(alone)), Thresholds(-2, 8), 0.0)
    assert [answer.solve(0, j) / ONE for j in range(11)] == [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 100, 100]


def test_removing_a_supplier_removes_many_customers_but_at_most_tau_count() -> None:
    bought = [(frozenset({customer, 1000}), customer) for customer in range(50)]
    others = [(frozenset({customer, 1001}), customer) for customer in range(50, 60)]
    thresholds = Thresholds(0, 6)
    full, without = (
        truncate_distinct(distinct_tuples(pairs), thresholds, GAP) for pairs in (bought + others, others)
    )
    moves = [(full.solve(0, j) - without.solve(0, j)) / ONE for j in range(len(thresholds))]
    assert moves[-1] == 50
    for j, tau in enumerate(thresholds.taus.tolist()):
        assert moves[j] <= (1 + GAP) * tau


def test_where_one_unit_reaches_one_value_the_count_is_plain_and_nothing_is_solved() -> None:
    random = np.random.default_rng(4)
    nations = random.integers(0, 30, 3000)
    pairs = [
        (frozenset({int(n) + 30 * int(a), 10_000 + int(n) + 30 * int(b)}), int(n))
        for n, a, b in zip(nations, *random.integers(0, 40, (2, 3000)), strict=True)
    ]
    low, high = truncate_distinct(distinct_tuples(pairs), Thresholds(0, 0), GAP).bounds()
    assert low.tolist() == high.tolist() == [[30 * ONE]]


def test_a_half_of_each_of_three_values_around_a_triangle() -> None:
    pairs = [(frozenset({i, (i + 1) % 3}), i) for i in range(3)]
    answer = truncate_distinct(distinct_tuples(pairs), Thresholds(0, 1), GAP)
    assert 1.5 - GAP <= answer.solve(0, 0) / ONE <= 1.5
    assert answer.solve(0, 1) == 3 * ONE


def test_thousands_of_tuples_agree_with_the_programs_neighbours() -> None:
    """Concave, never above what the values or the units allow; solved cells lie in the bounds of the start."""
    for owners in [1, 2, 3]:
        random = np.random.default_rng(owners)
        pairs = [
            (frozenset(int(o) + 1000 * i for i, o in enumerate(random.integers(0, 300, owners))), int(value))
            for value in random.integers(0, 400, 4000 if owners == 1 else examples(400, 1500))
        ]
        thresholds = Thresholds()
        answer = truncate_distinct(distinct_tuples(pairs), thresholds, 0.0 if owners == 1 else GAP)
        low, high = (bound.copy()[0] for bound in answer.bounds())
        values = np.array([answer.solve(0, j) for j in range(len(thresholds))])
        assert np.all((low <= values) & (values <= high)), owners
        assert values[-1] == len({value for _, value in pairs}) * ONE, owners
        slack = (0.0 if owners == 1 else GAP) * thresholds.units
        assert np.all(np.diff(values) >= -slack[1:]), owners
        assert np.all(values[1:] <= 2 * (values + slack)[:-1]), owners


def test_a_value_far_below_one_is_as_exact_as_any() -> None:
    random = np.random.default_rng(3)
    pairs = [(frozenset({int(a), 100 + int(b)}), int(v)) for a, b, v in random.integers(0, 25, (200, 3))]
    thresholds = Thresholds(-20, -3)
    answer = truncate_distinct(distinct_tuples(pairs), thresholds, GAP)
    for j, tau in enumerate(thresholds.units.tolist()):
        exact = projection_optimum(pairs, tau)
        assert exact - GAP * tau - 1e-5 * tau <= answer.solve(0, j) <= exact + 1e-5 * tau


def test_an_exact_count_of_tuples_with_two_owners_is_refused_and_nothing_to_count() -> None:
    with pytest.raises(InvalidParameter):
        truncate_distinct(distinct_tuples([(frozenset({1, 2}), 0)]), Thresholds(), 0.0)
    for pairs in ([], [(frozenset[int](), 3)], _single([(1, -1)])):
        answer = truncate_distinct(distinct_tuples(pairs), Thresholds(), 0.0)
        assert np.all(answer.bounds()[1] == 0)
        assert answer.solve(0, 30) == 0
