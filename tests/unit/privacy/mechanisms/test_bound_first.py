"""How a budget is divided, which groups of a unit stay, and bounds that are tried first."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.accounting.event import PureDP
from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples
from privacy.mechanisms.bound_first import BoundFirst, BoundTest, bound_test, bound_thresholds
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.partition_selection import keep_groups
from privacy.mechanisms.sums import allocate
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.truncate import TuplesOfSum, positive_in_groups
from privacy.units import MAX_UNITS, ONE
from tests.support.replay_entropy import ConstantEntropy
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.refusals import refuses, refuses_calls
from tests.unit.privacy.truncation.instances import join_tuples, owner

PURE, CONCENTRATED = PureBudget(2.0), ConcentratedBudget(0.5, 1e-6)


def test_one_release_has_everything() -> None:
    assert allocate(PURE, [7.0]) == (PURE,)
    assert allocate(CONCENTRATED, [7.0]) == (CONCENTRATED,)
    # equal needs have equal shares that never exceed the whole
    pure, concentrated = allocate(PURE, [3.0] * 7), allocate(CONCENTRATED, [3.0] * 7)
    assert len({share.epsilon for share in pure}) == 1
    assert 2.0 * (1 - 1e-9) < sum(share.epsilon for share in pure) <= 2.0
    rhos = [share.rho for share in concentrated if isinstance(share, ConcentratedBudget)]
    assert 0.5 * (1 - 1e-9) < sum(rhos) <= 0.5
    assert {share.delta for share in concentrated} == {1e-6}


def test_no_other_division_has_a_smaller_sum_of_squares() -> None:
    needs = np.array([1.0, 8.0, 3.0])
    pure = [share.epsilon for share in allocate(PURE, needs.tolist())]
    concentrated = [
        share.rho for share in allocate(CONCENTRATED, needs.tolist()) if isinstance(share, ConcentratedBudget)
    ]
    for parts, power in ((np.array(pure), 2), (np.array(concentrated), 1)):
        for i, j in itertools.permutations(range(3), 2):
            other = parts.copy()
            other[i] *= 0.99
            other[j] += parts[i] * 0.01
            assert (needs**2 / other**power).sum() > (needs**2 / parts**power).sum(), (power, i, j)


def test_refuses_needs_out_of_range() -> None:
    refuses_calls(allocate, (PURE, []), (PURE, [0.0]), (PURE, [1.0, float("inf")]), (PURE, [-1.0]))


def table(coded: CodedJoinTuples) -> list[tuple[int, int, list[int]]]:
    """(group, unit, weights) of every tuple."""
    group = np.repeat(np.arange(coded.n_groups), np.diff(coded.row_start))
    unit = coded.units[coded.members[0]]
    return list(zip(group.tolist(), unit.tolist(), coded.weights.T.tolist(), strict=True))


def test_a_unit_keeps_the_groups_where_it_weighs_most_and_refuses_several_owners_and_no_group() -> None:
    coded = encode(join_tuples([owner("u", [7, 7, 7, 8, 7, 8])], [1, 2, 3, 9, 2, 1], [0, 1, 2, 0, 1, 2], 3))
    kept = keep_groups(coded, 2)
    assert table(kept) == [(0, 1, [9]), (1, 0, [2]), (1, 0, [2]), (2, 0, [3]), (2, 1, [1])]
    assert kept.row_start.tolist() == [0, 1, 3, 5]
    pair = encode(join_tuples([owner("u", [7]), owner("u", [8])], [1]))
    with pytest.raises(InvalidParameter, match="one owner"):
        keep_groups(pair, 1)
    with pytest.raises(InvalidParameter, match="must be at least 1"):
        keep_groups(pair, 0)


def test_of_equals_the_first_groups_stay_alike_in_all_releases_and_nothing_is_left_out_needlessly() -> None:
    equal = encode(join_tuples([owner("u", [7] * 4)], [5] * 4, [3, 1, 0, 2], 4))
    assert [group for group, _, _ in table(keep_groups(equal, 2))] == [0, 1]
    two = encode(join_tuples([owner("u", [7, 7])], [[5, 6], [3, 1]], [0, 1], 2))
    assert table(keep_groups(two, 1)) == [(0, 0, [5, 3])]
    few = encode(join_tuples([owner("u", [7, 8, 7])], [1, 2, 3], [0, 0, 1], 2))
    assert table(keep_groups(few, 2)) == table(few)


def _tuples(contributions: list[int], groups: list[int] | None = None) -> CodedJoinTuples:
    sizes = [len(contributions)] if groups is None else groups
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    members = np.arange(len(contributions), dtype=np.int32)
    return CodedJoinTuples(members[None], ends, ends, np.array([contributions], np.int64) * ONE, (1, 1), members)


def test_a_large_sum_is_released_at_the_bound_and_a_small_one_at_a_chosen_threshold() -> None:
    first = BoundFirst(1.0, 200, 1, thresholds=Thresholds(0, 8), monotone=True)
    large = first.release(_tuples([150] * 6_000), 0, SimulatedEntropy(1))
    assert (large.tau[0], large.mechanism, large.epsilon) == (200.0, "bound_first", 1.0)
    assert large.noise_scale[0] == pytest.approx(200 / 0.9, rel=1e-3)
    assert large.values[0] == pytest.approx(900_000, abs=3_000)
    small = first.release(_tuples([1] * 300), 0, SimulatedEntropy(2))
    assert small.tau[0] < 200
    assert small.values[0] == pytest.approx(300, abs=80)


def test_many_units_far_below_the_bound_get_a_chosen_threshold() -> None:
    """The sum is large beside the noise of the bound, and every unit's mean a 200th of it."""
    first = BoundFirst(1.0, 200, 1, thresholds=Thresholds(0, 8), monotone=True)
    assert first.release(_tuples([1] * 60_000), 0, SimulatedEntropy(3)).tau[0] < 200


def test_each_group_has_its_own_test() -> None:
    first = BoundFirst(50.0, 20, 1, thresholds=Thresholds(0, 5), monotone=True)
    answer = first.release(_tuples([20] * 100 + [1] * 10, [100, 10]), 0, SimulatedEntropy(4))
    assert answer.tau[0] == 20
    assert answer.tau[1] < 20
    assert answer.values == pytest.approx([2_000, 10], abs=15)


def test_nothing_is_tested_where_the_bound_is_the_only_threshold() -> None:
    first = BoundFirst(1.0, 1, 1, thresholds=Thresholds(0, 0))
    answer = first.release(_tuples([1] * 10), 0, ConstantEntropy())
    assert (first.certain, answer.noise_scale[0], answer.values[0]) == (True, pytest.approx(1.0, rel=1e-5), 10.0)
    assert first.expected_noise(1) == first.direct.expected_noise(1)
    first.check_noise(3)


def test_expected_noise_names_the_bound_beside_the_ladder() -> None:
    first = BoundFirst(1.0, 200, 1, thresholds=Thresholds(0, 8), monotone=True)
    assert [tau for tau, _ in first.expected_noise(1)] == [*2.0 ** np.arange(9), 200.0]
    assert (first.event, first.delta, first.epsilon_if_bound_fails()) == (PureDP(1.0), 0.0, 1.0)
    first.check_noise(8)
    # the edge is forty times the noise of the release
    for contributions, passes in [(1_000, True), (10, False)]:
        test = bound_test(1.0, 20)
        assert test.least * test.level.step_weight == pytest.approx(40 * 20 / 0.9, rel=1e-6), (contributions, passes)
        assert test.passes(np.array([contributions * ONE]), ConstantEntropy()).tolist() == [passes]


@given(
    value=st.integers(0, MAX_UNITS // 4),
    units=st.integers(0, 1 << 32),
    contribution=st.integers(0, 1 << 24),
    bound=st.integers(1, 1 << 16),
)
def test_one_unit_moves_the_difference_by_the_sensitivity_at_most(
    value: int, units: int, contribution: int, bound: int
) -> None:
    """The least draw that passes moves by k steps at most."""
    test = bound_test(1.0, bound)
    more = value + min(contribution * ONE // 256, int(test.thresholds.units[0]))

    def margin(total: int, number: int) -> int:
        """The least noise that passes."""
        low, high = -(1 << 50), 1 << 50
        while low < high:
            middle = (low + high) // 2
            passed = test.passes(np.array([total]), ConstantEntropy(laplace=middle), np.array([number]))[0]
            low, high = (low, middle) if passed else (middle + 1, high)
        return low

    assert abs(margin(value, units) - margin(more, min(units + 1, 1 << 32))) <= test.level.sensitivity


def test_units_with_nothing_do_not_count() -> None:
    units = TuplesOfSum(_tuples([3, 0, 1, 0], [3, 1]), 0, 0.0).units()
    assert units is not None and units.tolist() == [2, 0]
    assert positive_in_groups(np.array([3, 0, 1, 0]), np.array([0, 3, 3, 4])).tolist() == [2, 0, 0]
    # bounds and budgets that are none are refused and an edge that no sum reaches is passed by none
    unreached = BoundTest(Fraction(1), Fraction(1, 10**6), bound_thresholds(1 << 30))
    assert not unreached.passes(np.array([MAX_UNITS]), ConstantEntropy()).any()
    with pytest.raises(InvalidParameter, match="one threshold"):
        BoundTest(Fraction(1), Fraction(1), Thresholds())
    with pytest.raises(InvalidParameter, match="each have an epsilon"):
        BoundTest(Fraction(1), Fraction(0), bound_thresholds(2))
    refuses(BoundFirst, {"epsilon": 1.0, "bound": 3}, epsilon=[0.0], gap=[-1.0])
