"""Gaussian noise in proportion to a smooth bound on local sensitivity, under Renyi differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from privacy.errors import InvalidParameter

SLACK = 2.0**-30
"""gamma is smaller and the noise larger by this: more than all roundings of the floats around them."""

_DEEPEST = 16.0
"""-ln of the smallest x that is used: below it x = 1 - (1 - x) would lose its digits, and noise grows with 1 / x."""

_MOST_STEPS = 200
"""Far more than convex functions take."""


def shrinking_divergence(log_x: float, alpha: float, dimension: int) -> float:
    """phi: what noise of variance r sigma^2 on the other side alone costs at order alpha.

        phi(r) = d / (2 (alpha - 1)) * (alpha ln r - ln x),  x = alpha r + 1 - alpha

    It is 0 at r = 1 and rises on both sides; infinite for x <= 0. For r < 1, phi(1 / r) <= phi(r): with u = 1 / r
    the derivative of phi(r) - phi(1 / r) by ln u is, up to d / 2, 1 / (alpha u - alpha + 1) + u / (alpha - (alpha -
    1) u) - 2. That is at least 2 sqrt(u / (...)(...)) - 2 >= 0, since u - (...)(...) = alpha (alpha - 1) (u - 1)^2.

    Args:
      log_x: ln x. In r itself the end (alpha - 1) / alpha cannot be told from its neighbours, and the powers of
        the published polynomial overflow.
      alpha: the order, > 1.
      dimension: d.
    """
    cost = alpha * math.log1p(math.expm1(log_x) / alpha) - log_x
    return dimension / (2 * (alpha - 1)) * max(cost, 0.0)


def log_x_at(alpha: float, dimension: int, divergence: float, mean: float = 0.0, start: float = -1.0) -> float:
    """The smallest ln x <= 0 with mean / x + phi <= divergence; both terms fall in x and are convex in ln x.

    So Newton's steps end up deeper than the root and come back to it, from anywhere.

    Args:
      divergence: > mean >= 0.
      start: < 0, where to begin.
    Returns: the root, up to 2^-40 of it; -16 where it is deeper.
    """
    share, depth = dimension / (2 * (alpha - 1)), -start
    for _ in range(_MOST_STEPS):
        x = math.exp(-depth)
        beyond = mean / x + shrinking_divergence(-depth, alpha, dimension) - divergence
        rise = mean / x + share * (alpha - 1) * (1 - x) / (alpha - 1 + x)
        before, depth = depth, depth - beyond / rise
        if depth >= _DEEPEST:
            if beyond < 0 and before == _DEEPEST:
                return -_DEEPEST
            depth = _DEEPEST
        if abs(depth - before) <= 2.0**-40 * before:
            break
    return -depth


def log_ratio(log_x: float, alpha: float) -> float:
    """ln(sigma / sigma') > 0 for ln x < 0."""
    return -math.log1p(math.expm1(log_x) / alpha) / 2


def smooth_bound(bound: float, gamma: float, growth: float = 1.0) -> float:
    """G = max over whole k >= 0 of (bound + growth k) e^(-gamma k).

    Where the bound moves by at most `growth` between neighbours, G moves by a factor of at most e^gamma: a
    gamma-smooth bound on local sensitivity. Nissim, Raskhodnikova & Smith, STOC 2007; DP-S4S, section 4.1.
    """
    peak = max(0, math.floor(1 / gamma - bound / growth))
    return max((bound + growth * k) * math.exp(-gamma * k) for k in (0, peak, peak + 1))


@dataclass(frozen=True)
class SmoothGaussian:
    """F(I) + sigma(I) N(0, 1_d), sigma(I) = factor G(I): of divergence at most rho at order alpha.

    For G(I) <= e^gamma G(I') and |F(I) - F(I')| <= min(G(I), G(I')) between neighbours. With r = (sigma' / sigma)^2
    in [e^(-2 gamma), e^(2 gamma)] the divergence of the two normal distributions is at most

        S(r) = alpha min(1, r) / (2 factor^2 x) + phi(r),  x = alpha r + 1 - alpha.

    Below r = 1 both terms fall in r. Above, the first stays below its value at 1 and the second below phi(1 / r), so
    S(r) <= S(1 / r). Hence S is largest at e^(-2 gamma), where `factor` is the least with which S <= rho.

    Departures from Lemma 4.1 of DP-S4S: e^(-gamma), because |F - F'| is at most the smaller of the two bounds; the
    square root of x, as in the paper's own proof; rho divided by theta instead of halved.
    Source: privacy.md section 5.

    Attributes:
      dimension: d >= 1.
      alpha: the order, > 1.
      rho: the divergence of this order that it may have, > 0.
      theta: in (0, 1), the share of rho that is left for the distance of the means. Like alpha it is public, and
        chosen without looking at G.
    """

    dimension: int
    alpha: float
    rho: float
    theta: float

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise InvalidParameter("noise has at least one dimension")
        if not (1 < self.alpha < math.inf and 0 < self.rho < math.inf):
            raise InvalidParameter("an order is finite and above 1, its divergence finite and positive")
        if not 0 < self.theta < 1:
            raise InvalidParameter("theta lies strictly between 0 and 1")

    @cached_property
    def gamma(self) -> float:
        """By how much ln G may move between neighbours, > 0."""
        return log_ratio(self._log_x, self.alpha) * (1 - SLACK)

    @cached_property
    def factor(self) -> float:
        """sigma / G: the noise for a smooth bound of 1 on local sensitivity, rounded up."""
        left = self.rho - shrinking_divergence(self._log_x, self.alpha, self.dimension)
        return math.sqrt(self.alpha / (2 * math.exp(self._log_x) * left)) * math.exp(-self.gamma) * (1 + SLACK)

    def divergence(self, order: float) -> float:
        """A bound on the divergence of any order > 1; infinite where variances e^(2 gamma) apart have none."""
        x = 1 - order / self.alpha * -math.expm1(self._log_x)
        if x <= 0:
            return math.inf
        mean = order * math.exp(-2 * self.gamma) / (2 * self.factor**2 * x)
        return (mean + shrinking_divergence(math.log(x), order, self.dimension)) * (1 + SLACK / 2)

    def sigma(self, bound: float, growth: float = 1.0) -> float:
        """The noise at a bound on local sensitivity that moves by at most `growth` between neighbours."""
        return self.factor * smooth_bound(bound, self.gamma, growth)

    @cached_property
    def _log_x(self) -> float:
        """At r = e^(-2 gamma) and alpha; a little below it, on the safe side."""
        return log_x_at(self.alpha, self.dimension, (1 - self.theta) * self.rho)
