"""Intervals cover as often as they say: of `truncated_full` and `truth_lower` on what is hardest for them.

Those of `released_sample` with the error of sampling included, where they name it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from privacy.entropy import Entropy
from privacy.join_tuples import JoinTuples
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.measurement import Measurement
from privacy.mechanisms.shared_threshold import fixed_threshold
from privacy.noisy_answer import NoisyAnswer
from privacy.papers.dp_s4s import S4S
from privacy.papers.r2t import R2T
from privacy.sampling.design import SampleDesign
from privacy.sampling.scale_up import scale_up
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import TabulatedAnswer, TruncatedAnswer
from privacy.units import ONE
from tests.audit.auditing import FAILURE_PROBABILITY, goes, slow
from tests.audit.auditor import coverage_upper_bound
from tests.audit.mutants import WeakerNoise
from tests.audit.sampled_auditing import joined, tuples_of
from tests.support.papers.laplace_global import LaplaceGlobal
from tests.support.papers.s4s_variants import PublishedS4S, S4SRenyi
from tests.support.papers.sample_and_explore import SampleAndExplore
from tests.support.papers.simple_sampling import InnerMechanism, NoisyPopulation, PublicPopulation, SimpleSampling
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

RUNS = 20_000
"""Of each test of coverage; more in an audit at length."""

Truth = NDArray[np.float64]
"""(L,) or (runs, L), in normalised weight: what an interval at each threshold is to cover."""


class Coverage:
    """How many of the intervals covered.

    Attributes:
      runs, hits: how many there were, and how many covered.
      confidence: what the intervals say.
    """

    def __init__(
        self, release: Callable[[int], tuple[NoisyAnswer, Truth]], thresholds: Thresholds, runs: int = RUNS
    ) -> None:
        """Ask for so many intervals or more, some at a time.

        Args:
          release: so many independent runs, one per group, and what their intervals name.
          ladder: the thresholds that `Truth` is for.
        """
        self.runs = self.hits = 0
        for size in goes(runs):
            answer, truth = release(size)
            at = np.broadcast_to(truth, (size, len(thresholds)))[np.arange(size), _index(answer, thresholds)]
            self.hits += int(((answer.low <= at) & (at <= answer.high)).sum())
            self.runs += size
            self.confidence = answer.confidence

    @property
    def share(self) -> float:
        """Of the runs that covered."""
        return self.hits / self.runs

    @property
    def refuted(self) -> bool:
        """The intervals cover less often than they say: wrong of a true claim with FAILURE_PROBABILITY."""
        return coverage_upper_bound(self.hits, self.runs, FAILURE_PROBABILITY) < self.confidence


def mean_sampled(contributions: Sequence[int], rate: float, thresholds: Thresholds) -> Truth:
    """(L,) sum_u E[min(tau, Binomial(load_u, rate))] / rate: of units that share no tuple, scaled up."""
    taus, total = thresholds.taus, np.zeros(len(thresholds))
    for contribution, people in zip(*np.unique(contributions, return_counts=True), strict=True):
        k = np.arange(contribution + 1)
        total += people * (np.minimum(k, taus[:, None]) * binom.pmf(k, contribution, rate)).sum(axis=1)
    return total / rate


def _index(answer: NoisyAnswer, thresholds: Thresholds) -> NDArray[np.int64]:
    """Which threshold each interval is for: the published one, which may be scaled up; 0 where there is none."""
    return np.clip(np.searchsorted(thresholds.taus, answer.tau), 0, len(thresholds) - 1)


SHORT = Thresholds(-3, 6)

NOBODY = np.zeros(0)
ALIKE = np.full(200, 5.0)
SKEWED = np.floor(300 / np.arange(1, 401) ** 0.8)
FRACTIONS = np.random.default_rng(3).random(300)
CROWDS = {"nobody": NOBODY, "alike": ALIKE, "skewed": SKEWED, "fractions": FRACTIONS}


def coverage(
    mechanism: Measurement, contributions: Truth, lowest: bool = False, entropy: Entropy | None = None
) -> Coverage:
    """Of the truncated answer at the published tau, or of the whole answer where the interval is one-sided.

    Args:
      lowest: the solver errs as much as it may: by gap tau, but not below zero.
    """
    source = SimulatedEntropy(seed=20260110) if entropy is None else entropy
    taus, gap = mechanism.thresholds.taus, mechanism.gap
    whole = np.minimum(contributions[:, None], taus).sum(axis=0)
    solved = np.maximum(whole - gap * taus, 0.0) if lowest else whole
    units = np.ceil(solved * ONE).astype(np.int64)

    def release(size: int) -> tuple[NoisyAnswer, Truth]:
        table = np.broadcast_to(units, (size, len(taus)))
        answer = mechanism.release(TabulatedAnswer(table, mechanism.thresholds, gap), source)
        return answer, np.full(len(taus), contributions.sum()) if answer.covers == "truth_lower" else whole

    return Coverage(release, mechanism.thresholds)


@pytest.mark.parametrize("crowd", [slow("nobody"), slow("alike"), "skewed", slow("fractions")])
@pytest.mark.parametrize("confidence", [0.5, 0.95, slow(0.999)])
def test_gem(crowd: str, confidence: float) -> None:
    found = coverage(Gem(PureBudget(1.0), groups_per_unit=1, thresholds=SHORT, confidence=confidence), CROWDS[crowd])
    assert found.confidence == confidence
    assert not found.refuted
    assert found.share < confidence + 0.02  # whole numbers of steps; more would be wider than it need be


@pytest.mark.parametrize("lowest", [True, False])
@pytest.mark.parametrize("gap", [slow(0.01), 0.5])
def test_a_solver_gap_is_within_the_interval(gap: float, lowest: bool) -> None:
    assert not coverage(Gem(PureBudget(1.0), 1, gap, SHORT), SKEWED, lowest).refuted
    assert not coverage(fixed_threshold(4.0, 1, gap, thresholds=Thresholds(3, 3)), SKEWED, lowest).refuted
    assert not coverage(LaplaceGlobal(4.0, 300.0, 1, gap), SKEWED, lowest).refuted


@pytest.mark.parametrize("crowd", [slow("nobody"), slow("alike"), "skewed", slow("fractions")])
def test_one_threshold(crowd: str) -> None:
    for mechanism in (
        fixed_threshold(1.0, groups_per_unit=1, thresholds=Thresholds(2, 2)),
        LaplaceGlobal(1.0, 24.0, groups_per_unit=1),
    ):
        found = coverage(mechanism, CROWDS[crowd])
        assert not found.refuted and found.share < 0.97


RACES: list[Measurement] = [
    R2T(1.0, 2.0, groups_per_unit=1, confidence=0.6),
    R2T(1.0, 512.0, groups_per_unit=1),
    S4S(1.0, 1, 1, beta=0.9),
    S4S(1.0, 512, 1),
    S4SRenyi(1.0, 1, beta=0.9, delta=1e-6),
    S4SRenyi(1.0, 512, delta=1e-6),
]


@pytest.mark.parametrize("mechanism", RACES, ids=lambda race: f"{race.name}-{len(race.thresholds)}")
@pytest.mark.parametrize("crowd", [slow("nobody"), slow("alike"), "skewed"])
def test_a_race_is_below_the_truth(mechanism: Measurement, crowd: str) -> None:
    assert not coverage(mechanism, CROWDS[crowd]).refuted


@pytest.mark.parametrize("mechanism", RACES[::2], ids=lambda race: race.name)
def test_a_race_of_one_threshold_is_below_just_as_often_as_it_says(mechanism: Measurement) -> None:
    found = coverage(mechanism, np.ones(500))
    assert not found.refuted and found.share < found.confidence + 0.02


def test_catches_twice_the_noise() -> None:
    for mechanism in (
        Gem(PureBudget(1.0), 1, thresholds=SHORT),
        fixed_threshold(1.0, 1, thresholds=Thresholds(2, 2)),
        R2T(1.0, 2.0, 1),
    ):
        twice = WeakerNoise(SimulatedEntropy(1), laplace=2.0)
        assert coverage(mechanism, np.ones(500), entropy=twice).refuted


def test_catches_a_gap_that_the_interval_forgets() -> None:
    """Above all where the noise is small: the interval is for exact values, which these are not."""

    class Forgets(Gem):
        def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
            exact = Gem(PureBudget(self.epsilon), 1, thresholds=self.thresholds)
            return exact.release(TabulatedAnswer(answer.bounds()[0], answer.thresholds), entropy)

    assert coverage(Forgets(PureBudget(8.0), 1, 0.5, Thresholds(3, 3)), SKEWED, lowest=True).refuted


LOADS = [40] * 100
SKEWED_LOADS = np.floor(400 / np.arange(1, 121) ** 0.8).astype(int).tolist()
THRESHOLDS = Thresholds(0, 8)
CERTAIN = 1e5
"""An epsilon with next to no noise: what is left is the error of sampling."""


def scaled_up(mechanism: Measurement, answer: NoisyAnswer, rate: float) -> NoisyAnswer:
    """The scaled answer, with its threshold as the sample had it."""
    return replace(scale_up(answer, rate, len(mechanism.thresholds)), tau=answer.tau)


def crowd_coverage(mechanism: Measurement, contributions: list[int], rate: float, fresh: bool = False) -> Coverage:
    """Of the mean truncated answer over samples. Units have tuples of their own; each run has a sample of its own.

    Args:
      fresh: every threshold has a sample of its own.
    """
    source, generator = SimulatedEntropy(seed=20260111), np.random.default_rng(20260112)
    thresholds = mechanism.thresholds
    truth = mean_sampled(contributions, rate, thresholds)

    def cut(size: int, units: NDArray[np.int64]) -> NDArray[np.int64]:
        drawn = generator.binomial(np.array(contributions, np.int64), rate, (size, len(contributions))) * ONE
        return np.stack([np.minimum(drawn, tau).sum(axis=1) for tau in units], axis=1)

    def part(size: int) -> NoisyAnswer:
        columns = [cut(size, thresholds.units[i : i + 1]) for i in range(len(thresholds))] if fresh else []
        table = np.concatenate(columns, axis=1) if fresh else cut(size, thresholds.units)
        return scaled_up(mechanism, mechanism.release(TabulatedAnswer(table, thresholds), source), rate)

    return Coverage(lambda size: (joined([part(size // 10) for _ in range(10)]), truth), thresholds)


@pytest.mark.parametrize(("contributions", "rate"), [slow(LOADS, 0.25), slow(LOADS, 0.02), (SKEWED_LOADS, 0.1)])
@pytest.mark.parametrize("epsilon", [1.0, slow(50.0)])
def test_gem_from_a_sample(contributions: list[int], rate: float, epsilon: float) -> None:
    gem = Gem(PureBudget(epsilon), 1, thresholds=THRESHOLDS, sample=SampleDesign(rate, max(contributions), epsilon))
    found = crowd_coverage(gem, contributions, rate)
    assert found.confidence == pytest.approx(0.94)
    assert not found.refuted


@pytest.mark.parametrize("fresh", [False, slow(True)])
def test_races_from_a_sample(fresh: bool) -> None:
    rate, bound = 0.1, 400
    for race in (
        (PublishedS4S if fresh else S4S)(4.0, bound, 1, sample=SampleDesign(rate, bound, 4.0)),
        S4SRenyi(4.0, bound, delta=1e-6, rate=rate, published=fresh),
    ):
        assert not crowd_coverage(race, SKEWED_LOADS, rate, fresh).refuted


def test_catches_an_interval_without_the_error_of_sampling() -> None:
    gem = Gem(PureBudget(CERTAIN), 1, thresholds=THRESHOLDS)
    source, generator = SimulatedEntropy(3), np.random.default_rng(4)
    contributions, rate = np.array(LOADS), 0.25

    def release(size: int) -> tuple[NoisyAnswer, Truth]:
        drawn = generator.binomial(contributions, rate, (size, len(contributions))) * ONE
        table = np.stack([np.minimum(drawn, tau).sum(axis=1) for tau in THRESHOLDS.units], axis=1)
        answer = gem.release(TabulatedAnswer(table, THRESHOLDS), source)
        return replace(answer, low=answer.low / rate, high=answer.high / rate), mean_sampled(LOADS, rate, THRESHOLDS)

    assert Coverage(release, THRESHOLDS).refuted


EDGES = [(0, 1, 1.0), (0, 2, 0.5), (0, 3, 1.0), (1, 2, 1.0), (3, 4, 0.25), (4, 5, 1.0), (0, 5, 1.0), (2, 5, 1.0)]
"""Two owners each, so that truncating them is a matching; few enough that every sample can be written down."""


@pytest.mark.parametrize("rate", [slow(0.1), 0.5, slow(1.0)])
@pytest.mark.parametrize("epsilon", [2.0, slow(CERTAIN)])
def test_tuples_of_two_owners(rate: float, epsilon: float) -> None:
    thresholds = Thresholds(-1, 2)
    subsets = np.array(list(itertools.product([False, True], repeat=len(EDGES))))
    table = np.array(
        [_truncated(tuples_of([EDGES[i] for i in np.flatnonzero(kept)]), thresholds) for kept in subsets]
    )
    chance = np.where(subsets, rate, 1 - rate).prod(axis=1)
    generator, source = np.random.default_rng(20260113), SimulatedEntropy(seed=20260114)
    gem = Gem(PureBudget(epsilon), 1, thresholds=thresholds)

    def release(size: int) -> tuple[NoisyAnswer, Truth]:
        drawn = generator.choice(len(subsets), size, p=chance)
        answer = gem.release(TabulatedAnswer(table[drawn], thresholds), source)
        return scaled_up(gem, answer, rate), chance @ table / ONE / rate

    assert not Coverage(release, thresholds).refuted


def _truncated(tuples: JoinTuples, thresholds: Thresholds) -> NDArray[np.int64]:
    answer = truncate(encode(tuples), 0, thresholds, 0.0)
    return np.array([answer.solve(0, i) for i in range(len(thresholds))], np.int64)


INNER = [InnerMechanism("fixed", 2.0), InnerMechanism("laplace_global", 3.0), InnerMechanism("r2t", 4.0)]


@pytest.mark.parametrize("inner", INNER, ids=lambda inner: inner.name)
def test_samples_of_units_cover_their_own_answer(inner: InnerMechanism) -> None:
    """What another sample would have given is outside of it: the truth here is the sample's answer, scaled."""
    mechanism = SimpleSampling(1.0, 0.5, 2, inner)
    source, thresholds = SimulatedEntropy(seed=20260115), mechanism.measurement.thresholds
    kept = np.random.default_rng(20260116).integers(0, 50, (RUNS, 1))

    def release(size: int) -> tuple[NoisyAnswer, Truth]:
        values = np.minimum(np.resize(kept, (size, 1)) * ONE, 20 * thresholds.units)
        answer = mechanism.noised(TabulatedAnswer(values, thresholds), source)
        return replace(answer, tau=answer.tau / mechanism.factor), values / ONE * mechanism.factor

    found = Coverage(release, thresholds)
    assert not found.refuted and found.share < 0.9995


@pytest.mark.parametrize("public", [slow(True), False])
def test_explored_units_cover_their_own_answer(public: bool) -> None:
    """The number of units is public, or an interval of its own."""
    units, drawn = 40, 2
    population = PublicPopulation(units) if public else NoisyPopulation(0.5, least=10)
    mechanism = SampleAndExplore(2.0, drawn, 2, population, InnerMechanism("fixed", 2.0))
    source, thresholds = SimulatedEntropy(seed=20260117), Thresholds(1, 1)
    table = TabulatedAnswer(np.full((1, 1), 3 * ONE), thresholds)

    def release(size: int) -> tuple[NoisyAnswer, Truth]:
        parts = [mechanism.noised(table, units, source) for _ in range(size)]
        return joined(parts), np.array([3.0 * units / drawn])

    found = Coverage(release, thresholds, examples(1_000, RUNS))
    assert not found.refuted and found.share < 0.999
