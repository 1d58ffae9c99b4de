import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.truncation.truncate_distinct import truncate_distinct
from privacy.units import ONE
from tests.unit.privacy.truncation.distinct.distinct_instances import Pair, distinct_tuples, projection_optimum

GAP = 0.01


def _single(pairs: list[tuple[int, int]]) -> list[Pair]:
    return [(frozenset({unit}), value) for unit, value in pairs]


def _crowd(people: int, values: int) -> list[Pair]:
    return _single([(unit, unit % values) for unit in range(people)])


def test_a_value_of_many_people_needs_little_of_each() -> None:
    answer = truncate_distinct(distinct_tuples(_crowd(64, 4)), Ladder(-6, 1), 0.0)
    assert [answer.solve(0, j) / ONE for j in range(8)] == [1.0, 2.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0]


def test_one_unit_counts_at_most_tau_values() -> None:
    answer = truncate_distinct(distinct_tuples(_single([(0, value) for value in range(100)])), Ladder(-2, 8), 0.0)
    assert [answer.solve(0, j) / ONE for j in range(11)] == [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 100, 100]


def test_removing_a_supplier_removes_many_customers_but_at_most_tau_count() -> None:
    bought = [(frozenset({customer, 1000}), customer) for customer in range(50)]
    others = [(frozenset({customer, 1001}), customer) for customer in range(50, 60)]
    ladder = Ladder(0, 6)
    full, without = (truncate_distinct(distinct_tuples(pairs), ladder, GAP) for pairs in (bought + others, others))
    moves = [(full.solve(0, j) - without.solve(0, j)) / ONE for j in range(len(ladder))]
    assert moves[-1] == 50
    for j, tau in enumerate(ladder.taus.tolist()):
        assert moves[j] <= (1 + GAP) * tau


def test_where_one_unit_reaches_one_value_the_count_is_plain_and_nothing_is_solved() -> None:
    random = np.random.default_rng(4)
    nations = random.integers(0, 30, 3000)
    pairs = [
        (frozenset({int(n) + 30 * int(a), 10_000 + int(n) + 30 * int(b)}), int(n))
        for n, a, b in zip(nations, *random.integers(0, 40, (2, 3000)), strict=True)
    ]
    low, high = truncate_distinct(distinct_tuples(pairs), Ladder(0, 0), GAP).bounds()
    assert low.tolist() == high.tolist() == [[30 * ONE]]


def test_a_half_of_each_of_three_values_around_a_triangle() -> None:
    pairs = [(frozenset({i, (i + 1) % 3}), i) for i in range(3)]
    answer = truncate_distinct(distinct_tuples(pairs), Ladder(0, 1), GAP)
    assert 1.5 - GAP <= answer.solve(0, 0) / ONE <= 1.5
    assert answer.solve(0, 1) == 3 * ONE


@pytest.mark.parametrize("owners", [1, 2, 3])
def test_thousands_of_tuples_agree_with_the_programs_neighbours(owners: int) -> None:
    """Concave, never above what the values or the units allow; solved cells lie in the bounds of the start."""
    random = np.random.default_rng(owners)
    pairs = [
        (frozenset(int(o) + 1000 * i for i, o in enumerate(random.integers(0, 300, owners))), int(value))
        for value in random.integers(0, 400, 4000 if owners == 1 else 1500)
    ]
    ladder = Ladder()
    answer = truncate_distinct(distinct_tuples(pairs), ladder, 0.0 if owners == 1 else GAP)
    low, high = (bound.copy()[0] for bound in answer.bounds())
    values = np.array([answer.solve(0, j) for j in range(len(ladder))])
    assert np.all((low <= values) & (values <= high))
    assert values[-1] == len({value for _, value in pairs}) * ONE
    slack = (0.0 if owners == 1 else GAP) * ladder.units
    assert np.all(np.diff(values) >= -slack[1:])
    assert np.all(values[1:] <= 2 * (values + slack)[:-1])


def test_a_value_far_below_one_is_as_exact_as_any() -> None:
    random = np.random.default_rng(3)
    pairs = [(frozenset({int(a), 100 + int(b)}), int(v)) for a, b, v in random.integers(0, 25, (200, 3))]
    ladder = Ladder(-20, -3)
    answer = truncate_distinct(distinct_tuples(pairs), ladder, GAP)
    for j, tau in enumerate(ladder.units.tolist()):
        exact = projection_optimum(pairs, tau)
        assert exact - GAP * tau - 1e-5 * tau <= answer.solve(0, j) <= exact + 1e-5 * tau


def test_an_exact_count_of_tuples_with_two_owners_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        truncate_distinct(distinct_tuples([(frozenset({1, 2}), 0)]), Ladder(), 0.0)


def test_nothing_to_count() -> None:
    for pairs in ([], [(frozenset[int](), 3)], _single([(1, -1)])):
        answer = truncate_distinct(distinct_tuples(pairs), Ladder(), 0.0)
        assert np.all(answer.bounds()[1] == 0)
        assert answer.solve(0, 30) == 0
