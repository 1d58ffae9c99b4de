"""DP-S4S keeps its claim from one shared sample and from fresh ones; with its published budgets it does not.

Audited is what the accounting is about: all noisy values, of which the mechanism publishes the largest. With Gaussian
noise the Renyi divergence is an upper bound, and so is what is converted from it: there is room between what a run
loses and what is claimed, so that the mistakes which can be told from it are larger than under pure privacy.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.accounting.event import ZCDP, PureDP
from privacy.entropy import Entropy, OpendpEntropy
from privacy.exact import exact_epsilon
from privacy.mechanisms.budget import ConcentratedBudget
from privacy.mechanisms.noise import ThresholdNoise, levels
from privacy.mechanisms.release import released
from privacy.papers.dp_s4s import S4S
from privacy.sampling.design import SampleDesign
from tests.audit.auditing import FAILURE_PROBABILITY, loss_bound, plain, slow
from tests.audit.auditor import Outputs
from tests.audit.mutants import WeakerNoise
from tests.audit.tuple_samples import UnitAtTheBound, sampled_audit
from tests.support.papers.renyi_sampling import gaussian_loss, joint_renyi
from tests.support.papers.s4s_variants import PublishedS4S, S4SConcentrated, S4SRenyi, gaussian_levels
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

RUNS = examples(250_000, 1_000_000)


def values_bound(
    race: S4S,
    unit: UnitAtTheBound,
    cuts: list[float],
    entropy: Entropy | None = None,
    fresh: bool = False,
    runs: int = RUNS,
) -> float:
    """A lower bound on the epsilon of all noisy values, from how often the first of them are all large.

    Args:
      cuts: the event is that each of so many values exceeds its cut by some number, which the auditor picks.
      fresh: every threshold has a sample of its own.
    """
    source = SimulatedEntropy(seed=20260108) if entropy is None else entropy
    generator = np.random.default_rng(20260109)
    grids, index = levels(race.thresholds, race.gap, Fraction(1)), np.arange(len(race.thresholds))

    def values(there: bool, size: int) -> NDArray[np.int64]:
        if not there:
            return np.zeros((size, len(index)), np.int64)
        samples = [unit.values(race.thresholds, size, generator, race.gap) for _ in (index if fresh else index[:1])]
        return np.stack([samples[i if fresh else 0][:, i] for i in index], axis=1)

    def run(there: bool, size: int) -> Outputs:
        noise = race.draw(size, source)
        noisy = released(values(there, size), noise, np.broadcast_to(index, noise.shape), grids)
        return plain((noisy[:, : len(cuts)] - cuts).min(axis=1))

    return loss_bound(run, (False, True), runs, getattr(race, "delta", 0.0))


EPSILON, DELTA = 2.0, 0.01
"""A delta that is seen in a million runs."""

RATE, TUPLES = 0.05, 8
PURE_UNIT = UnitAtTheBound(TUPLES, RATE)
DESIGN = SampleDesign(RATE, TUPLES, EPSILON)

AS_PUBLISHED_CUTS = [1.0, 1.9, 2.5, 1.8, 0.9]
"""At epsilon 4, rate 0.001, 1024 tuples: the event that needs the fewest runs, by a search over closed forms."""

CUTS = [1.0, 1.8, 2.0, 0.0]
"""Where most of the loss is: few of eight tuples are in the sample."""


def shared(epsilon: float = EPSILON, design: SampleDesign = DESIGN, groups: int = 1) -> S4S:
    return S4S(epsilon, TUPLES, groups, sample=design)


@pytest.mark.parametrize("epsilon", [slow(0.5), 2.0, slow(4.0)])
def test_values_from_one_sample_spend_much_of_the_claim_and_no_more(epsilon: float) -> None:
    race = shared(epsilon, SampleDesign(RATE, TUPLES, epsilon))
    assert 0.5 * epsilon < values_bound(race, PURE_UNIT, CUTS) <= epsilon


@pytest.mark.slow
def test_without_a_sample_all_values_spend_nearly_everything() -> None:
    race = S4S(EPSILON, TUPLES, 1)
    assert (
        0.9 * EPSILON < values_bound(race, UnitAtTheBound(1000, 1.0), [1.0, 2.0, 4.0, 8.0], runs=1_000_000) <= EPSILON
    )


class UnsplitPure(S4S):
    """Every threshold spends everything."""

    def _levels(self, n_groups: int) -> tuple[ThresholdNoise, ...]:
        return levels(self.thresholds, self.gap, exact_epsilon(self.epsilon))


def test_catches_an_unsplit_pure_budget_and_half_the_noise() -> None:
    assert values_bound(UnsplitPure(EPSILON, TUPLES, 1), UnitAtTheBound(TUPLES, 1.0), [1.0, 2.0, 4.0]) > EPSILON
    assert values_bound(shared(), PURE_UNIT, CUTS, WeakerNoise(SimulatedEntropy(1), laplace=0.5)) > EPSILON


@pytest.mark.parametrize("together", [slow(1), 2, slow(3)])
def test_releases_that_share_a_sample_share_its_budget(together: int) -> None:
    race, runs = shared(groups=together), examples(75_000, 150_000)
    assert sampled_audit(race, PURE_UNIT, runs=runs, together=together) <= EPSILON


def test_catches_one_release_where_there_are_two() -> None:
    race = S4S(EPSILON, 1, 1, sample=SampleDesign(RATE, 1, EPSILON))
    assert sampled_audit(race, UnitAtTheBound(1, RATE), together=2) > EPSILON


@pytest.mark.parametrize("design", [SampleDesign(RATE, 1, EPSILON), SampleDesign(RATE**2, TUPLES, EPSILON)])
def test_catches_units_of_one_tuple_and_a_rate_that_is_applied_twice(design: SampleDesign) -> None:
    assert values_bound(shared(design=design), PURE_UNIT, CUTS) > EPSILON


def as_published(epsilon: float) -> PublishedS4S:
    return PublishedS4S(epsilon, 1024, 1, sample=SampleDesign(0.001, 1024, epsilon))


@pytest.mark.slow
def test_catches_the_published_sum_and_lets_the_sound_budgets_pass() -> None:
    """Twelve million runs see what four million do not."""
    unit, sound = UnitAtTheBound(1024, 0.001), S4S(4.0, 1024, 1, sample=SampleDesign(0.001, 1024, 4.0))
    assert values_bound(as_published(4.0), unit, AS_PUBLISHED_CUTS, runs=12_000_000) > 4.0
    assert values_bound(sound, unit, AS_PUBLISHED_CUTS, runs=12_000_000) <= 4.0


@pytest.mark.slow
def test_the_published_pure_budgets_pass_with_a_sample_for_each_threshold() -> None:
    race = as_published(4.0)
    assert race.event_apart == PureDP(4.0)
    assert values_bound(race, UnitAtTheBound(1024, 0.001), AS_PUBLISHED_CUTS, fresh=True, runs=300_000) <= 4.0


UNIT = UnitAtTheBound(8, 0.2)
RARE = UnitAtTheBound(64, 0.02)
LEVEL = [1.0, 1.0, 1.0, 1.0]


def race(tuples: int, rate: float, epsilon: float = EPSILON, groups: int = 1, published: bool = False) -> S4SRenyi:
    return S4SRenyi(epsilon, tuples, groups, delta=DELTA, rate=rate, published=published)


@pytest.mark.parametrize("epsilon", [slow(0.5), 2.0, slow(4.0)])
@pytest.mark.parametrize("unit", [UNIT, slow(RARE), slow(UnitAtTheBound(8, 1.0))])
def test_all_values_keep_the_claim(epsilon: float, unit: UnitAtTheBound) -> None:
    assert 0.1 * epsilon < values_bound(race(unit.tuples, unit.rate, epsilon), unit, LEVEL) <= epsilon


@pytest.mark.slow
def test_the_published_answer_keeps_the_claim_and_pays_for_a_solver_gap() -> None:
    assert 0.2 * EPSILON < sampled_audit(race(8, 0.2), UNIT, runs=300_000, delta=DELTA) <= EPSILON

    assert values_bound(S4SRenyi(EPSILON, 8, gap=0.5, delta=DELTA, rate=0.2), UNIT, LEVEL) <= EPSILON


@pytest.mark.slow
def test_the_published_budgets_pass_with_a_sample_for_each_threshold() -> None:
    published = race(64, 0.02, published=True)
    assert 0.2 * EPSILON < values_bound(published, RARE, [1.0], fresh=True) <= EPSILON


@pytest.mark.slow
@pytest.mark.statistical(FAILURE_PROBABILITY)
def test_with_the_noise_of_production() -> None:
    assert values_bound(race(8, 0.2), UNIT, LEVEL, OpendpEntropy(), runs=20_000) <= EPSILON


@pytest.mark.parametrize(("tuples", "rate"), [slow(64, 0.02**2), (1, 0.02)])
def test_catches_a_rate_that_is_applied_twice_and_units_of_one_tuple(tuples: int, rate: float) -> None:
    assert values_bound(race(tuples, rate), RARE, [1.0]) > EPSILON


class UnsplitRenyi(S4SRenyi):
    """Every threshold spends everything."""

    @property
    def _steps(self):  # type: ignore[no-untyped-def]
        return gaussian_levels(self.thresholds, self.gap, [self.plan.rho / self.plan.alpha] * len(self.thresholds))


def test_catches_an_unsplit_budget_and_half_the_noise() -> None:
    assert values_bound(race(8, 0.2), UNIT, LEVEL, WeakerNoise(SimulatedEntropy(1), gaussian=0.5)) > EPSILON
    assert (
        values_bound(UnsplitRenyi(EPSILON, 64, delta=DELTA), UnitAtTheBound(64, 1.0), [1.0, 2.0, 4.0, 8.0]) > EPSILON
    )


@pytest.mark.slow
def test_two_releases_of_one_sample_share_its_budget_and_one_where_there_are_four_is_caught() -> None:
    unit, runs = UnitAtTheBound(1, 0.5), 450_000
    assert sampled_audit(race(1, 0.5, groups=2), unit, runs=runs, together=2, delta=DELTA) <= EPSILON
    assert sampled_audit(race(1, 0.5), unit, runs=runs, together=4, delta=DELTA) > EPSILON


ALL, MOST, SOME = UnitAtTheBound(8, 1.0), UnitAtTheBound(8, 0.9), UnitAtTheBound(8, 0.2)
WEIGHTS = [1.0, 2.0, 4.0, 8.0]


def concentrated(tuples: int = 8, groups: int = 1) -> S4SConcentrated:
    return S4SConcentrated(EPSILON, tuples, groups, delta=DELTA)


@pytest.mark.parametrize("unit", [ALL, slow(MOST), slow(SOME)])
def test_concentrated_values_keep_the_claim(unit: UnitAtTheBound) -> None:
    least = 0.2 * EPSILON if unit is ALL else 0.0
    assert least < values_bound(concentrated(), unit, WEIGHTS) <= EPSILON


class UnsplitConcentrated(S4SConcentrated):
    """Every threshold spends everything."""

    @property
    def _each(self) -> float:
        return self.concentrated.rho


class AmplifiedByTheMean(S4SConcentrated):
    """rho for the mean of the loss, to which rho'(a) / a falls at small orders: as if orders near 1 were all."""

    rate = 0.2

    @property
    def _each(self) -> float:
        return super()._each / self.rate**2


def test_catches_half_the_concentrated_noise_and_an_unsplit_budget_and_amplification_by_the_rate() -> None:
    """The last for a unit whose tuples are all drawn as often as one of eight would be."""
    assert values_bound(concentrated(), ALL, WEIGHTS, WeakerNoise(SimulatedEntropy(1), gaussian=0.5)) > EPSILON
    assert values_bound(UnsplitConcentrated(EPSILON, 8, delta=DELTA), ALL, WEIGHTS) > EPSILON
    assert values_bound(AmplifiedByTheMean(EPSILON, 8, delta=DELTA), UnitAtTheBound(8, 0.9), WEIGHTS) > EPSILON


@pytest.mark.parametrize("rate", [0.001, 0.2, 0.9])
def test_no_rate_amplifies_zcdp(rate: float) -> None:
    """rho'(a) / a rises with a, to the loss of all rows and no further: the supremum that appendix G leaves open."""
    losses = [gaussian_loss(tau, 3.0 * tau) for tau in (1.0, 2.0, 4.0)]
    orders = [1.001, 1.5, 2.0, 8.0, 64.0, 1024.0, 16384.0]
    ratios = [joint_renyi(losses, 4, rate, order) / order for order in orders]
    whole = math.fsum(loss.most for loss in losses)
    assert ratios == sorted(ratios)
    assert ratios[0] < 0.95 * whole
    assert ratios[-1] == pytest.approx(whole, rel=2e-2)
    assert max(ratios) <= whole * (1 + 1e-9)


def test_it_costs_what_all_rows_do() -> None:
    made = concentrated(1024, groups=3)
    rho = ConcentratedBudget.of(EPSILON, DELTA).rho
    assert made.event == ZCDP(rho)
    spent = math.fsum(level.rho or math.inf for level in made._levels(1)) * 3
    assert rho * (1 - 1e-9) < spent <= rho
    assert made.epsilon_if_bound_fails() == EPSILON
