"""Sample-and-explore: k privacy units and the tuples that they bring, at once or repeated.

`sample_and_explore` draws k units at once, and a mechanism sees the tuples that they bring.
`repeated_sample_and_explore` draws and explores a unit k times, and averages noisy truncated sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privacy.accounting.event import ApproxDP, PrivacyEvent, PureDP
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import check_confidence, exact, exact_epsilon, float_at_least
from privacy.join_tuples import JoinTuples, Private
from privacy.mechanisms.measurement import Measurement
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import ONE, Ints
from tests.support.papers.choosing_draws import ChoosingDraws
from tests.support.papers.simple_sampling import InnerMechanism, Population, UnitCount, scaled
from tests.support.papers.summed_noise import SummedNoise
from tests.support.papers.unit_samples import Explorable, Exploration, explorable, repeated_budget


@dataclass(frozen=True, eq=False, repr=False)
class ExploredTuples(Private):
    """What does not depend on the draw. Private, and shown by no repr.

    Attributes:
      tuples: by first owner.
      whole: the truncated answer of all tuples where every unit is drawn.
    """

    tuples: Explorable
    whole: TruncatedAnswer | None


@dataclass(frozen=True)
class SampleAndExplore:
    """Draw k of n units without replacement, see the tuples whose first owner was drawn, multiply by n / k.

    The inner mechanism has the budget e with `Exploration`.loss(e) = epsilon - epsilon_n, and the number of units
    costs epsilon_n: (epsilon, delta)-DP, delta being that of the population. k = 1 with `fixed` is the single
    sample-and-explore with truncation, k > 1 with `r2t` the extension in appendix D of the DP-S4S paper, for which
    no threshold has to be known.

    Departures from the papers: (1) the noise is scaled with a published lower bound on n and the product uses
    the published n, where Algorithm 1 uses n itself for the noise, which tells about n without being
    charged. (2) The amplification for k units is that of `Exploration`, as corollary D.2 is too low for k > 1 and
    large budgets, and needlessly high for many units.
    Source: Fang and Yi (SIGMOD 2024), section 5; corollary D.2 of DP-S4S (SIGMOD 2026); docs/mathematics.md,
      section 11.4.

    Attributes:
      epsilon: in all, > that of the population, at most 600.
      drawn: k >= 1; all units are drawn where there are fewer.
      collaborators: C >= 0, a public bound on how many other units share a tuple with a unit. If it is false, the
        loss is still at most the inner mechanism's budget and epsilon_n.
      population: how the number of units is known.
      inner: runs on what is explored.
    """

    epsilon: float
    drawn: int
    collaborators: int
    population: Population
    inner: InnerMechanism
    name = "sample_and_explore"

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        Exploration(self.drawn, self.collaborators).budget(explored_epsilon(self.epsilon, self.population), 1)

    @property
    def delta(self) -> float:
        """The probability with which the lower bound on the number of units fails."""
        return self.population.delta

    @property
    def event(self) -> PrivacyEvent:
        """Pure differential privacy where nothing can fail, approximate otherwise."""
        return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    def measurement(self, units: int) -> Measurement:
        """The inner mechanism with its amplified budget, whose epsilon is lost beside epsilon_n if C is false."""
        target = explored_epsilon(self.epsilon, self.population)
        return _measurement(self.inner, Exploration(self.drawn, self.collaborators), target, units)

    def release(self, tuples: JoinTuples, draws: ChoosingDraws, entropy: Entropy) -> NoisyAnswer:
        """Draw one sample and release one noisy value.

        Args:
          tuples: one group, one release; their first owner is the first position that is not empty.
        Raises: InvalidParameter where the number of units is private, as tuples do not show it: `prepare` takes it;
          EntropyFailed; SolverFailed.
        Cost: `prepare`, then `release_prepared`.
        """
        return self.release_prepared(self.prepare(tuples), draws, entropy)

    def prepare(self, tuples: JoinTuples, n_units: int | None = None) -> ExploredTuples:
        """File the tuples once, for many releases.

        Args:
          n_units: the private number of units, from their own tables. Not needed where it is public.
        Raises: InvalidParameter.
        """
        filed = explorable(tuples, known_units(self.population, n_units))
        return ExploredTuples(filed, self._truncated(tuples) if self.drawn >= filed.n_units else None)

    def release_prepared(self, prepared: ExploredTuples, draws: ChoosingDraws, entropy: Entropy) -> NoisyAnswer:
        """Draw one sample and release one noisy value.

        Cost: linear in the tuples that the drawn units bring, and truncating them.
        """
        return self.noised(self.sampled(prepared, draws), prepared.tuples.n_units, entropy)

    def sampled(self, prepared: ExploredTuples, draws: ChoosingDraws) -> TruncatedAnswer:
        """The truncated answer of one sample. Private."""
        if prepared.whole is not None:
            return prepared.whole
        units = prepared.tuples.n_units
        return self._truncated(prepared.tuples.brought_by(draws.choose(units, min(self.drawn, units))))

    def noised(self, answer: TruncatedAnswer, units: int, entropy: Entropy) -> NoisyAnswer:
        """The release, given the sample's truncated answer; its groups, if several, are independent releases.

        The number of units is published once for all of them.
        """
        confidence = 1.0 if self.population.public else _CONFIDENCE
        count = self.population.count(units, entropy, confidence)
        noisy = self.measurement(count.least).release(answer, entropy)
        factors = tuple(max(1.0, size / self.drawn) for size in (count.estimate, count.low, count.high))
        both = noisy.confidence - (1 - confidence)
        return scaled(noisy, (factors[0], factors[1], factors[2]), both, self.name, self.epsilon)

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width) per threshold of the inner mechanism, times n / k, n public or its lower bound."""
        least = self.population.least_public
        factor = max(1.0, least / self.drawn)
        return [(tau * factor, width * factor) for tau, width in self.measurement(least).expected_noise()]

    def _truncated(self, tuples: JoinTuples) -> TruncatedAnswer:
        """The truncated answer of a sample, on the inner mechanism's thresholds."""
        shape = self.inner.at(1.0)
        return truncate(encode(tuples), 0, shape.thresholds, shape.gap)


_CONFIDENCE = 0.99
"""Of the bounds on the number of units within an interval."""


@lru_cache(maxsize=64)
def _measurement(inner: InnerMechanism, exploration: Exploration, target: float, units: int) -> Measurement:
    """Made once for all releases of the same public numbers: looking for the budget takes longer than a release."""
    return inner.at(exploration.budget(target, units))


def explored_epsilon(epsilon: float, population: Population) -> float:
    """What is left for the exploration, rounded down. Raises: InvalidParameter where nothing is."""
    left = exact_epsilon(epsilon) - exact(population.epsilon)
    if left <= 0:
        raise InvalidParameter("the number of units leaves nothing to spend")
    return float(left) * (1 - 2.0**-50)


def known_units(population: Population, n_units: int | None) -> int:
    """The number of units to draw from. Raises: InvalidParameter where it is private and was not given."""
    if population.public is not None:
        return population.public
    if n_units is None:
        raise InvalidParameter("the tuples do not show how many privacy units there are")
    return n_units


@dataclass(frozen=True)
class RepeatedExploration:
    """n / k times the sum of k independent min(f(I | u_i), C) + Lap(C / e), u_i uniform among n units.

    All tuples that one unit brings share that unit, so truncating them is a minimum, and any two values differ by C
    at most: each of the k releases is e-DP whatever is drawn and `Exploration`(1 drawn).loss(e) = e_1 with the
    draw. They are independent, so by composition k of them cost epsilon - epsilon_n with `delta_composition`
    (`repeated_budget`); the number of units costs epsilon_n. In all (epsilon, delta)-DP.

    Departures from Algorithm 1: a published lower bound on n scales the noise, where the algorithm has n itself; the
    larger of basic and advanced composition is used (the second does not help a few releases); integers for reals.
    The paper gives a fifth of epsilon to n.
    Source: Fang and Yi (SIGMOD 2024), sections 5.3 and 5.4, Algorithm 1; docs/mathematics.md, section 11.4.

    Attributes:
      epsilon: in all, > that of the population, at most 600.
      drawn: k >= 1, in [1, 2^32].
      collaborators: C of `Exploration`, >= 0. If it is false, e takes the place of e_1 in the composition.
      population: how the number of units is known.
      threshold: C of the truncation, in normalised weight, in [2^-20, 2^32].
      delta_composition: in [0, 1); 0 for basic composition.
      confidence: of the interval, in (0, 1).
    """

    epsilon: float
    drawn: int
    collaborators: int
    population: Population
    threshold: float
    delta_composition: float = 0.0
    confidence: float = 0.95
    name = "repeated_sample_and_explore"

    def __post_init__(self) -> None:
        if not 2.0**-20 <= self.threshold <= 2.0**32:
            raise InvalidParameter("a threshold lies in [2^-20, 2^32] normalised weights")
        check_confidence(self.confidence)
        if self.delta > 1:
            raise InvalidParameter("delta must be between 0 and 1")
        self.noise(1).check_sum(self.drawn)

    @property
    def delta(self) -> float:
        """That of the composition and that of the lower bound on the number of units."""
        return float_at_least(exact(self.delta_composition) + exact(self.population.delta))

    @property
    def event(self) -> PrivacyEvent:
        """Pure differential privacy without any delta, approximate otherwise."""
        return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    def noise(self, units: int) -> SummedNoise:
        """What each of the k releases gets, where there are at least `units`. Public."""
        target = explored_epsilon(self.epsilon, self.population)
        each = repeated_budget(target, self.drawn, self.delta_composition)
        inner = Exploration(1, self.collaborators).budget(each, units)
        return SummedNoise(self._threshold_units, exact_epsilon(inner))

    def release(self, tuples: JoinTuples, draws: ChoosingDraws, entropy: Entropy) -> NoisyAnswer:
        """Draw k units and release one noisy value.

        Args:
          tuples: one group, one release; their first owner is the first position that is not empty.
        Raises: InvalidParameter where the number of units is private, as tuples do not show it: `prepare` takes it;
          EntropyFailed.
        Cost: `prepare`, then `release_prepared`.
        """
        return self.release_prepared(self.prepare(tuples), draws, entropy)

    def prepare(self, tuples: JoinTuples, n_units: int | None = None) -> Explorable:
        """Sum the tuples per first owner once, for many releases.

        Args:
          n_units: the private number of units, from their own tables. Not needed where it is public.
        Raises: InvalidParameter.
        """
        return explorable(tuples, known_units(self.population, n_units))

    def release_prepared(
        self, prepared: Explorable, draws: ChoosingDraws, entropy: Entropy, runs: int = 1
    ) -> NoisyAnswer:
        """Draw k units and release one noisy value; for benchmarks and audits several times independently.

        Args:
          runs: how many independent releases; each costs the whole budget.
        Returns: (runs,) values. The number of units is published once for all of them.
        Raises: InvalidParameter.
        Cost: k draws of both kinds per run; nothing depends on the number of tuples.
        """
        if runs < 1:
            raise InvalidParameter("at least one run")
        miss = 0.0 if self.population.public else (1 - self.confidence) / 5
        count = self.population.count(prepared.n_units, entropy, 1 - miss)
        noise = self.noise(count.least)
        contributions = prepared.contributions_of(draws.uniform(prepared.n_units, runs * self.drawn))
        noisy = noise.released(np.minimum(contributions, self._threshold_units), entropy)
        return self._answer(noisy.reshape(runs, self.drawn).sum(axis=1), noise, count, miss)

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(C, half-width of the interval) in normalised weight, for the public n or its lower bound.

        The standard deviation of the noise is sqrt(2 k) noise_scale / k times n.
        """
        least = self.population.least_public
        noise = self.noise(least)
        steps = noise.quantile((1 - self.confidence) / 2, self.drawn)
        return [(self.threshold, (steps + self.drawn / 2) * noise.step_weight * least / self.drawn)]

    @property
    def _threshold_units(self) -> int:
        return math.floor(exact(self.threshold) * ONE)

    def _answer(self, sums: Ints, noise: SummedNoise, count: UnitCount, miss: float) -> NoisyAnswer:
        """The answer from sums of noisy steps.

        With k' the quantile of the noise, the sum of the truncated contributions lies from the noisy sum less k'
        steps to the noisy sum plus k' steps plus what rounding down to steps hides, less than a step each.
        """
        reach = noise.quantile((1 - self.confidence - miss) / 2, self.drawn)
        everywhere = np.ones(len(sums))
        one = NoisyAnswer(
            values=noise.weight(sums),
            tau=everywhere * self.threshold,
            noise_scale=everywhere * (math.sqrt(self.drawn) * noise.noise_scale),
            low=noise.weight(sums - reach),
            high=noise.weight(sums + reach + self.drawn),
            confidence=self.confidence,
            covers="released_sample",
            mechanism=self.name,
            epsilon=self.epsilon,
            signal=np.full(len(sums), np.inf),  # nothing was chosen
        )
        factors = (count.estimate / self.drawn, count.low / self.drawn, count.high / self.drawn)
        return scaled(one, factors, self.confidence, self.name, self.epsilon)
