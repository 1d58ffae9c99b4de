"""The least Gaussian noise for a local sensitivity whose bound moves by at most a constant between neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from scipy.optimize import brentq

from privacy.errors import InvalidParameter
from privacy.mechanisms.vector.smooth_sensitivity import SLACK, log_ratio, log_x_at

_TAIL = 1.1
"""How much more than that of a constant bound the noise of a large bound is, per unit. Less lengthens the ramp
for 0.1% less noise at its foot."""


@dataclass(frozen=True)
class GaussianRamp:
    """F(I) + sigma(B(I)) N(0, 1_d), of divergence at most rho at order alpha.

    For |F(I) - F(I')| <= min(B, B') and |B - B'| <= growth between neighbours. An exponential G divides rho in the
    same way at every B, although at its foot the means are close in comparison with the noise: there nearly all of
    rho may go into the change of variances, and far up nearly all into the means. Let sigma not fall in B, and let

        D(B) = alpha B^2 / (2 sigma(B + growth)^2 x) + phi(r) <= rho for all B,

    r = (sigma(B) / sigma(B + growth))^2 and x = alpha r + 1 - alpha. Proof of the claim: let B <= B' <= B + growth
    be the bounds of two neighbours. From the smaller noise to the larger the divergence is at most that the other
    way (both terms: alpha s'^2 - (alpha - 1) s^2 >= alpha s^2 - (alpha - 1) s'^2, and `shrinking_divergence`). The
    other way it is alpha |F - F'|^2 / (2 s^2 (alpha - (alpha - 1) s'^2 / s^2)) + phi, and both terms rise with s' /
    s, so it is at most D(B).

    sigma is the least such function below a tail `slope` * B that keeps D(B) <= rho from `top` on (there r falls
    with B): downwards from the tail, each value is the least that the one above it allows. D rises in B and falls in
    sigma(B) and, for a given r, in sigma(B + growth), so that sigma rises in B.

    Attributes:
      dimension: d >= 1.
      alpha: the order, > 1.
      rho: the divergence of this order that it may have, > 0.
      growth: >= 1, in the unit of the bound.
    """

    dimension: int
    alpha: float
    rho: float
    growth: float = 1.0

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise InvalidParameter("noise has at least one dimension")
        if not (1 < self.alpha < math.inf and 0 < self.rho < math.inf):
            raise InvalidParameter("an order is finite and above 1, its divergence finite and positive")
        if not 1 <= self.growth < math.inf:
            raise InvalidParameter("a bound grows by at least 1")

    @property
    def slope(self) -> float:
        """sigma / B from `top` on."""
        return _TAIL * math.sqrt(self.alpha / (2 * self.rho))

    @cached_property
    def top(self) -> float:
        """The bound from which on noise in proportion to it is enough."""
        high = 1.0
        while self._excess(high) > 0:
            high *= 2
        low = high / 2
        if high == 1.0 or self._excess(low) <= 0:
            return high
        return float(brentq(self._excess, low, high)) * (1 + SLACK)

    def sigma(self, bound: float) -> float:
        """The noise at a bound >= 1. Cost: 5 microseconds per step of the ramp, a hundred as a rule."""
        steps = max(0, math.ceil((self.top - bound) / self.growth))
        noise, log_x = self.slope * (bound + steps * self.growth), -1.0
        for step in reversed(range(steps)):
            noise, log_x = self._below(bound + step * self.growth, noise, log_x)
        return noise * (1 + SLACK)

    def most_sigma(self, bound: float) -> float:
        """No less than `sigma` at any bound up to this one, without its ramp: sigma rises, to the tail's at `top`."""
        return self.slope * (max(bound, self.top) + self.growth) * (1 + SLACK)

    def _excess(self, bound: float) -> float:
        """By how much the noise that D(bound) asks for exceeds the tail's there, relative."""
        return self._below(bound, self.slope * (bound + self.growth), -1.0)[0] / (self.slope * bound) - 1

    def _below(self, bound: float, above: float, start: float) -> tuple[float, float]:
        """The least noise at `bound` under the noise `above` one growth further, and ln x between them."""
        mean = self.alpha * bound**2 / (2 * above**2)
        spendable = self.rho * (1 - SLACK)
        if mean >= spendable:
            return above, start  # only beside the tail, where `top` is looked for
        log_x = log_x_at(self.alpha, self.dimension, spendable, mean, start)
        return above * math.exp(-log_ratio(log_x, self.alpha)), log_x
