"""sample_and_explore, in all its forms, and simple_sampling keep their claims on worst cases; mutants do not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import pytest

from privacy.entropy import Entropy
from privacy.mechanisms.measurement import Measurement
from tests.audit.auditing import slow
from tests.audit.mutants import WeakerNoise
from tests.audit.sampled_auditing import Pairs, explored_runs, lower_bound, sampled_runs, tuples_of
from tests.support.papers.sample_and_explore import RepeatedExploration, SampleAndExplore
from tests.support.papers.simple_sampling import (
    InnerMechanism,
    NoisyPopulation,
    PublicPopulation,
    SimpleSampling,
    UnitCount,
)
from tests.support.papers.summed_noise import SummedNoise
from tests.support.seeded_draws import SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy

FIXED = InnerMechanism("fixed", 1.0)
UNITS = 6
HUB: tuple[Pairs, Pairs] = ([], [(1, 0, 1.0), (2, 0, 1.0), (0, -1, 1.0)])
"""Nobody, against a unit with two collaborators, each of which brings the threshold with it."""

HALVES: tuple[Pairs, Pairs] = ([(1, -1, 0.5), (2, -1, 0.5)], [(1, -1, 0.5), (2, -1, 0.5), (1, 0, 0.5), (2, 0, 0.5)])
"""Two collaborators with half a threshold each, alone and with the unit: worst where both are drawn."""


def explored_bound(mechanism: SampleAndExplore, pair: tuple[Pairs, Pairs], entropy: Entropy | None = None) -> float:
    return lower_bound(*(explored_runs(mechanism, rows, UNITS, entropy=entropy) for rows in pair))


@pytest.mark.parametrize("epsilon", [slow(0.5), 1.0])
def test_one_explored_unit_costs_all_and_no_more(epsilon: float) -> None:
    mechanism = SampleAndExplore(epsilon, 1, 2, PublicPopulation(UNITS), FIXED)
    assert epsilon - 0.25 < explored_bound(mechanism, HUB) <= epsilon


@pytest.mark.parametrize("pair", [slow(HUB), HALVES])
@pytest.mark.parametrize(("name", "bound"), [("fixed", 1.0), slow("r2t", 4.0), slow("gem", None)])
def test_two_units_at_once(pair: tuple[Pairs, Pairs], name: str, bound: float | None) -> None:
    mechanism = SampleAndExplore(1.0, 2, 2, PublicPopulation(UNITS), InnerMechanism(name, bound))
    assert explored_bound(mechanism, pair) <= 1.0


def test_catches_more_units_than_there_are() -> None:
    """Amplification for 60 units where there are 6."""

    class Believes(SampleAndExplore):
        def measurement(self, units: int) -> Measurement:
            return super().measurement(10 * units)

    assert explored_bound(Believes(1.0, 1, 2, PublicPopulation(UNITS), FIXED), HUB) > 1.0


def test_catches_half_the_noise_and_collaborators_that_are_forgotten() -> None:
    right, forgetful = (SampleAndExplore(1.0, 1, others, PublicPopulation(UNITS), FIXED) for others in (2, 0))
    assert explored_bound(right, HUB, WeakerNoise(SimulatedEntropy(1), laplace=0.5)) > 1.0
    assert explored_bound(forgetful, HUB) > 1.0


@dataclass(frozen=True)
class PrivateNumber(NoisyPopulation):
    """Algorithm 1 as published: the noise is scaled with the private number of units itself."""

    def count(self, units: int, entropy: Entropy, confidence: float) -> UnitCount:
        count = super().count(units, entropy, confidence)
        return UnitCount(count.estimate, units, count.low, count.high)


def of_one_or_two(population: NoisyPopulation) -> float:
    """One unit without tuples, against two. The published number of units is left out: it is the same run for all."""
    mechanism = RepeatedExploration(1.0, 1, 0, population, 1.0)
    answers = []
    for units in (1, 2):
        prepared = mechanism.prepare(tuples_of([]), units)
        answer = mechanism.release_prepared(prepared, SeededDraws(5), SimulatedEntropy(6), 200_000)
        count = population.count(units, SimulatedEntropy(6), 0.99)
        answers.append(replace(answer, values=answer.values / count.estimate))
    return lower_bound(*answers)


def test_catches_noise_that_follows_the_private_number_of_units() -> None:
    assert of_one_or_two(PrivateNumber(0.2, least=1)) > 1.0
    assert of_one_or_two(NoisyPopulation(0.2, least=1)) <= 0.8


def repeated_bound(mechanism: RepeatedExploration, entropy: Entropy) -> float:
    answers = []
    for rows in HUB:
        prepared = mechanism.prepare(tuples_of(rows), UNITS)
        answers.append(mechanism.release_prepared(prepared, SeededDraws(8), entropy, 150_000))
    return lower_bound(*answers)


@pytest.mark.parametrize("drawn", [1, slow(2), slow(5)])
def test_repeated_explorations_cost_no_more_than_all(drawn: int) -> None:
    mechanism = RepeatedExploration(1.0, drawn, 2, PublicPopulation(UNITS), 1.0)
    bound = repeated_bound(mechanism, SimulatedEntropy(9))
    assert bound <= 1.0
    assert drawn > 1 or bound > 0.8


class UnsplitRepeated(RepeatedExploration):
    """Every repetition spends everything."""

    def noise(self, units: int) -> SummedNoise:
        return RepeatedExploration(self.epsilon, 1, self.collaborators, self.population, self.threshold).noise(units)


def test_catches_an_unsplit_budget_and_repetitions_that_forget_collaborators() -> None:
    assert repeated_bound(UnsplitRepeated(1.0, 5, 2, PublicPopulation(UNITS), 1.0), SimulatedEntropy(9)) > 1.0
    assert repeated_bound(RepeatedExploration(1.0, 1, 0, PublicPopulation(UNITS), 1.0), SimulatedEntropy(9)) > 1.0


ALONE: tuple[Pairs, Pairs] = ([], [(1, -1, 4.0)])
"""Nobody, against one unit that reaches the threshold whenever it is drawn, whatever is made up for."""

CROWD: tuple[Pairs, Pairs] = (
    [(1, 2, 0.5), (2, 3, 0.5)],
    [(1, 2, 0.5), (2, 3, 0.5), (0, 1, 1.0), (0, 2, 1.0), (3, 0, 1.0), (0, 0, 1.0)],
)


@pytest.mark.parametrize(("epsilon", "rate"), [slow(0.5, 0.25), (1.0, 0.25), slow(2.0, 0.5), slow(1.0, 1.0)])
def test_a_unit_that_is_drawn_or_not_costs_all_and_no_more(epsilon: float, rate: float) -> None:
    mechanism = SimpleSampling(epsilon, rate, 2, FIXED)
    bound = lower_bound(*(sampled_runs(mechanism, rows, 200_000) for rows in ALONE))
    assert epsilon - 0.25 < bound <= epsilon


@pytest.mark.parametrize("name", ["fixed", slow("laplace_global"), slow("r2t"), slow("gem")])
def test_a_unit_in_a_crowd(name: str) -> None:
    mechanism = SimpleSampling(1.0, 0.5, 2, InnerMechanism(name, None if name == "gem" else 4.0))
    assert lower_bound(*(sampled_runs(mechanism, rows) for rows in CROWD)) <= 1.0


class LinearAmplification(SimpleSampling):
    """Noise for epsilon / rate, the rule of thumb, which holds for small epsilon only."""

    @cached_property
    def measurement(self) -> Measurement:
        return self.inner.at(self.epsilon / self.rate)


class SampledBound(SimpleSampling):
    """Noise for the bound that a sample probably has, as the published experiments do, with nobody truncated."""

    @cached_property
    def measurement(self) -> Measurement:
        proper = SimpleSampling(self.epsilon, self.rate, self.positions, self.inner).measurement
        return self.inner.at(proper.epsilon / (2 * self.rate))


def test_catches_linear_amplification_and_the_bound_that_a_sample_probably_has() -> None:
    for mechanism in (LinearAmplification(1.0, 0.25, 2, FIXED), SampledBound(1.0, 0.125, 2, FIXED)):
        assert lower_bound(*(sampled_runs(mechanism, rows) for rows in ALONE)) > 1.0, mechanism


def test_catches_half_the_noise_of_a_sample_of_units() -> None:
    mechanism, source = SimpleSampling(1.0, 0.25, 2, FIXED), WeakerNoise(SimulatedEntropy(1), laplace=0.5)
    assert lower_bound(*(sampled_runs(mechanism, rows, entropy=source) for rows in ALONE)) > 1.0
