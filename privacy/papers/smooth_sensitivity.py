"""Gaussian noise for smooth bounds on local sensitivity.

A public order, a divergence and a dimension enter; how much noise a bound needs leaves, for a bound that moves by at
most a constant between neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from scipy.optimize import brentq, minimize_scalar

from privacy.errors import InvalidParameter

SLACK = 2.0**-30
"""gamma is smaller and the noise larger by this: more than all roundings of the floats around them."""

_DEEPEST = 16.0
"""-ln of the smallest x that is used: below it x = 1 - (1 - x) would lose its digits, and noise grows with 1 / x."""

_MOST_STEPS = 200
"""Far more than convex functions take."""


def shrinking_divergence(log_x: float, alpha: float, dimension: int) -> float:
    """phi: the divergence at order alpha of two equal means with noise of variances r sigma^2 and sigma^2.

        phi(r) = d / (2 (alpha - 1)) * (alpha ln r - ln x),  x = alpha r + 1 - alpha

    It is 0 at r = 1 and rises on both sides; infinite for x <= 0. For r < 1, phi(1 / r) <= phi(r): with u = 1 / r
    the derivative of phi(r) - phi(1 / r) by ln u is, up to d / 2, 1 / (alpha u - alpha + 1) + u / (alpha - (alpha -
    1) u) - 2. That is at least 2 sqrt(u / (...)(...)) - 2 >= 0, since u - (...)(...) = alpha (alpha - 1) (u - 1)^2.

    Args:
      log_x: ln x. In r itself the end (alpha - 1) / alpha cannot be told from its neighbours, and the powers of
        the published polynomial overflow.
      dimension: d.
    """
    cost = alpha * math.log1p(math.expm1(log_x) / alpha) - log_x
    return dimension / (2 * (alpha - 1)) * max(cost, 0.0)


def log_x_at(alpha: float, dimension: int, divergence: float, mean: float = 0.0, start: float = -1.0) -> float:
    """The smallest ln x <= 0 at which a release with two noise scales costs at most `divergence` at order alpha.

    The cost is mean / x + phi. The number x = alpha r + 1 - alpha is 1 if neighbours have equal noise, and smaller
    the smaller the ratio r of their variances is. phi is the cost of the unequal variances (`shrinking_divergence`).
    The result is the root ln x of mean / x + phi = divergence. Both terms fall in x and are convex in ln x. So
    Newton's steps converge from any start: they pass the root once, and then come back to it.

    Args:
      dimension: d of `shrinking_divergence`.
      divergence: the most that the release may cost, > mean.
      mean: the cost of the distance between the means at x = 1, >= 0.
      start: the value of ln x at which Newton's steps begin, < 0.
    Returns: the root ln x, to a relative 2^-40; -16 if it lies below -16.
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
    """The logarithm of the ratio of the two noise scales, sigma / sigma', that belongs to ln x; > 0 for ln x < 0."""
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
    Source: docs/mathematics.md, section 11.2.

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
            raise InvalidParameter("the dimension of noise must be at least 1")
        if not (1 < self.alpha < math.inf and 0 < self.rho < math.inf):
            raise InvalidParameter("a Renyi order must be finite and above 1, and its divergence finite and positive")
        if not 0 < self.theta < 1:
            raise InvalidParameter("theta must be above 0 and below 1")

    @cached_property
    def gamma(self) -> float:
        """The most that ln G may move between neighbours, > 0."""
        return log_ratio(self._log_x, self.alpha) * (1 - SLACK)

    @cached_property
    def factor(self) -> float:
        """sigma / G: the noise for a smooth bound of 1 on local sensitivity, rounded up."""
        left = self.rho - shrinking_divergence(self._log_x, self.alpha, self.dimension)
        return math.sqrt(self.alpha / (2 * math.exp(self._log_x) * left)) * math.exp(-self.gamma) * (1 + SLACK)

    def divergence(self, order: float) -> float:
        """Return an upper bound on the Renyi divergence of an order above 1.

        It is infinite if the divergence of two Gaussians whose variances differ by the factor e^(2 gamma) is.
        """
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


DESIGN_BOUND = 12.0
"""The bound on local sensitivity, in units of its own growth, for which the noise is made small.

At d = 10, epsilon 3.2 and delta 1e-7 the noise is then within 5% of the least possible of its kind at a bound of 1,
and within 14% at 31.
"""


def least_noise_order(
    orders: Iterable[float], budget: Callable[[float], float], dimension: int, bound: float = DESIGN_BOUND
) -> float:
    """Choose the order at which the noise for `bound` is least.

    Args:
      orders: finite, > 1.
      budget: the divergence that is left at each; zero or less where there is none.
    Raises: InvalidParameter when no order has a budget.
    """
    noise = {
        alpha: best_split(dimension, alpha, budget(alpha), bound).sigma(bound)
        for alpha in orders
        if budget(alpha) > 0
    }
    if not noise:
        raise InvalidParameter("this epsilon and delta are too small for noise at any Renyi order")
    return min(noise, key=noise.__getitem__)


def best_split(dimension: int, alpha: float, rho: float, bound: float) -> SmoothGaussian:
    """The noise with the theta at which sigma(bound) is least. The search is over theta's log odds."""

    def at(log_odds: float) -> SmoothGaussian:
        return SmoothGaussian(dimension, alpha, rho, 1 / (1 + math.exp(-log_odds)))

    found = minimize_scalar(
        lambda x: at(x).sigma(bound), bounds=(-6.0, 9.0), method="bounded", options={"xatol": 0.01}
    )
    return at(float(found.x))


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
            raise InvalidParameter("the dimension of noise must be at least 1")
        if not (1 < self.alpha < math.inf and 0 < self.rho < math.inf):
            raise InvalidParameter("a Renyi order must be finite and above 1, and its divergence finite and positive")
        if not 1 <= self.growth < math.inf:
            raise InvalidParameter("the growth of a bound must be at least 1")

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
