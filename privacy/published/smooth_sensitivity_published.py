"""Smooth sensitivity as two papers print it, for comparison: never released by a server."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from privacy.errors import InvalidParameter
from privacy.mechanisms.vector.smooth_sensitivity import log_ratio, log_x_at, smooth_bound
from privacy.sampling.renyi_order import best_order


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
class NissimGaussian:
    """SS-G: smooth sensitivity with Gaussian noise under (epsilon, delta), Nissim, Raskhodnikova & Smith, STOC 2007.

    gamma = epsilon / (4 (d + ln(2 / delta))) and sigma = 5 sqrt(2 ln(2 / delta)) / epsilon * G, as Lemma E.1 of the
    DP-S4S paper states it.
    """

    epsilon: float
    delta: float
    dimension: int

    @property
    def gamma(self) -> float:
        """By how much ln G may move between neighbours."""
        return self.epsilon / (4 * (self.dimension + math.log(2 / self.delta)))

    @property
    def factor(self) -> float:
        """sigma / G: the noise for a smooth bound of 1 on local sensitivity."""
        return 5 * math.sqrt(2 * math.log(2 / self.delta)) / self.epsilon

    def sigma(self, bound: float, growth: float = 1.0) -> float:
        """The noise at a bound on local sensitivity that moves by at most `growth` between neighbours."""
        return self.factor * smooth_bound(bound, self.gamma, growth)


@dataclass(frozen=True)
class SmoothNoise:
    """Noise of a fixed shape for a smooth bound on local sensitivity, as Lemma E.1 of the DP-S4S paper states it.

    Attributes:
      gamma: by how much the logarithm of the smooth bound may move between neighbours.
      factor: the scale of the noise for a smooth bound of 1.
    """

    gamma: float
    factor: float


def nissim_laplace(epsilon: float, delta: float, dimension: int) -> SmoothNoise:
    """SS-L: Laplace noise of scale 2 / epsilon, under (epsilon, delta)."""
    return SmoothNoise(epsilon / (4 * (dimension + math.log(2 / delta))), 2 / epsilon)


def nissim_cauchy(epsilon: float, dimension: int) -> SmoothNoise:
    """SS-C: Cauchy noise of scale 6 / epsilon, under epsilon alone: its tails make a delta needless, and a mean void.

    Our copy of the lemma has delta where the constant 6 stands: with the density 1 / (1 + z^2), a shift by s moves
    the logarithm of the density by at most s, and a dilation by e^t by at most t. So 6 is three times what either
    needs for one dimension; `nissim_cauchy` keeps the published number, which also holds for more.
    """
    return SmoothNoise(epsilon / (6 * dimension), 6 / epsilon)
