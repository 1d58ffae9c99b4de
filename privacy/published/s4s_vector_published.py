"""`s4s_vector_as_published`: Algorithm 5 of the DP-S4S paper with its own constants. A server never releases it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

from privacy.accounting.event import ApproxDP, PrivacyEvent
from privacy.entropy import Entropy
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.vector.sparse_vector import SparseVector
from privacy.mechanisms.vector.truncated_vector import vector_instance
from privacy.mechanisms.vector.vector_answer import half_widths, most_persons, taken, vector_answer
from privacy.noisy_answer import NoisyAnswer
from privacy.published.smooth_sensitivity_published import PublishedSmoothGaussian
from privacy.truncation.control import QUIET, Control
from privacy.truncation.vector.certificate.shares import WHOLE
from privacy.truncation.vector.instance import VectorInstance


@dataclass(frozen=True)
class S4SVectorAsPublished:
    """A fifth of epsilon for the threshold, the rest for Lemma 4.1.

    eps_1 = epsilon / 5, theta = 6 / eps_1 ln(6 / beta), noise of scales 2 / eps_1 and 4 / eps_1;
    B = E + 1, and no account is taken of a solver's gap. What it claims is (epsilon, delta), with no use of
    amplification.
    Source: DP-S4S (SIGMOD 2026), Algorithms 4 and 5.

    Attributes:
      epsilon, delta: as claimed.
      n_groups: d.
      ladder: the paper's is 1, 2, 4, ...
      beta: in (0, 1).
      confidence: of the intervals.
    """

    epsilon: float
    delta: float
    n_groups: int
    ladder: Ladder = field(default_factory=lambda: Ladder(0))
    beta: float = 0.1
    confidence: float = 0.95

    @property
    def name(self) -> str:
        """`s4s_vector_as_published`: Algorithm 5 with its own constants."""
        return "s4s_vector_as_published"

    @property
    def event(self) -> PrivacyEvent:
        """The privacy event that the paper claims, which is not proved."""
        return ApproxDP(self.epsilon, self.delta)

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy, control: Control = QUIET) -> NoisyAnswer:
        """Release the sums of one row of weights over all groups; arguments and errors as of `S4SVector.release`."""
        return self.released(vector_instance(tuples, row, self.n_groups, control), entropy)

    def released(self, instance: VectorInstance, entropy: Entropy) -> NoisyAnswer:
        """The release of a prepared program."""

        def sigma(removed: int) -> float:
            return self.noise.sigma(removed / WHOLE + 1)

        return vector_answer(self, taken(self, instance, entropy), sigma, entropy, self._largest_sigma)

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width) per threshold."""
        return half_widths(self, self._largest_sigma)

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """epsilon: it rests on no bound."""
        return self.epsilon

    @cached_property
    def selection(self) -> SparseVector:
        """The first stage: a sparse vector over thresholds, with a fifth of epsilon."""
        part = self.epsilon / 5
        return SparseVector(part, 6 / part * math.log(6 / self.beta), 2 * WHOLE / part, 4 * WHOLE / part)

    @cached_property
    def noise(self) -> PublishedSmoothGaussian:
        """The second stage, in multiples of 2 tau."""
        return PublishedSmoothGaussian(self.epsilon * 4 / 5, self.delta, self.n_groups)

    @property
    def _largest_sigma(self) -> float:
        return self.noise.sigma(most_persons(self) + 1)
