"""`simple_sampling`: a Bernoulli sample of privacy units, and a mechanism on the join tuples that it induces."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from privacy.accounting.event import PrivacyEvent, PureDP
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import exact, exact_epsilon
from privacy.join_tuples import CodedJoinTuples, JoinTuples
from privacy.mechanisms.measurement import Measurement
from privacy.noisy_answer import NoisyAnswer
from privacy.published.sampled.inner_mechanism import InnerMechanism
from privacy.published.sampled.scaled import scaled
from privacy.sampling.draws import Draws
from privacy.sampling.units.explorable import check_single
from privacy.sampling.units.induced import induced
from privacy.sampling.units.unit_sampling import unit_sampled_budget
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import TruncatedAnswer

_PART_BITS = 31


@dataclass(frozen=True, eq=False, repr=False)
class InducibleTuples:
    """What does not depend on the draw. Private.

    Attributes:
      tuples: with numbered owners, every weight multiplied by rate^(positions - owners) and rounded down.
      whole: the truncated answer of all tuples where every unit is drawn, so that nothing depends on the draw.
    """

    tuples: CodedJoinTuples
    whole: TruncatedAnswer | None

    def __repr__(self) -> str:
        return "InducibleTuples(<private>)"


@dataclass(frozen=True)
class SimpleSampling:
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

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if self.positions < 1:
            raise InvalidParameter("a tuple has at least one owner position")
        unit_sampled_budget(self.epsilon, self.rate)
        if not math.isfinite(self.factor):
            raise InvalidParameter("the rate is too small for so many owners")

    @property
    def name(self) -> str:
        """`simple_sampling`: each unit is drawn on its own."""
        return "simple_sampling"

    @property
    def delta(self) -> float:
        """delta, of the release: 0, as its privacy is pure."""
        return 0.0

    @property
    def event(self) -> PrivacyEvent:
        """Pure differential privacy at epsilon."""
        return PureDP(self.epsilon)

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
          draws: where the sample comes from.
          entropy: where the noise comes from.
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

    def sampling_deviation(self, total: float, global_sensitivity: float) -> float:
        """A bound on the standard deviation that sampling adds, from public hints, in normalised weight.

        The variance is the sum over pairs of tuples with an owner in common of w w' (eta^-|common| - 1). A tuple
        has l owners, and each is an owner of tuples of weight GS at most, so it is at most
        (eta^-l - 1) l GS total.
        Args:
          total: the answer, roughly.
          global_sensitivity: what one unit adds at most.
        """
        return math.sqrt((self.factor - 1) * self.positions * global_sensitivity * total)

    def _truncated(self, tuples: CodedJoinTuples) -> TruncatedAnswer:
        """The truncated answer of a sample, on the inner mechanism's thresholds."""
        measurement = self.measurement
        return truncate(tuples, 0, measurement.ladder, measurement.gap)


def _made_up(tuples: CodedJoinTuples, rate: float, positions: int) -> CodedJoinTuples:
    """Multiply a weight by rate^(positions - owners), rounded down to 31 bits, and round down.

    A weight of at most 2^62 is multiplied in two halves, so no product exceeds 2^62. Exact for powers of two.
    """
    missing = np.count_nonzero(tuples.members < 0, axis=0)
    parts = np.array([int(exact(rate) ** count * (1 << _PART_BITS)) for count in range(positions)], np.int64)[missing]
    high, low = tuples.weights >> _PART_BITS, tuples.weights & ((1 << _PART_BITS) - 1)
    return replace(tuples, weights=high * parts + (low * parts >> _PART_BITS))
