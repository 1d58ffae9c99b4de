"""PMSJA and the vector DP-S4S with the constants of their authors, of which not all are proved."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.papers.smooth_sensitivity import log_ratio, log_x_at, smooth_bound
from privacy.papers.vector_program.certificate import WHOLE
from privacy.papers.vector_release import SparseVector, VectorMechanism
from privacy.thresholds import Thresholds
from tests.support.papers.renyi_sampling import best_order


@dataclass(frozen=True)
class PmsjaAsPublished(VectorMechanism):
    """A tenth of epsilon for the threshold; of the rest half bounds 2 (E + 1), and half is for Gaussian noise.

    With e = 0.45 epsilon and t = delta / (2 exp(0.55 epsilon)): the noisy bound is 2 (E + 1) + Lap(2 / e) + 2 / e
    ln(exp(0.55 epsilon) / delta), and sigma is the bound times tau sqrt(2 ln(1 / t)) (1 + e / (4 ln(1 / t))) / e.
    No account is taken of a solver's gap. Source: Dong, Sun & Yi, SIGMOD 2023, and their program, which has 2 E for
    2 (E + 1).

    Attributes:
      epsilon, delta: as claimed.
      ladder: the program's is 2, 4, ...
      beta: in (0, 1).
    """

    thresholds: Thresholds = field(default_factory=lambda: Thresholds(1))
    beta: float = 0.1
    name = "pmsja_as_published"

    def sigma(self, removed: int, entropy: Entropy) -> float:
        """The noise for the noisy bound, in floats as the program has it."""
        drawn = int(entropy.laplace(WHOLE / self._part, 1)[0]) / WHOLE
        return self._noise_per_bound * max(1.0, removed / WHOLE + 1 + drawn + self._shift)

    @property
    def stated_sigma(self) -> float:
        """For the largest bound that is likely, in multiples of 2 tau."""
        return self._noise_per_bound * (self.most_persons() + 1 + 2 * self._shift)

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


@dataclass(frozen=True)
class PublishedSmoothGaussian:
    """Lemma 4.1 of DP-S4S (SIGMOD 2026) with the order that section 4.2 takes.

    Half of rho is for the means and half for the variances (h(t) = 0 is phi(t) = rho / 2), and

        sigma = G sqrt(alpha / rho) / X,  X = 1 - alpha + alpha e^(-2 gamma),

    where the lemma's own proof has sqrt(X). The order minimises sigma / G, which falls with gamma as G rises.

    Attributes:
      epsilon, delta: rho = epsilon - ln(1 / delta) / (alpha - 1).
      dimension: d.
      order: alpha; None for the paper's own choice.
    """

    epsilon: float
    delta: float
    dimension: int
    order: float | None = None

    def __post_init__(self) -> None:
        if not (0 < self.epsilon < math.inf and 0 < self.delta < 1 and self.dimension >= 1):
            raise InvalidParameter("smooth sensitivity needs epsilon, delta and a dimension")
        if self.order is not None and self._rho(self.order) <= 0:
            raise InvalidParameter("this order is not worth epsilon and delta")

    @cached_property
    def alpha(self) -> float:
        """alpha, the Renyi order at which the bound holds: the one given, else the one with the least noise."""
        if self.order is not None:
            return self.order
        return best_order(lambda alpha: -self._factor(alpha)).alpha

    @property
    def rho(self) -> float:
        """rho, the Renyi divergence that may be spent at the order alpha."""
        return self._rho(self.alpha)

    @cached_property
    def gamma(self) -> float:
        """By how much ln G may move between neighbours."""
        return log_ratio(self._log_x(self.alpha), self.alpha)

    @cached_property
    def factor(self) -> float:
        """sigma / G: the noise for a smooth bound of 1 on local sensitivity."""
        return self._factor(self.alpha)

    def sigma(self, bound: float, growth: float = 1.0) -> float:
        """The noise at a bound on local sensitivity that moves by at most `growth` between neighbours."""
        return self.factor * smooth_bound(bound, self.gamma, growth)

    def _rho(self, alpha: float) -> float:
        return self.epsilon + math.log(self.delta) / (alpha - 1)

    def _factor(self, alpha: float) -> float:
        rho = self._rho(alpha)
        if rho <= 0:
            return math.inf
        return math.sqrt(alpha / rho) / math.exp(self._log_x(alpha))

    def _log_x(self, alpha: float) -> float:
        return log_x_at(alpha, self.dimension, self._rho(alpha) / 2)


@dataclass(frozen=True)
class S4SVectorAsPublished(VectorMechanism):
    """A fifth of epsilon for the threshold, the rest for Lemma 4.1.

    eps_1 = epsilon / 5, theta = 6 / eps_1 ln(6 / beta), noise of scales 2 / eps_1 and 4 / eps_1;
    B = E + 1, and no account is taken of a solver's gap. What it claims is (epsilon, delta), with no use of
    amplification.
    Source: DP-S4S (SIGMOD 2026), Algorithms 4 and 5.

    Attributes:
      epsilon, delta: as claimed.
      ladder: the paper's is 1, 2, 4, ...
      beta: in (0, 1).
    """

    thresholds: Thresholds = field(default_factory=lambda: Thresholds(0))
    beta: float = 0.1
    name = "s4s_vector_as_published"
    private_scale = True

    def sigma(self, removed: int, entropy: Entropy) -> float:
        """The noise for the smooth bound of what was removed: private."""
        return self.noise.sigma(removed / WHOLE + 1)

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
    def stated_sigma(self) -> float:
        """A public bound of the noise, which is private, in multiples of 2 tau."""
        return self.noise.sigma(self.most_persons() + 1)
