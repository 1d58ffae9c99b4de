"""`repeated_sample_and_explore`: a privacy unit is drawn and explored k times, and noisy truncated sums averaged."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import ApproxDP, PrivacyEvent, PureDP
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import check_confidence, exact, exact_epsilon, float_at_least
from privacy.join_tuples import JoinTuples
from privacy.mechanisms.noise.integer_noise import IntegerNoise
from privacy.noisy_answer import NoisyAnswer
from privacy.published.sampled.population import Population, UnitCount
from privacy.published.sampled.sample_and_explore import explored_epsilon, known_units
from privacy.published.sampled.scaled import scaled
from privacy.sampling.draws import Draws
from privacy.sampling.units.explorable import Explorable, explorable
from privacy.sampling.units.exploration import Exploration
from privacy.sampling.units.repetition import repeated_budget
from privacy.units import ONE


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
    Source: Fang and Yi (SIGMOD 2024), sections 5.3 and 5.4, Algorithm 1; privacy.md section 6.

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

    def __post_init__(self) -> None:
        if not 2.0**-20 <= self.threshold <= 2.0**32:
            raise InvalidParameter("a threshold lies in [2^-20, 2^32] normalised weights")
        check_confidence(self.confidence)
        if self.delta > 1:
            raise InvalidParameter("delta is a probability")
        self.noise(1).check_sum(self.drawn)

    @property
    def name(self) -> str:
        """`repeated_sample_and_explore`: an average over k independent samples."""
        return "repeated_sample_and_explore"

    @property
    def delta(self) -> float:
        """That of the composition and that of the lower bound on the number of units."""
        return float_at_least(exact(self.delta_composition) + exact(self.population.delta))

    @property
    def event(self) -> PrivacyEvent:
        """Pure differential privacy without any delta, approximate otherwise."""
        return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    def noise(self, units: int) -> IntegerNoise:
        """What each of the k releases gets, where there are at least `units`. Public."""
        target = explored_epsilon(self.epsilon, self.population)
        each = repeated_budget(target, self.drawn, self.delta_composition)
        inner = Exploration(1, self.collaborators).budget(each, units)
        return IntegerNoise(self._threshold_units, exact_epsilon(inner))

    def release(self, tuples: JoinTuples, draws: Draws, entropy: Entropy) -> NoisyAnswer:
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

    def release_prepared(self, prepared: Explorable, draws: Draws, entropy: Entropy, runs: int = 1) -> NoisyAnswer:
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
        loads = prepared.loads_of(draws.uniform(prepared.n_units, runs * self.drawn))
        noisy = noise.released(np.minimum(loads, self._threshold_units), entropy)
        return self._answer(noisy.reshape(runs, self.drawn).sum(axis=1), noise, count, miss)

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(C, half-width of the interval) in normalised weight, for the public n or its lower bound.

        The standard deviation of the noise is sqrt(2 k) noise_scale / k times n.
        """
        least = self.population.least_public
        noise = self.noise(least)
        steps = noise.quantile((1 - self.confidence) / 2, self.drawn)
        return [(self.threshold, (steps + self.drawn / 2) * noise.step_weight * least / self.drawn)]

    def sampling_deviation(self, total: float, units: int) -> float:
        """A bound on the standard deviation that sampling adds, from public hints: sqrt(n / k C total)."""
        return math.sqrt(units / self.drawn * self.threshold * total)

    @property
    def _threshold_units(self) -> int:
        return math.floor(exact(self.threshold) * ONE)

    def _answer(self, sums: NDArray[np.int64], noise: IntegerNoise, count: UnitCount, miss: float) -> NoisyAnswer:
        """The answer from sums of noisy steps.

        With k' the quantile of the noise, the sum of the truncated loads lies from the noisy sum less k' steps to
        the noisy sum plus k' steps plus what rounding down to steps hides, less than a step each.
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
