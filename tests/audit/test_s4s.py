"""DP-S4S keeps its claim from one shared sample and from fresh ones; with its published budgets it does not.

Audited is what the accounting is about: all noisy values, of which the mechanism publishes the largest.
"""

from __future__ import annotations

import pytest

from privacy.accounting.event import PureDP
from privacy.exact import exact_epsilon
from privacy.mechanisms.noise.threshold_noise import ThresholdNoise, rungs
from privacy.mechanisms.racing.s4s import S4S
from privacy.sampling.design import SampleDesign
from tests.audit.mutants import WeakerNoise
from tests.audit.s4s_values import values_bound
from tests.audit.tuple_samples import UnitAtTheBound, sampled_audit
from tests.support.simulated_entropy import SimulatedEntropy

RATE, TUPLES, EPSILON = 0.05, 8, 2.0
UNIT = UnitAtTheBound(TUPLES, RATE)
DESIGN = SampleDesign(RATE, TUPLES, EPSILON)

AS_PUBLISHED_CUTS = [1.0, 1.9, 2.5, 1.8, 0.9]
"""At epsilon 4, rate 0.001, 1024 tuples: the event that needs the fewest runs, by a search over closed forms."""

CUTS = [1.0, 1.8, 2.0, 0.0]
"""Where most of the loss is: few of eight tuples are in the sample."""


def shared(epsilon: float = EPSILON, design: SampleDesign = DESIGN, groups: int = 1) -> S4S:
    return S4S(epsilon, TUPLES, groups, sample=design)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
def test_values_from_one_sample_spend_much_of_the_claim_and_no_more(epsilon: float) -> None:
    race = shared(epsilon, SampleDesign(RATE, TUPLES, epsilon))
    assert 0.5 * epsilon < values_bound(race, UNIT, CUTS) <= epsilon


def test_the_published_answer() -> None:
    assert sampled_audit(shared(), UNIT) <= EPSILON


def test_without_a_sample_all_values_spend_nearly_everything() -> None:
    race = S4S(EPSILON, TUPLES, 1)
    assert 0.9 * EPSILON < values_bound(race, UnitAtTheBound(1000, 1.0), [1.0, 2.0, 4.0, 8.0]) <= EPSILON


class Unsplit(S4S):
    """Every threshold spends everything."""

    def _rungs(self, n_groups: int) -> tuple[ThresholdNoise, ...]:
        return rungs(self.ladder, self.gap, exact_epsilon(self.epsilon))


def test_catches_an_unsplit_budget() -> None:
    assert values_bound(Unsplit(EPSILON, TUPLES, 1), UnitAtTheBound(TUPLES, 1.0), [1.0, 2.0, 4.0]) > EPSILON


@pytest.mark.parametrize("together", [2, 3])
def test_releases_that_share_a_sample_share_its_budget(together: int) -> None:
    race = shared(groups=together)
    assert sampled_audit(race, UNIT, together=together) <= EPSILON


def test_catches_one_release_where_there_are_two() -> None:
    race = S4S(EPSILON, 1, 1, sample=SampleDesign(RATE, 1, EPSILON))
    assert sampled_audit(race, UnitAtTheBound(1, RATE), together=2) > EPSILON


def test_catches_half_the_noise() -> None:
    assert values_bound(shared(), UNIT, CUTS, WeakerNoise(SimulatedEntropy(1), laplace=0.5)) > EPSILON


def test_catches_units_that_are_taken_to_have_one_tuple() -> None:
    assert values_bound(shared(design=SampleDesign(RATE, 1, EPSILON)), UNIT, CUTS) > EPSILON


def test_catches_a_rate_that_is_applied_twice() -> None:
    assert values_bound(shared(design=SampleDesign(RATE**2, TUPLES, EPSILON)), UNIT, CUTS) > EPSILON


def as_published(epsilon: float) -> S4S:
    return S4S(epsilon, 1024, 1, sample=SampleDesign(0.001, 1024, epsilon), published=True)


def test_the_published_sum_is_pinned() -> None:
    """ln E[exp(g(K))], attained where all values are large (privacy.md section 3)."""
    event = as_published(4.0).event
    assert isinstance(event, PureDP) and event.epsilon == pytest.approx(4.360, abs=5e-4)


@pytest.mark.slow
def test_catches_the_published_sum() -> None:
    """Twelve million runs see what four million do not."""
    assert values_bound(as_published(4.0), UnitAtTheBound(1024, 0.001), AS_PUBLISHED_CUTS, runs=12_000_000) > 4.0


@pytest.mark.slow
def test_the_sound_budgets_pass_where_the_published_sum_does_not() -> None:
    race = S4S(4.0, 1024, 1, sample=SampleDesign(0.001, 1024, 4.0))
    assert values_bound(race, UnitAtTheBound(1024, 0.001), AS_PUBLISHED_CUTS, runs=12_000_000) <= 4.0


def test_the_published_budgets_pass_with_a_sample_for_each_threshold() -> None:
    race = as_published(4.0)
    assert race.event_apart == PureDP(4.0)
    assert values_bound(race, UnitAtTheBound(1024, 0.001), AS_PUBLISHED_CUTS, fresh=True) <= 4.0
