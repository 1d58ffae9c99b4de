"""Thresholds that race: R2T and S4S."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from privacy.accounting.event import PureDP
from privacy.errors import InvalidParameter
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.papers.dp_s4s import S4S, published_budgets
from privacy.papers.r2t import R2T
from privacy.registry import EachGroup, measurement
from privacy.sampling.design import SampleDesign
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.support.papers.renyi_sampling import least_epsilon
from tests.support.papers.s4s_variants import FreshS4S, PublishedS4S, S4SRenyi
from tests.support.replay_entropy import ConstantEntropy
from tests.support.revealing_answer import RevealingAnswer
from tests.support.seeded_draws import SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.answers import poisson_answer, poisson_contributions
from tests.unit.privacy.refusals import refuses, refuses_calls, refuses_each


def test_thresholds_race_up_to_the_global_sensitivity() -> None:
    for bound, high in ((0.3, 1), (2.0, 1), (2.1, 2), (1024.0, 10), (1025.0, 11), (2.0**32, 32)):
        assert R2T(1.0, bound).thresholds == Thresholds(1, high), bound


def test_without_noise_it_is_the_largest_value_minus_its_penalty() -> None:
    r2t = R2T(1.0, 256.0)
    released = r2t.release(poisson_answer(r2t.thresholds), ConstantEntropy())
    penalised = [poisson_contributions().clip(max=tau).sum() - penalty for tau, penalty in r2t.expected_noise()]
    assert released.values[0] == pytest.approx(max(penalised), rel=1e-6)
    assert released.tau[0] == r2t.thresholds.taus[int(np.argmax(penalised))]
    assert (released.mechanism, released.covers, released.epsilon) == ("r2t", "truth_lower", 1.0)


def test_the_penalty_is_the_papers() -> None:
    r2t = R2T(0.8, 256.0, gap=0.01)
    for tau, penalty in r2t.expected_noise():
        assert penalty == pytest.approx(8 / 0.8 * math.log(8 / 0.1) * 1.01 * tau, rel=1e-5)


def test_nothing_beats_zero_on_no_data() -> None:
    r2t = R2T(1.0, 256.0)
    released = r2t.release(poisson_answer(r2t.thresholds, people=0), ConstantEntropy())
    assert (released.values[0], released.tau[0], released.noise_scale[0], released.low[0]) == (0, 0, 0, 0)
    assert released.high[0] == math.inf


def test_what_cannot_beat_zero_is_not_solved() -> None:
    r2t = R2T(1.0, 8.0)
    nothing = np.zeros((1, 3), np.int64)
    promising = RevealingAnswer(nothing, r2t.thresholds, nothing, np.array([[ONE, 2 * ONE, 10_000 * ONE]]))
    assert r2t.release(promising, ConstantEntropy()).values.tolist() == [0.0]
    assert promising.solved == [(0, 2)]


def test_the_truth_is_above_as_often_as_it_says() -> None:
    """The worst case has one value everywhere. 20,000 runs with a seed; the union bound has little slack."""
    r2t = R2T(1.0, 4.0, groups_per_unit=1, confidence=0.9)
    flat = TabulatedAnswer(np.full((20_000, 2), 10_000 * ONE), r2t.thresholds)
    released = r2t.release(flat, SimulatedEntropy(2))
    above = (released.low <= 10_000).mean()
    assert 0.9 - 5.4 * math.sqrt(0.09 / 20_000) < above < 0.92


def test_groups_and_thresholds_share_the_budget() -> None:
    for groups_per_unit, share in [(1, 1), (3, 3), (None, 8)]:
        r2t = R2T(1.0, 8.0, groups_per_unit)
        released = r2t.release(poisson_answer(r2t.thresholds, groups=8), SimulatedEntropy(3))
        assert released.noise_scale == pytest.approx(3 * share * released.tau, rel=1e-6), (groups_per_unit, share)
        assert r2t.event == PureDP(1.0), (groups_per_unit, share)


def test_refuses_parameters_out_of_range() -> None:
    refuses(
        R2T,
        {"epsilon": 1.0, "global_sensitivity": 16.0},
        epsilon=[-1.0, math.inf],
        global_sensitivity=[0.0, math.nan, 2.0**33],
        groups_per_unit=[0],
        gap=[-0.1, 1.5],
        confidence=[0.4, 1.0],
    )


def design(epsilon: float) -> SampleDesign:
    return SampleDesign(0.001, 1024, epsilon)


def joint(s4s: S4S) -> float:
    assert s4s.sample is not None
    return s4s.sample.joint([level.loss for level in s4s._levels(1)])


def test_thresholds_are_those_of_algorithm_2() -> None:
    for bound, high in [(1, 0), (2, 1), (3, 1), (1023, 9), (1024, 10), (10**12, 32)]:
        assert S4S(1.0, bound).thresholds == Thresholds(0, high) == S4SRenyi(1.0, bound, delta=1e-6).thresholds


def test_published_budgets_cost_more_than_they_claim_at_large_epsilon() -> None:
    """docs/mathematics.md, section 7.1: claimed 4 (added up: 3.605), lost 4.360; at 1 only 0.901 is used."""
    assert published_budgets(1.0, 4, lambda _, budget: budget) == pytest.approx([0.25] * 4), "even, if of no sample"
    assert {float(level.epsilon) for level in S4S(1.0, 8)._levels(1)} == {0.25}
    large = PublishedS4S(4.0, 1024, 1, sample=design(4.0))
    assert large.epsilon == 4.0 and large.name == "s4s_as_published"
    assert joint(large) == pytest.approx(4.360, abs=5e-4)
    assert large.event == PureDP(joint(large))
    assert joint(PublishedS4S(1.0, 1024, 1, sample=design(1.0))) == pytest.approx(0.901, abs=5e-4)


def test_shared_budgets_cost_epsilon_together() -> None:
    for epsilon in [0.1, 1.0, 4.0, 50.0]:
        shared = S4S(epsilon, 1024, 1, sample=design(epsilon))
        assert epsilon * (1 - 2e-5) < joint(shared) <= epsilon * (1 + 1e-12)
        assert shared.event == PureDP(epsilon)
        assert shared.epsilon_if_bound_fails() > epsilon
        assert S4S(epsilon, 1024).epsilon_if_bound_fails() == epsilon


def test_groups_that_share_a_sample_share_the_budget_and_the_penalty_is_the_papers_of_s4s() -> None:
    shared = S4S(1.0, 64, 3, sample=SampleDesign(0.05, 64, 1.0))
    losses = [level.loss for level in shared._levels(10)] * 3
    assert SampleDesign(0.05, 64, 1.0).joint(losses) <= 1 + 1e-9
    s4s = S4S(1.0, 1024, 1)
    for tau, penalty in s4s.expected_noise():
        assert penalty == pytest.approx(11 * tau * math.log(3 * 11 / 0.1), rel=1e-5)


def test_without_noise_it_is_the_largest_value_minus_its_penalty_of_s4s() -> None:
    races: list[S4S] = [S4S(1.0, 256), S4SRenyi(1.0, 256, delta=1e-6)]
    for mechanism in races:
        released = mechanism.release(poisson_answer(mechanism.thresholds), ConstantEntropy())
        penalised = [
            poisson_contributions().clip(max=tau).sum() - penalty for tau, penalty in mechanism.expected_noise()
        ]
        assert released.values[0] == pytest.approx(max(penalised), rel=1e-6), mechanism
        assert released.tau[0] == mechanism.thresholds.taus[int(np.argmax(penalised))]
        assert (released.mechanism, released.covers) == (mechanism.name, "truth_lower")
    # no data may come out negative
    s4s = S4S(1.0, 8)
    nothing = TabulatedAnswer(np.zeros((1, 4), np.int64), s4s.thresholds)
    assert s4s.release(nothing, ConstantEntropy()).values[0] < 0


def test_only_thresholds_that_may_win_are_solved() -> None:
    s4s = S4S(1.0, 4)
    lower, upper = np.array([[0, 0, 900 * ONE]]), np.array([[2 * ONE, 5 * ONE, 1000 * ONE]])
    answer = RevealingAnswer(np.array([[ONE, 4 * ONE, 950 * ONE]]), s4s.thresholds, lower, upper)
    s4s.release(answer, ConstantEntropy())
    assert answer.solved == [(0, 2)]


def test_the_answer_is_above_as_often_as_it_says_and_renyi_budgets_cost_epsilon_together() -> None:
    """The worst case has one value everywhere. 20,000 runs with a seed; a union bound and little more."""
    races: list[S4S] = [S4S(1.0, 3, 1, beta=0.9), S4SRenyi(1.0, 3, beta=0.9, delta=1e-6)]
    for mechanism in races:
        flat = TabulatedAnswer(np.full((20_000, 2), 10_000 * ONE), mechanism.thresholds)
        released = mechanism.release(flat, SimulatedEntropy(5))
        above = (released.low <= 10_000).mean()
        assert mechanism.confidence - 5.4 * math.sqrt(0.13 / 20_000) < above < 0.88
    for groups in [1, 4]:
        for epsilon in [0.1, 1.0, 4.0]:
            shared = S4SRenyi(epsilon, 1024, groups, delta=1e-7, rate=0.001)
            found = least_epsilon(shared.divergence, 1e-7)
            assert 0.98 * epsilon < found.value <= epsilon * (1 + 1e-9), (groups, epsilon)
            assert shared.divergence(shared.plan.alpha) == pytest.approx(shared.plan.rho, rel=1e-6), (groups, epsilon)
            assert shared.epsilon_if_bound_fails() > epsilon, (groups, epsilon)


def test_published_renyi_budgets_are_no_bound_either() -> None:
    published = S4SRenyi(4.0, 1024, delta=1e-7, rate=0.001, published=True)
    assert published.divergence_apart(published.plan.alpha) <= published.plan.rho * (1 + 1e-9)
    assert least_epsilon(published.divergence, 1e-7).value == pytest.approx(4.224, abs=5e-3)


def tuples(weight: int = ONE) -> JoinTuples:
    owner = np.repeat(np.arange(500), 8)
    owners = (OwnerColumn("person", owner, np.zeros(len(owner), bool)),)
    return JoinTuples(owners, np.zeros(len(owner), np.int64), 1, np.full((1, len(owner)), weight, np.int64))


@cache
def fresh_ones() -> list[FreshS4S]:
    plain = PublishedS4S(1.0, 8, 1, sample=SampleDesign(0.5, 8, 1.0))
    return [FreshS4S(plain), FreshS4S(S4SRenyi(1.0, 8, delta=1e-6, rate=0.5, published=True))]


def test_fresh_samples_estimate_the_whole() -> None:
    for fresh in fresh_ones():
        released = fresh.release(tuples(), SeededDraws(1), ConstantEntropy())
        net = {tau: 4000 * min(1, tau / 4) - reach for tau, reach in fresh.expected_noise()}
        assert released.values[0] <= 4000 * 1.2, fresh
        assert released.values[0] > max(value for value in net.values()) * 0.6, fresh
        assert released.mechanism == fresh.name and released.covers == "released_sample"
        assert fresh.epsilon == 1.0 and fresh.delta in (0.0, 1e-6)


def test_every_threshold_has_a_sample_of_its_own() -> None:
    class Counting(SeededDraws):
        drawn = 0

        def binomial(self, counts, rate):  # type: ignore[no-untyped-def]
            self.drawn += 1
            return super().binomial(counts, rate)

    draws = Counting(1)
    fresh_ones()[0].release(tuples(), draws, ConstantEntropy())
    assert draws.drawn == 4


def test_what_fresh_samples_cost_and_is_made_by_name() -> None:
    assert fresh_ones()[0].event == PureDP(1.0)
    renyi = fresh_ones()[1].race
    assert isinstance(renyi, S4SRenyi)
    assert least_epsilon(renyi.divergence_apart, 1e-6).value <= 1.0
    assert measurement("s4s", EachGroup(1.0, 2, 0.01, tuples_per_unit=64)) == S4S(1.0, 64, 2, 0.01)
    with pytest.raises(InvalidParameter):
        measurement("s4s", EachGroup(1.0))
    with pytest.raises(InvalidParameter):
        measurement("s4s_as_published", EachGroup(1.0, tuples_per_unit=64))


def test_refuses_parameters_out_of_range_of_s4s() -> None:
    usual = {"epsilon": 1.0, "tuples_per_unit": 8}
    refuses(S4S, usual, epsilon=[0.0], tuples_per_unit=[0], groups_per_unit=[0], gap=[2.0], beta=[0.0])
    refuses(PublishedS4S, usual, groups_per_unit=[None, 1])
    refuses(S4SRenyi, usual | {"delta": 1e-6}, delta=[0.0], rate=[0.0], groups_per_unit=[0], epsilon=[math.inf])
    refuses_each(FreshS4S, [S4SRenyi(1.0, 8, delta=1e-6)])
    refuses_calls(fresh_ones()[0].release, (tuples(2 * ONE), SeededDraws(1), ConstantEntropy()))
