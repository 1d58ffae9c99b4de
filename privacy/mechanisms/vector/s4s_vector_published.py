"""`s4s_vector_as_published`: Algorithm 5 of the DP-S4S paper with its own constants. A server never releases it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

from privacy.accounting.event import ApproxDP, PrivacyEvent
from privacy.entropy import Entropy
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.vector.smooth_sensitivity_published import PublishedSmoothGaussian
from privacy.mechanisms.vector.sparse_vector import SparseVector
from privacy.mechanisms.vector.truncated_vector import truncated_vector, vector_instance
from privacy.mechanisms.vector.vector_answer import TAIL, no_answer, reach, vector_answer
from privacy.mechanisms.vector.vector_grid import VectorGrid
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.control import QUIET, Control
from privacy.truncation.vector.instance import VectorInstance
from privacy.truncation.vector.shares import WHOLE


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
        """`s4s_vector_as_published`."""
        return "s4s_vector_as_published"

    @property
    def event(self) -> PrivacyEvent:
        """The paper's claim."""
        return ApproxDP(self.epsilon, self.delta)

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy, control: Control = QUIET) -> NoisyAnswer:
        """As `S4SVector.release`."""
        return self.released(vector_instance(tuples, row, self.n_groups, control), entropy)

    def released(self, instance: VectorInstance, entropy: Entropy) -> NoisyAnswer:
        """The release of a prepared program."""
        spent = self.name, self.epsilon, self.delta
        found = truncated_vector(instance, self.ladder, self.selection.stops(len(self.ladder), entropy))
        if found is None:
            return no_answer(float(self.ladder.taus[-1]), self.n_groups, self.confidence, spent)
        grid = VectorGrid(int(self.ladder.units[found.rung]), self.n_groups)
        values = grid.released(found.sums, self.noise.sigma(found.removed / WHOLE + 1), entropy)
        return vector_answer(values, grid, self.noise.sigma(self._persons + 1), self._persons, self.confidence, spent)

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width) per threshold."""
        half = reach(2 * self.noise.sigma(self._persons + 1), self.confidence)
        return [(tau, tau * half) for tau in self.ladder.taus.tolist()]

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """epsilon: it rests on no bound."""
        return self.epsilon

    @cached_property
    def selection(self) -> SparseVector:
        """The first stage."""
        part = self.epsilon / 5
        return SparseVector(part, 6 / part * math.log(6 / self.beta), 2 * WHOLE / part, 4 * WHOLE / part)

    @cached_property
    def noise(self) -> PublishedSmoothGaussian:
        """The second stage, in multiples of 2 tau."""
        return PublishedSmoothGaussian(self.epsilon * 4 / 5, self.delta, self.n_groups)

    @property
    def _persons(self) -> float:
        return self.selection.most_removed(len(self.ladder), TAIL)
