"""Intervals of `released_sample` cover as often as they say, the error of sampling included where they name it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.join_tuples import JoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.measurement import Measurement
from privacy.mechanisms.racing.s4s import S4S
from privacy.noisy_answer import NoisyAnswer
from privacy.published.s4s_rdp import S4SRenyi
from privacy.published.sampled.inner_mechanism import InnerMechanism
from privacy.published.sampled.population import NoisyPopulation, PublicPopulation
from privacy.published.sampled.sample_and_explore import SampleAndExplore
from privacy.published.sampled.simple_sampling import SimpleSampling
from privacy.sampling.design import SampleDesign
from privacy.sampling.scale_up import scale_up
from privacy.truncation.encode import encode
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.truncation.truncate import truncate
from privacy.units import ONE
from tests.audit.covering import RUNS, Coverage, Truth, joined, mean_sampled
from tests.audit.sampled_auditing import tuples_of
from tests.support.simulated_entropy import SimulatedEntropy

ALIKE = [40] * 100
SKEWED = np.floor(400 / np.arange(1, 121) ** 0.8).astype(int).tolist()
CROWDS = {"alike": ALIKE, "skewed": SKEWED}
LADDER = Ladder(0, 8)
CERTAIN = 1e5
"""An epsilon with next to no noise: what is left is the error of sampling."""


def scaled_up(mechanism: Measurement, answer: NoisyAnswer, rate: float) -> NoisyAnswer:
    """The scaled answer, with its threshold as the sample had it."""
    return replace(scale_up(answer, rate, len(mechanism.ladder)), tau=answer.tau)


def crowd_coverage(mechanism: Measurement, loads: list[int], rate: float, fresh: bool = False) -> Coverage:
    """Of the mean truncated answer over samples. Units have tuples of their own; each run has a sample of its own.

    Args:
      fresh: every threshold has a sample of its own.
    """
    source, generator = SimulatedEntropy(seed=20260111), np.random.default_rng(20260112)
    ladder = mechanism.ladder
    truth = mean_sampled(loads, rate, ladder)

    def cut(size: int, units: NDArray[np.int64]) -> NDArray[np.int64]:
        drawn = generator.binomial(np.array(loads, np.int64), rate, (size, len(loads))) * ONE
        return np.stack([np.minimum(drawn, tau).sum(axis=1) for tau in units], axis=1)

    def part(size: int) -> NoisyAnswer:
        columns = [cut(size, ladder.units[i : i + 1]) for i in range(len(ladder))] if fresh else []
        table = np.concatenate(columns, axis=1) if fresh else cut(size, ladder.units)
        return scaled_up(mechanism, mechanism.release(TabulatedAnswer(table, ladder), source), rate)

    return Coverage(lambda size: (joined([part(size // 10) for _ in range(10)]), truth), ladder)


@pytest.mark.parametrize(("crowd", "rate"), [("alike", 0.25), ("alike", 0.02), ("skewed", 0.1)])
@pytest.mark.parametrize("epsilon", [1.0, 50.0])
def test_gem_from_a_sample(crowd: str, rate: float, epsilon: float) -> None:
    loads = CROWDS[crowd]
    gem = Gem(epsilon, 1, ladder=LADDER, sample=SampleDesign(rate, max(loads), epsilon))
    found = crowd_coverage(gem, loads, rate)
    assert found.confidence == pytest.approx(0.94)
    assert not found.refuted


@pytest.mark.parametrize("fresh", [False, True])
def test_races_from_a_sample(fresh: bool) -> None:
    rate, bound = 0.1, 400
    for race in (
        S4S(4.0, bound, 1, sample=SampleDesign(rate, bound, 4.0), published=fresh),
        S4SRenyi(4.0, 1e-6, bound, rate, published=fresh),
    ):
        assert not crowd_coverage(race, SKEWED, rate, fresh).refuted


def test_catches_an_interval_without_the_error_of_sampling() -> None:
    gem = Gem(CERTAIN, 1, ladder=LADDER)
    source, generator = SimulatedEntropy(3), np.random.default_rng(4)
    loads, rate = np.array(ALIKE), 0.25

    def release(size: int) -> tuple[NoisyAnswer, Truth]:
        drawn = generator.binomial(loads, rate, (size, len(loads))) * ONE
        table = np.stack([np.minimum(drawn, tau).sum(axis=1) for tau in LADDER.units], axis=1)
        answer = gem.release(TabulatedAnswer(table, LADDER), source)
        return replace(answer, low=answer.low / rate, high=answer.high / rate), mean_sampled(ALIKE, rate, LADDER)

    assert Coverage(release, LADDER).refuted


EDGES = [(0, 1, 1.0), (0, 2, 0.5), (0, 3, 1.0), (1, 2, 1.0), (3, 4, 0.25), (4, 5, 1.0), (0, 5, 1.0), (2, 5, 1.0)]
"""Two owners each, so that truncating them is a matching; few enough that every sample can be written down."""


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("epsilon", [2.0, CERTAIN])
def test_tuples_of_two_owners(rate: float, epsilon: float) -> None:
    ladder = Ladder(-1, 2)
    subsets = np.array(list(itertools.product([False, True], repeat=len(EDGES))))
    table = np.array([_truncated(tuples_of([EDGES[i] for i in np.flatnonzero(kept)]), ladder) for kept in subsets])
    chance = np.where(subsets, rate, 1 - rate).prod(axis=1)
    generator, source = np.random.default_rng(20260113), SimulatedEntropy(seed=20260114)
    gem = Gem(epsilon, 1, ladder=ladder)

    def release(size: int) -> tuple[NoisyAnswer, Truth]:
        drawn = generator.choice(len(subsets), size, p=chance)
        answer = gem.release(TabulatedAnswer(table[drawn], ladder), source)
        return scaled_up(gem, answer, rate), chance @ table / ONE / rate

    assert not Coverage(release, ladder).refuted


def _truncated(tuples: JoinTuples, ladder: Ladder) -> NDArray[np.int64]:
    answer = truncate(encode(tuples), 0, ladder, 0.0)
    return np.array([answer.solve(0, i) for i in range(len(ladder))], np.int64)


INNER = [InnerMechanism("fixed", 2.0), InnerMechanism("laplace_global", 3.0), InnerMechanism("r2t", 4.0)]


@pytest.mark.parametrize("inner", INNER, ids=lambda inner: inner.name)
def test_samples_of_units_cover_their_own_answer(inner: InnerMechanism) -> None:
    """What another sample would have given is outside of it: the truth here is the sample's answer, scaled."""
    mechanism = SimpleSampling(1.0, 0.5, 2, inner)
    source, ladder = SimulatedEntropy(seed=20260115), mechanism.measurement.ladder
    kept = np.random.default_rng(20260116).integers(0, 50, (RUNS, 1))

    def release(size: int) -> tuple[NoisyAnswer, Truth]:
        values = np.minimum(np.resize(kept, (size, 1)) * ONE, 20 * ladder.units)
        answer = mechanism.noised(TabulatedAnswer(values, ladder), source)
        return replace(answer, tau=answer.tau / mechanism.factor), values / ONE * mechanism.factor

    found = Coverage(release, ladder)
    assert not found.refuted and found.share < 0.9995


@pytest.mark.parametrize("public", [True, False])
def test_explored_units_cover_their_own_answer(public: bool) -> None:
    """The number of units is public, or an interval of its own."""
    units, drawn = 40, 2
    population = PublicPopulation(units) if public else NoisyPopulation(0.5, least=10)
    mechanism = SampleAndExplore(2.0, drawn, 2, population, InnerMechanism("fixed", 2.0))
    source, ladder = SimulatedEntropy(seed=20260117), Ladder(1, 1)
    table = TabulatedAnswer(np.full((1, 1), 3 * ONE), ladder)

    def release(size: int) -> tuple[NoisyAnswer, Truth]:
        parts = [mechanism.noised(table, units, source) for _ in range(size)]
        return joined(parts), np.array([3.0 * units / drawn])

    found = Coverage(release, ladder)
    assert not found.refuted and found.share < 0.999
