"""`pmsja_as_published`: PMSJA with the constants of its authors' program. A server never releases it."""

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
from privacy.truncation.control import QUIET, Control
from privacy.truncation.vector.certificate.shares import WHOLE
from privacy.truncation.vector.instance import VectorInstance


@dataclass(frozen=True)
class PmsjaAsPublished:
    """A tenth of epsilon for the threshold; of the rest half bounds 2 (E + 1), and half is for Gaussian noise.

    With e = 0.45 epsilon and t = delta / (2 exp(0.55 epsilon)): the noisy bound is 2 (E + 1) + Lap(2 / e) + 2 / e
    ln(exp(0.55 epsilon) / delta), and sigma is the bound times tau sqrt(2 ln(1 / t)) (1 + e / (4 ln(1 / t))) / e.
    No account is taken of a solver's gap. Source: Dong, Sun & Yi, SIGMOD 2023, and their program, which has 2 E for
    2 (E + 1).

    Attributes:
      epsilon, delta: as claimed.
      n_groups: d.
      ladder: the program's is 2, 4, ...
      beta: in (0, 1).
      confidence: of the intervals.
    """

    epsilon: float
    delta: float
    n_groups: int
    ladder: Ladder = field(default_factory=lambda: Ladder(1))
    beta: float = 0.1
    confidence: float = 0.95

    @property
    def name(self) -> str:
        """`pmsja_as_published`: PMSJA with the constants of its authors' program."""
        return "pmsja_as_published"

    @property
    def event(self) -> PrivacyEvent:
        """The privacy event that the paper claims, which takes no account of a solver's gap."""
        return ApproxDP(self.epsilon, self.delta)

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy, control: Control = QUIET) -> NoisyAnswer:
        """Release the sums of one row of weights over all groups; arguments and errors as of `Pmsja.release`."""
        return self.released(vector_instance(tuples, row, self.n_groups, control), entropy)

    def released(self, instance: VectorInstance, entropy: Entropy) -> NoisyAnswer:
        """The release of a prepared program."""

        def sigma(removed: int) -> float:
            drawn = int(entropy.laplace(WHOLE / self._part, 1)[0]) / WHOLE
            return self._noise_per_bound * max(1.0, removed / WHOLE + 1 + drawn + self._shift)

        return vector_answer(self, taken(self, instance, entropy), sigma, entropy)

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width) per threshold."""
        return half_widths(self, self._noise_per_bound * (most_persons(self) + 1 + 2 * self._shift))

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """epsilon: it rests on no bound."""
        return self.epsilon

    @cached_property
    def selection(self) -> SparseVector:
        """The first stage: a sparse vector over thresholds, with a tenth of epsilon."""
        threshold = 20 / self.epsilon * math.log(1 / self.beta)
        return SparseVector(self.epsilon / 10, threshold, 20 * WHOLE / self.epsilon, 40 * WHOLE / self.epsilon)

    @property
    def _part(self) -> float:
        return 0.45 * self.epsilon

    @property
    def _shift(self) -> float:
        """Half of 2 / e ln(exp(0.55 epsilon) / delta)."""
        return (0.55 * self.epsilon - math.log(self.delta)) / self._part

    @property
    def _noise_per_bound(self) -> float:
        """sigma over the bound, both in multiples of 2 tau."""
        tail = math.log(2 / self.delta) + 0.55 * self.epsilon
        return math.sqrt(2 * tail) * (1 + self._part / (4 * tail)) / self._part
