"""A Bernoulli sample of privacy units, and a mechanism on the tuples that it induces.

Here is also what all mechanisms of samples of units share: the mechanism on the sample before it is known what it may
spend, what may be known of how many units there are, and the way from a sample's answer to the whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import exact, exact_epsilon
from privacy.join_tuples import CodedJoinTuples, JoinTuples, Private
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.measurement import Measurement, Pure
from privacy.mechanisms.noise import IntegerNoise
from privacy.mechanisms.shared_threshold import fixed_threshold
from privacy.noisy_answer import NoisyAnswer
from privacy.papers.r2t import R2T
from privacy.sampling.draws import MAX_COUNT, Draws
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import Floats
from tests.support.papers.laplace_global import LaplaceGlobal
from tests.support.papers.unit_samples import check_single, induced, unit_sampled_budget


def scaled(
    answer: NoisyAnswer, factors: tuple[float, float, float], confidence: float, mechanism: str, epsilon: float
) -> NoisyAnswer:
    """Multiply a release by a published factor. Post-processing.

    Args:
      answer: of the sample; its interval covers the sample's truncated answer.
      factors: the factor, and bounds below and above what it estimates, each >= 0.
      confidence: that both the noise and those bounds hold.
    Returns: `released_sample`: the interval covers the sample's truncated answer times the true factor. What another
      sample would have given is outside of it.
    """
    factor, least, most = factors
    return replace(
        answer,
        values=answer.values * factor,
        tau=answer.tau * factor,
        noise_scale=answer.noise_scale * factor,
        low=_least(answer.low, least, most),
        high=-_least(-answer.high, least, most),
        confidence=confidence,
        covers="released_sample",
        mechanism=mechanism,
        epsilon=epsilon,
    )


def _least(values: Floats, least: float, most: float) -> Floats:
    """The smallest of value times factor over factors from least to most; infinite values stay."""
    smallest: Floats = np.where(values >= 0, values * least, values * most)
    return smallest


@dataclass(frozen=True)
class InnerMechanism:
    """A pure mechanism of one group, epsilon-DP whenever no v(tau) moves by more than (1 + gap) tau.

    That is more than privacy for neighbours: values may move in different directions, as they do when one unit of
    a sample is exchanged for another. The proofs of all four bound what each value moves and nothing else
    (`laplace_global`: by its global sensitivity).

    Attributes:
      name: `laplace_global`, `fixed`, `r2t` or `gem`.
      bound: the global sensitivity; for `fixed` the threshold, a power of two; None for `gem`. In normalised weight.
      gap: eta of the solver that truncates the sample.
      whole: every weight is 0 or 1, so that a threshold below 1 cannot help `gem`.
    """

    name: str
    bound: float | None = None
    gap: float = 0.0
    whole: bool = False

    def __post_init__(self) -> None:
        self.at(1.0)

    def at(self, epsilon: float) -> Measurement:
        """The mechanism with its budget. Raises: InvalidParameter."""
        if self.name == "gem":
            return Gem(PureBudget(epsilon), 1, self.gap, Thresholds(low=0) if self.whole else Thresholds())
        if self.bound is None or not math.isfinite(self.bound):
            raise InvalidParameter("this mechanism needs a bound")
        if self.name == "laplace_global":
            return LaplaceGlobal(epsilon, self.bound, 1, self.gap)
        if self.name == "r2t":
            return R2T(epsilon, self.bound, 1, self.gap)
        if self.name == "fixed":
            mantissa, exponent = math.frexp(self.bound)
            if mantissa != 0.5:
                raise InvalidParameter("a threshold is a power of two")
            return fixed_threshold(epsilon, 1, self.gap, Thresholds(exponent - 1, exponent - 1))
        raise InvalidParameter("no mechanism of this name runs on a sample of privacy units")


@dataclass(frozen=True)
class UnitCount:
    """What has been published about the number n of privacy units. Safe to publish.

    Attributes:
      estimate: of n, >= 1; the whole answer is this many times the mean over units.
      least: a lower bound on n, >= 1, that amplification may rest on.
      low, high: n lies between, with the confidence that was asked for.
    """

    estimate: int
    least: int
    low: int
    high: int


@dataclass(frozen=True)
class PublicPopulation:
    """n is public, as the DP-S4S paper assumes it: a universe of n places, in each of which there may be a unit.

    A unit that is removed leaves its place empty, so n is the same for neighbours and costs nothing.

    Attributes:
      size: n, at least the number of units there can be, >= 1. If it is less, more units than that are drawn
        from; the loss is still at most that of the mechanism on the sample.
      epsilon, delta: of publishing it.
    """

    size: int
    epsilon: ClassVar = 0.0
    delta: ClassVar = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.size <= MAX_COUNT:
            raise InvalidParameter("there are 1 to 2^32 privacy units")

    @property
    def public(self) -> int:
        """n, the number of units that is public."""
        return self.size

    @property
    def least_public(self) -> int:
        """n: the least number of units that is certain is the number itself."""
        return self.size

    def count(self, units: int, entropy: Entropy, confidence: float) -> UnitCount:
        """The public number; neither the private one nor noise is used."""
        return UnitCount(self.size, self.size, self.size, self.size)


@dataclass(frozen=True)
class NoisyPopulation:
    """n is private and published with noise; one unit more or less changes it by one, so this is epsilon-DP.

    The published Algorithm 1 amplifies with the private n itself. Here it is amplified with a public lower bound or,
    where there is none, with what the noisy n is above with probability 1 - delta whatever n is. Then
    the whole mechanism is (epsilon_n + epsilon', delta)-DP: outside of an event of probability delta, what follows
    the published n is epsilon'-DP given n.
    Source: docs/mathematics.md, section 11.4.

    Attributes:
      epsilon: of the count, > 0.
      delta: the probability with which the lower bound exceeds n, in [0, 1/2]; 0 with a public bound.
      least: a public lower bound on n, >= 1; None: the noisy one.
      public: n itself, which is private.
    """

    epsilon: float
    delta: float = 0.0
    least: int | None = None
    public: ClassVar[None] = None

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if self.least is None and not 0 < self.delta <= 0.5:
            raise InvalidParameter("a lower bound that is not public fails with a probability")
        if self.least is not None and (not 1 <= self.least <= MAX_COUNT or self.delta != 0):
            raise InvalidParameter("a public lower bound is at least 1 and does not fail")

    @property
    def least_public(self) -> int:
        """The public lower bound, or 1."""
        return self.least or 1

    @cached_property
    def noise(self) -> IntegerNoise:
        """One unit counts one."""
        return IntegerNoise(1, exact_epsilon(self.epsilon))

    def count(self, units: int, entropy: Entropy, confidence: float) -> UnitCount:
        """The noisy n, and bounds made of it. Raises: EntropyFailed."""
        noisy = int(self.noise.released(np.array([units], np.int64), entropy)[0])
        reach = self.noise.upper_quantile((1 - confidence) / 2)
        least = self.least if self.least is not None else max(1, noisy - self.noise.upper_quantile(self.delta))
        low = max(self.least or 0, noisy - reach)
        return UnitCount(max(self.least or 1, noisy), least, low, max(low, noisy + reach))


Population = PublicPopulation | NoisyPopulation
"""How many privacy units there are: what may be known of it, and what is spent to know it."""

_PART_BITS = 31


@dataclass(frozen=True, eq=False, repr=False)
class InducibleTuples(Private):
    """What does not depend on the draw. Private.

    Attributes:
      tuples: with numbered owners, every weight multiplied by rate^(positions - owners) and rounded down.
      whole: the truncated answer of all tuples where every unit is drawn, so that nothing depends on the draw.
    """

    tuples: CodedJoinTuples
    whole: TruncatedAnswer | None


@dataclass(frozen=True)
class SimpleSampling(Pure):
    """Draw each unit with probability eta, keep the tuples all of whose owners are drawn, multiply by eta^-l.

    epsilon-DP: the inner mechanism is e-DP on the sample with ln(1 + eta (exp(e) - 1)) = epsilon, and both
    samples are neighbours or equal (`unit_sampled_loss`). eta is public and so is all that noise is scaled with.

    Departures from the paper: (1) its experiments scale the noise to a degree bound that the sample has only
    probably; here the inner mechanism truncates the sample at its bound, so privacy never rests on
    luck. (2) A tuple with fewer owners than positions (a NULL key, one unit twice) stays more often than
    eta^l; its weight is multiplied by what makes up for it, at most 1, so the estimate stays unbiased (but for
    rounding down a unit of 2^-30) and no sensitivity grows.
    Source: theorem 4.1 and section 4.2 of Fang and Yi (SIGMOD 2024).

    Attributes:
      epsilon: > 0, at most 600.
      rate: eta in (0, 1].
      positions: l >= 1, the number of owner positions of a tuple.
      inner: runs on the sample; the paper's is `laplace_global`.
    """

    epsilon: float
    rate: float
    positions: int
    inner: InnerMechanism
    name = "simple_sampling"

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if self.positions < 1:
            raise InvalidParameter("a tuple has at least one owner position")
        unit_sampled_budget(self.epsilon, self.rate)
        if not math.isfinite(self.factor):
            raise InvalidParameter("the rate is too small for so many owners")

    @property
    def factor(self) -> float:
        """eta^-l: what the sample's answer is multiplied with."""
        return self.rate**-self.positions if self.rate > 0 else math.inf

    @cached_property
    def measurement(self) -> Measurement:
        """The inner mechanism with its amplified budget."""
        return self.inner.at(unit_sampled_budget(self.epsilon, self.rate))

    def release(self, tuples: JoinTuples, draws: Draws, entropy: Entropy) -> NoisyAnswer:
        """Draw one sample and release one noisy value.

        Args:
          tuples: one group, one release, `positions` owners.
        Raises: InvalidParameter before anything is drawn; EntropyFailed; SolverFailed.
        Cost: `prepare`, then `release_prepared`.
        """
        return self.release_prepared(self.prepare(tuples), draws, entropy)

    def prepare(self, tuples: JoinTuples) -> InducibleTuples:
        """Number the owners once, for many releases. Raises: InvalidParameter."""
        check_single(tuples)
        if len(tuples.owners) != self.positions:
            raise InvalidParameter("the tuples have another number of owner positions")
        made = _made_up(encode(tuples), self.rate, self.positions)
        return InducibleTuples(made, self._truncated(made) if self.rate == 1 else None)

    def release_prepared(self, prepared: InducibleTuples, draws: Draws, entropy: Entropy) -> NoisyAnswer:
        """Draw one sample and release one noisy value.

        Cost: one draw per unit, a pass over the owners of all tuples, and truncating the sample.
        """
        return self.noised(self.sampled(prepared, draws), entropy)

    def sampled(self, prepared: InducibleTuples, draws: Draws) -> TruncatedAnswer:
        """The truncated answer of one sample. Private."""
        if prepared.whole is not None:
            return prepared.whole
        kept = draws.binomial(np.ones(int(prepared.tuples.member_start[-1]), np.int64), self.rate) > 0
        return self._truncated(induced(prepared.tuples, kept))

    def noised(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """The release, given the sample's truncated answer; its groups, if several, are independent releases."""
        noisy = self.measurement.release(answer, entropy)
        return scaled(noisy, (self.factor,) * 3, noisy.confidence, self.name, self.epsilon)

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width) per threshold of the inner mechanism, both multiplied by eta^-l."""
        noise = self.measurement.expected_noise()
        return [(tau * self.factor, width * self.factor) for tau, width in noise]

    def _truncated(self, tuples: CodedJoinTuples) -> TruncatedAnswer:
        """The truncated answer of a sample, on the inner mechanism's thresholds."""
        measurement = self.measurement
        return truncate(tuples, 0, measurement.thresholds, measurement.gap)


def _made_up(tuples: CodedJoinTuples, rate: float, positions: int) -> CodedJoinTuples:
    """Multiply a weight by rate^(positions - owners), rounded down to 31 bits, and round down.

    A weight of at most 2^62 is multiplied in two halves, so no product exceeds 2^62. Exact for powers of two.
    """
    missing = np.count_nonzero(tuples.members < 0, axis=0)
    parts = np.array([int(exact(rate) ** count * (1 << _PART_BITS)) for count in range(positions)], np.int64)[missing]
    high, low = tuples.weights >> _PART_BITS, tuples.weights & ((1 << _PART_BITS) - 1)
    return replace(tuples, weights=high * parts + (low * parts >> _PART_BITS))
