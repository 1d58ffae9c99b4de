"""One truncated sum per group: for kinds of units, at one threshold, with the smaller noise."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.accounting.event import ZCDP, ApproxDP, PureDP
from privacy.join_tuples import CodedJoinTuples
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.group_lp import GroupLp, group_lps
from privacy.mechanisms.measurement import GroupMeasurement
from privacy.mechanisms.shared_threshold import LaplaceOrGaussian, SharedThreshold, SummedAnswer
from privacy.mechanisms.sums import Sum, capacities_of
from privacy.noisy_answer import NoisyAnswer
from privacy.sampling.design import SampleDesign
from privacy.thresholds import Thresholds, one_threshold
from privacy.truncation.encode import encode
from privacy.truncation.programs_by_threshold import ALIKE, CAPACITY_BITS
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import TabulatedAnswer
from privacy.units import MAX_UNITS, ONE
from tests.support.replay_entropy import RecordedEntropy
from tests.support.revealing_answer import RevealingAnswer
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.refusals import refuses, refuses_calls, refuses_each
from tests.unit.privacy.truncation.instances import join_tuples, owner

TAU = 1 << CAPACITY_BITS


def test_a_kind_that_reaches_fewer_groups_may_fill_them() -> None:
    for few, many, n_groups, pure, gaussian in [
        (1, 25, 25, 25.0, 5.0),
        (2, 50, 50, 25.0, 5.0),
        (1, 25, 16, 16.0, 4.0),  # there are no more than 16
        (3, 7, 7, 7 / 3, math.sqrt(7 / 3)),
    ]:
        for is_gaussian, times in ((False, pure), (True, gaussian)):
            found = dict(capacities_of((("few", few), ("many", many)), None, n_groups, is_gaussian).factors)
            assert found == {"few": math.floor(times * TAU), "many": TAU}, (few, many, n_groups, pure, gaussian)


def test_noise_for_more_groups_than_anybody_reaches_hides_more() -> None:
    found = dict(capacities_of((("few", 1), ("many", 2)), 4, 8, gaussian=False).factors)
    assert found == {"few": 4 * TAU, "many": 2 * TAU}
    # where no kind reaches fewer all are alike
    for kinds in [(("one", 3),), (("one", 3), ("other", 3)), (("one", 8), ("other", 9))]:
        assert capacities_of(kinds, None, 8, gaussian=False) == ALIKE
    # noise for fewer groups than somebody reaches is refused
    refuses_calls(capacities_of, ((("few", 1), ("many", 3)), 2, 8, False), ((("few", 0), ("many", 3)), 3, 8, False))


BUDGET = ConcentratedBudget.of(4.0, 1e-7)
Scalar = Gem | SharedThreshold | LaplaceOrGaussian
KINDS = (("a", 1), ("b", 8))


def scalars() -> list[Scalar]:
    pure, concentrated = SharedThreshold(PureBudget(4.0), 2), SharedThreshold(BUDGET, 2)
    return [
        Gem(PureBudget(4.0), 2),
        Gem(BUDGET, 2, c=1.0, monotone=True),
        pure,
        concentrated,
        LaplaceOrGaussian(pure, concentrated),
    ]


@cache
def edges() -> CodedJoinTuples:
    """Pairs of 900 people, some of whom meet themselves, with two weights."""
    pick = np.random.default_rng(1)
    owners = [owner("u", pick.integers(0, 900, 4000).tolist()) for _ in range(2)]
    return encode(join_tuples(owners, [[ONE] * 4000, [ONE // 2] * 4000], pick.integers(0, 8, 4000).tolist(), 8))


@cache
def pairs() -> CodedJoinTuples:
    """One of 300 a and one of 2,000 b each."""
    pick = np.random.default_rng(2)
    owners = [owner(name, pick.integers(0, n, 4000).tolist()) for name, n in (("a", 300), ("b", 2000))]
    return encode(join_tuples(owners, [[ONE] * 4000], pick.integers(0, 8, 4000).tolist(), 8))


def test_is_its_scalar_mechanism_on_every_group_truncated() -> None:
    for scalar in scalars():
        measurement: GroupMeasurement = GroupLp(scalar)
        released = measurement.release(edges(), 1, SimulatedEntropy(3))
        expected = scalar.release(truncate(edges(), 1, scalar.thresholds, 0.0), SimulatedEntropy(3))
        assert np.array_equal(released.values, expected.values), scalar
        assert (released.mechanism, measurement.name) == ("group_lp", "group_lp"), scalar
        assert measurement.event == scalar.event
        assert measurement.expected_noise(8) == scalar.expected_noise(8)
        assert measurement.epsilon == measurement.epsilon_if_bound_fails(8) == scalar.epsilon
        assert released.delta in (0.0, measurement.delta), scalar
    gem, concentrated = (GroupLp(scalar) for scalar in scalars()[:2])
    assert (gem.event, gem.delta, gem.thresholds) == (PureDP(4.0), 0.0, Thresholds())
    assert (concentrated.event, concentrated.delta) == (ZCDP(BUDGET.rho), 1e-7)


def test_kinds_have_capacities_of_their_own() -> None:
    both = SharedThreshold(PureBudget(4.0)), SharedThreshold(BUDGET)
    known: list[SharedThreshold | Gem] = [*both, Gem(BUDGET, c=1.0, monotone=True)]
    for scalar in known:
        told = GroupLp(scalar).of_kinds(KINDS)
        assert told.kinds == KINDS, scalar
        capacities = told.capacities(8)
        assert dict(capacities.factors)["b"] == 1024, scalar
        assert dict(capacities.factors)["a"] == (8 << 10 if isinstance(scalar.budget, PureBudget) else 2896)
        expected = told.scalar.release(
            truncate(pairs(), 0, scalar.thresholds, 0.0, capacities=capacities), SimulatedEntropy(3)
        )
        assert np.array_equal(told.release(pairs(), 0, SimulatedEntropy(3)).values, expected.values), scalar
        assert told.expected_noise(8) == GroupLp(scalar).expected_noise(8)
        assert (told.event, told.epsilon) == (scalar.event, scalar.epsilon)


def test_laplace_and_gaussian_noise_have_their_own_capacities() -> None:
    both = LaplaceOrGaussian(SharedThreshold(PureBudget(4.0)), SharedThreshold(BUDGET))
    told = GroupLp(both).of_kinds((("a", 1), ("b", 100)))
    assert dict(told.capacities(4).factors)["a"] == 4 << 10  # of four groups noise is Laplace
    assert dict(told.capacities(100).factors)["a"] == 10 << 10
    # noise is for the kind that reaches most
    one = SharedThreshold(PureBudget(4.0))
    fewer = GroupLp(one).of_kinds((("a", 2), ("b", 3)))
    assert fewer.expected_noise(8) == SharedThreshold(PureBudget(4.0), 3).expected_noise(8)
    assert GroupLp(replace(one, groups_per_unit=2)).of_kinds(KINDS[:1]).scalar.groups_per_unit == 1  # type: ignore[union-attr]
    known = GroupLp(replace(one, groups_per_unit=2)).of_kinds((("a", 2), ("b", 2)))
    assert known.scalar == replace(one, groups_per_unit=2)
    assert known.capacities(8) == ALIKE


def test_where_kinds_are_alike_nothing_changes() -> None:
    plain = GroupLp(SharedThreshold(PureBudget(4.0)))
    told = plain.of_kinds((("a", 8), ("b", 8)))
    first, second = (one.release(pairs(), 0, SimulatedEntropy(3)) for one in (plain, told))
    assert np.array_equal(first.values, second.values)
    assert np.array_equal(first.tau, second.tau)


def test_a_sample_that_pays_for_noise_and_a_named_threshold_know_no_kinds() -> None:
    sampled = GroupLp(Gem(PureBudget(4.0), sample=SampleDesign(0.5, 4, 4.0)))
    assert sampled.of_kinds(KINDS) is sampled
    named = GroupLp(SharedThreshold(PureBudget(4.0), thresholds=one_threshold(Fraction(3)))).of_kinds(
        ((("a", 1)), ("b", 2))
    )
    assert named.capacities(8) == ALIKE
    assert named.scalar.groups_per_unit == 2  # type: ignore[union-attr]
    for scalar in (sampled.scalar, named.scalar):
        refuses(GroupLp, {"scalar": scalar}, kinds=[KINDS])
    refuses_each(GroupLp(SharedThreshold(PureBudget(4.0))).of_kinds, [()])
    fewer = GroupLp(SharedThreshold(PureBudget(4.0), 2), kinds=KINDS)  # than the kinds reach
    refuses_calls(fewer.release, (pairs(), 0, SimulatedEntropy(1)))


PURE, CONCENTRATED = PureBudget(4.0), ConcentratedBudget.of(4.0, 1e-7)


@cache
def contributions() -> NDArray[np.int64]:
    return np.random.default_rng(0).poisson(15, (25, 400))


def answer(thresholds: Thresholds) -> TabulatedAnswer:
    """25 groups of 400 people."""
    return TabulatedAnswer(np.minimum(contributions()[:, :, None] * ONE, thresholds.units).sum(axis=1), thresholds)


def test_all_groups_have_one_threshold_and_noise_for_those_that_a_unit_reaches() -> None:
    budgets: list[PureBudget | ConcentratedBudget] = [PURE, CONCENTRATED]
    for budget in budgets:
        released = SharedThreshold(budget, 5).release(answer(Thresholds()), SimulatedEntropy(1))
        assert len(set(released.tau.tolist())) == len(set(released.noise_scale.tolist())) == 1, budget
        pure = budget == PURE
        per_tau = 5 / (4.0 * 0.8) if pure else math.sqrt(5 / (2 * 0.8 * CONCENTRATED.rho))
        assert released.noise_scale[0] == pytest.approx(per_tau * released.tau[0], rel=1e-5), budget
        assert (released.noise, released.delta) == (("laplace", 0.0) if pure else ("gaussian", 1e-7)), budget
    # events and shares
    assert SharedThreshold(PURE).event == PureDP(4.0)
    assert SharedThreshold(CONCENTRATED).event == ZCDP(CONCENTRATED.rho)
    recorded = RecordedEntropy(SimulatedEntropy(2))
    SharedThreshold(PURE, 5, thresholds=Thresholds(0, 9)).release(answer(Thresholds(0, 9)), recorded)
    (choosing, scale, draws), (releasing, _, noise) = recorded.draws
    assert (choosing, len(draws), releasing, len(noise)) == ("geometric", 10, "laplace", 25)
    assert scale == pytest.approx(2 * 1025 / 0.8)


def test_groups_alike_err_no_more_than_with_thresholds_of_their_own_and_are_not_weak() -> None:
    truth = contributions().sum(axis=1)

    def runs(measurement: SharedThreshold | Gem) -> list[NoisyAnswer]:
        return [measurement.release(answer(Thresholds()), SimulatedEntropy(seed)) for seed in range(8)]

    def error(found: list[NoisyAnswer]) -> float:
        return float(np.mean([np.linalg.norm(run.values - truth) for run in found]))

    shared, own = runs(SharedThreshold(PURE)), runs(Gem(PureBudget(4.0), monotone=True))
    assert error(shared) < 1.1 * error(own)
    assert np.mean([run.may_be_clipped.mean() for run in shared]) < 0.3
    missing = [np.mean([run.missing.sum() for run in found]) for found in (shared, own)]
    assert missing[0] < missing[1], "one choice overlooks fewer people than one in every group"


def test_a_weak_answer_is_called_weak() -> None:
    empty = TabulatedAnswer(np.zeros((25, 53), np.int64), Thresholds())
    low_precision = [
        SharedThreshold(PURE).release(empty, SimulatedEntropy(seed)).may_be_clipped.all() for seed in range(25)
    ]
    assert np.mean(low_precision) > 0.9
    assert not SharedThreshold(PURE, 1).release(answer(Thresholds()), SimulatedEntropy(1)).may_be_clipped.any()


def test_the_sum_saturates_and_is_divided_and_its_widest_groups_are_sharpened_first() -> None:
    thresholds = Thresholds(0, 1)
    table = np.array([[5, 9], [1, 4], [MAX_UNITS, MAX_UNITS]])
    assert SummedAnswer(TabulatedAnswer(table, thresholds), 3).bounds()[0].tolist() == [[MAX_UNITS // 3] * 2]
    assert SummedAnswer(TabulatedAnswer(table[:2], thresholds), 2).bounds()[0].tolist() == [[3, 6]]
    hidden = RevealingAnswer(table[:2], thresholds, np.zeros((2, 2), np.int64), np.array([[100, 100], [7, 7]]))
    summed = SummedAnswer(hidden, 2)
    summed.sharpen(0, 1)
    assert hidden.solved == [(0, 1)]
    assert summed.solve(0, 1) == 6
    assert repr(summed) == "SummedAnswer(<private>)"


THRESHOLDS = Thresholds(0, 0)
PURE_ONE, GAUSSIAN = (
    SharedThreshold(PureBudget(4.0), thresholds=THRESHOLDS),
    SharedThreshold(BUDGET, thresholds=THRESHOLDS),
)
LONG, CONCENTRATED_MEAN = Thresholds(0, 9), BUDGET.mean_noise


def either(groups: int | None = None) -> LaplaceOrGaussian:
    return LaplaceOrGaussian(
        SharedThreshold(PureBudget(4.0), groups, thresholds=THRESHOLDS),
        SharedThreshold(BUDGET, groups, thresholds=THRESHOLDS),
    )


def test_takes_the_smaller_noise_of_as_many_groups() -> None:
    for groups, noise in [(1, "laplace"), (15, "laplace"), (16, "gaussian"), (100, "gaussian")]:
        answer = TabulatedAnswer(np.full((groups, 1), ONE), THRESHOLDS)
        assert either().release(answer, SimulatedEntropy(1)).noise == noise, (groups, noise)
        assert either().expected_noise(groups) == either().chosen(groups).expected_noise(groups), (groups, noise)
    # the choice is by the groups of a unit and not by how many there are
    assert either(2).chosen(1000) == either(2).pure
    assert either(50).chosen(1000) == either(50).concentrated


def test_a_threshold_that_is_known_decides_nothing() -> None:
    """Sums that share one budget may have different ladders, and have to choose alike: the proof of their charge."""
    several = replace(
        either(), pure=replace(either().pure, thresholds=LONG), concentrated=replace(GAUSSIAN, thresholds=LONG)
    )
    for groups in range(1, 60, 3):
        assert either().chosen(groups).budget == several.chosen(groups).budget
    own = GAUSSIAN.noise_per_tau(16), PURE_ONE.noise_per_tau(16)
    assert own[0] * CONCENTRATED_MEAN > own[1], "by its own noise alone the single threshold would choose otherwise"


def test_sums_with_unequal_shares_of_epsilon_have_noise_of_one_kind() -> None:
    """The moments of a slope: of epsilon squares have five times what a count has, of rho as much."""
    for groups in [1, 2, 5, 20, 200]:
        sums = [Sum(share, 0.0, THRESHOLDS) for share in (0.0625, 0.0625, 0.3125, 0.15625)]
        made = [one.scalar for one in group_lps(sums, 1e-6, None, None)]
        chosen = [one.chosen(groups).budget for one in made if isinstance(one, LaplaceOrGaussian)]
        assert len(chosen) == len(sums) and len({type(budget) for budget in chosen}) == 1, groups
        answer = TabulatedAnswer(np.full((groups, 1), ONE), THRESHOLDS)
        assert len({one.release(answer, SimulatedEntropy(1)).noise for one in made}) == 1, groups


def test_by_their_own_shares_alone_they_would_not() -> None:
    sums = [Sum(share, 0.0, THRESHOLDS) for share in (0.0625, 0.3125)]
    made = [one.scalar for one in group_lps(sums, 1e-6, None, None)]
    alone = [replace(one, typical=None) for one in made if isinstance(one, LaplaceOrGaussian)]
    assert any(len({type(one.chosen(groups).budget) for one in alone}) == 2 for groups in range(1, 200))


def test_noise_is_checked_up_to_where_laplace_noise_is_chosen() -> None:
    """Which, where an average decides, may be more than the Gaussian one for fewer groups of a unit."""
    small = replace(either(), pure=replace(PURE_ONE, budget=PureBudget(1e-15)), typical=PureBudget(4.0))
    refuses_each(small.check_noise, [100])
    assert either().event == ApproxDP(max(4.0, BUDGET.epsilon), 1e-7)
    assert either().epsilon_if_bound_fails(7) == either().epsilon
    pure, concentrated = SharedThreshold(PureBudget(4.0)), SharedThreshold(BUDGET)
    refuses_calls(LaplaceOrGaussian, (pure, pure), (concentrated, pure), (pure, SharedThreshold(BUDGET, 3)))
    refuses_calls(LaplaceOrGaussian, (pure, either().concentrated))
