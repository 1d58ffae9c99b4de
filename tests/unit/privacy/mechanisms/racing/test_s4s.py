from __future__ import annotations

import math

import numpy as np
import pytest

from privacy.accounting.event import PureDP
from privacy.errors import InvalidParameter
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.ladder import Ladder
from privacy.mechanisms.racing.s4s import S4S
from privacy.mechanisms.racing.s4s_budgets import published_budgets
from privacy.published.s4s_rdp import S4SRenyi
from privacy.published.sampled.s4s_fresh import FreshS4S
from privacy.registry import measurement
from privacy.sampling.design import SampleDesign
from privacy.sampling.draws import SystemDraws
from privacy.sampling.renyi_order import least_epsilon
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy
from tests.support.revealing_answer import RevealingAnswer
from tests.support.simulated_entropy import SimulatedEntropy

LOADS = np.random.default_rng(0).poisson(15, 10_000)


def table(ladder: Ladder, groups: int = 1) -> TabulatedAnswer:
    values = np.minimum(LOADS[:, None] * ONE, ladder.units).sum(axis=0)
    return TabulatedAnswer(np.broadcast_to(values, (groups, len(ladder))), ladder)


def design(epsilon: float) -> SampleDesign:
    return SampleDesign(0.001, 1024, epsilon)


def joint(s4s: S4S) -> float:
    assert s4s.sample is not None
    return s4s.sample.joint([rung.loss for rung in s4s._rungs(1)])


@pytest.mark.parametrize(("bound", "high"), [(1, 0), (2, 1), (3, 1), (1023, 9), (1024, 10), (10**12, 32)])
def test_thresholds_are_those_of_algorithm_2(bound: int, high: int) -> None:
    assert S4S(1.0, bound).ladder == Ladder(0, high) == S4SRenyi(1.0, 1e-6, bound).ladder


def test_without_amplification_the_published_budgets_are_even() -> None:
    assert published_budgets(1.0, 4, lambda _, budget: budget) == pytest.approx([0.25] * 4)
    assert {float(rung.epsilon) for rung in S4S(1.0, 8)._rungs(1)} == {0.25}


def test_published_budgets_cost_more_than_they_claim_at_large_epsilon() -> None:
    """privacy.md section 3: claimed 4 (added up: 3.605), lost 4.360; at 1 only 0.901 is used."""
    large = S4S(4.0, 1024, 1, sample=design(4.0), published=True)
    assert large.epsilon == 4.0 and large.name == "s4s_as_published"
    assert joint(large) == pytest.approx(4.360, abs=5e-4)
    assert large.event == PureDP(joint(large))
    assert joint(S4S(1.0, 1024, 1, sample=design(1.0), published=True)) == pytest.approx(0.901, abs=5e-4)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 50.0])
def test_shared_budgets_cost_epsilon_together(epsilon: float) -> None:
    shared = S4S(epsilon, 1024, 1, sample=design(epsilon))
    assert epsilon * (1 - 2e-5) < joint(shared) <= epsilon * (1 + 1e-12)
    assert shared.event == PureDP(epsilon)
    assert shared.epsilon_if_bound_fails() > epsilon
    assert S4S(epsilon, 1024).epsilon_if_bound_fails() == epsilon


def test_groups_that_share_a_sample_share_the_budget() -> None:
    shared = S4S(1.0, 64, 3, sample=SampleDesign(0.05, 64, 1.0))
    losses = [rung.loss for rung in shared._rungs(10)] * 3
    assert SampleDesign(0.05, 64, 1.0).joint(losses) <= 1 + 1e-9


def test_the_penalty_is_the_papers() -> None:
    s4s = S4S(1.0, 1024, 1)
    for tau, penalty in s4s.expected_noise():
        assert penalty == pytest.approx(11 * tau * math.log(3 * 11 / 0.1), rel=1e-5)


@pytest.mark.parametrize("mechanism", [S4S(1.0, 256), S4SRenyi(1.0, 1e-6, 256)])
def test_without_noise_it_is_the_largest_value_minus_its_penalty(mechanism: S4S | S4SRenyi) -> None:
    released = mechanism.release(table(mechanism.ladder), ConstantEntropy())
    penalised = [LOADS.clip(max=tau).sum() - penalty for tau, penalty in mechanism.expected_noise()]
    assert released.values[0] == pytest.approx(max(penalised), rel=1e-6)
    assert released.tau[0] == mechanism.ladder.taus[int(np.argmax(penalised))]
    assert (released.mechanism, released.covers) == (mechanism.name, "truth_lower")


def test_no_data_may_come_out_negative() -> None:
    s4s = S4S(1.0, 8)
    nothing = TabulatedAnswer(np.zeros((1, 4), np.int64), s4s.ladder)
    assert s4s.release(nothing, ConstantEntropy()).values[0] < 0


def test_only_thresholds_that_may_win_are_solved() -> None:
    s4s = S4S(1.0, 4)
    lower, upper = np.array([[0, 0, 900 * ONE]]), np.array([[2 * ONE, 5 * ONE, 1000 * ONE]])
    answer = RevealingAnswer(np.array([[ONE, 4 * ONE, 950 * ONE]]), s4s.ladder, lower, upper)
    s4s.release(answer, ConstantEntropy())
    assert answer.solved == [(0, 2)]


@pytest.mark.parametrize("mechanism", [S4S(1.0, 3, 1, beta=0.9), S4SRenyi(1.0, 1e-6, 3, beta=0.9)])
def test_the_answer_is_above_as_often_as_it_says(mechanism: S4S | S4SRenyi) -> None:
    """The worst case has one value everywhere. 20,000 runs with a seed; a union bound and little more."""
    flat = TabulatedAnswer(np.full((20_000, 2), 10_000 * ONE), mechanism.ladder)
    released = mechanism.release(flat, SimulatedEntropy(5))
    above = (released.low <= 10_000).mean()
    assert mechanism.confidence - 5.4 * math.sqrt(0.13 / 20_000) < above < 0.88


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_renyi_budgets_cost_epsilon_together(epsilon: float, groups: int) -> None:
    shared = S4SRenyi(epsilon, 1e-7, 1024, 0.001, groups)
    found = least_epsilon(shared.divergence, 1e-7)
    assert 0.98 * epsilon < found.value <= epsilon * (1 + 1e-9)
    assert shared.divergence(shared.plan.alpha) == pytest.approx(shared.plan.rho, rel=1e-6)
    assert shared.epsilon_if_bound_fails() > epsilon


def test_published_renyi_budgets_are_no_bound_either() -> None:
    published = S4SRenyi(4.0, 1e-7, 1024, 0.001, published=True)
    assert published.divergence_apart(published.plan.alpha) <= published.plan.rho * (1 + 1e-9)
    assert least_epsilon(published.divergence, 1e-7).value == pytest.approx(4.224, abs=5e-3)


def tuples(weight: int = ONE) -> JoinTuples:
    owner = np.repeat(np.arange(500), 8)
    owners = (OwnerColumn("person", owner, np.zeros(len(owner), bool)),)
    return JoinTuples(owners, np.zeros(len(owner), np.int64), 1, np.full((1, len(owner)), weight, np.int64))


FRESH = [
    FreshS4S(S4S(1.0, 8, 1, sample=SampleDesign(0.5, 8, 1.0), published=True)),
    FreshS4S(S4SRenyi(1.0, 1e-6, 8, 0.5, published=True)),
]


@pytest.mark.parametrize("fresh", FRESH)
def test_fresh_samples_estimate_the_whole(fresh: FreshS4S) -> None:
    released = fresh.release(tuples(), SystemDraws(), ConstantEntropy())
    net = {tau: 4000 * min(1, tau / 4) - reach for tau, reach in fresh.expected_noise()}
    assert released.values[0] <= 4000 * 1.2
    assert released.values[0] > max(value for value in net.values()) * 0.6
    assert released.mechanism == fresh.name and released.covers == "released_sample"
    assert fresh.epsilon == 1.0 and fresh.delta in (0.0, 1e-6)


def test_every_threshold_has_a_sample_of_its_own() -> None:
    class Counting(SystemDraws):
        drawn = 0

        def binomial(self, counts, rate):  # type: ignore[no-untyped-def]
            self.drawn += 1
            return super().binomial(counts, rate)

    draws = Counting()
    FRESH[0].release(tuples(), draws, ConstantEntropy())
    assert draws.drawn == 4


def test_what_fresh_samples_cost() -> None:
    assert FRESH[0].event == PureDP(1.0)
    renyi = FRESH[1].race
    assert isinstance(renyi, S4SRenyi)
    assert least_epsilon(renyi.divergence_apart, 1e-6).value <= 1.0


def test_is_made_by_name() -> None:
    assert measurement("s4s", 1.0, 2, 0.01, tuples_per_unit=64) == S4S(1.0, 64, 2, 0.01)
    with pytest.raises(InvalidParameter):
        measurement("s4s", 1.0)
    with pytest.raises(InvalidParameter):
        measurement("s4s_as_published", 1.0, tuples_per_unit=64)


def test_refuses_parameters_out_of_range() -> None:
    for wrong in ({"epsilon": 0.0}, {"tuples_per_unit": 0}, {"groups_per_unit": 0}, {"gap": 2.0}, {"beta": 0.0}):
        with pytest.raises(InvalidParameter):
            S4S(**({"epsilon": 1.0, "tuples_per_unit": 8} | wrong))
    for wrong in ({"delta": 0.0}, {"rate": 0.0}, {"groups_per_unit": 0}, {"epsilon": math.inf}):
        with pytest.raises(InvalidParameter):
            S4SRenyi(**({"epsilon": 1.0, "delta": 1e-6, "tuples_per_unit": 8} | wrong))
    with pytest.raises(InvalidParameter):
        S4S(1.0, 8, published=True)
    with pytest.raises(InvalidParameter):
        FreshS4S(S4S(1.0, 8, 1))
    with pytest.raises(InvalidParameter):
        FRESH[0].release(tuples(2 * ONE), SystemDraws(), ConstantEntropy())
