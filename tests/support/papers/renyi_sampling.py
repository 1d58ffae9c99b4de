"""What Gaussian noise on one shared sample costs in (epsilon, delta), and the least noise that costs it.

All releases from one sample of join tuples cost their joint divergence at every Renyi order; a budget is worth most
at one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scipy import optimize

from privacy.accounting.renyi import divergence_budget, epsilon_at
from privacy.errors import InvalidParameter
from privacy.sampling.growth import Piece, log_moment


@dataclass(frozen=True)
class SquareLoss:
    """l(k) = 0 for k = 0, and rho + (step + slope * min(cap, k))^2 / 2 for k >= 1.

    A bound on a release's Renyi divergence at order alpha, divided by alpha, in both directions.
    Source: docs/mathematics.md, section 7.3.

    Attributes:
      rho: what the first tuple costs at once, as zero-concentrated privacy, >= 0.
      step: by how many noise scales the first tuple moves the release beside the slope, >= 0.
      slope: by how many noise scales each tuple moves it, >= 0.
      cap: how many tuples count, > 0.
    """

    rho: float
    step: float
    slope: float
    cap: float

    def __post_init__(self) -> None:
        if not (0 <= self.rho < math.inf and 0 <= self.step < math.inf):
            raise InvalidParameter("a loss is finite and not negative")
        if not (0 <= self.slope < math.inf and 0 < self.cap < math.inf):
            raise InvalidParameter("a loss is finite and not negative")

    @property
    def most(self) -> float:
        """l(infinity): the loss without any bound on how many tuples one unit has."""
        return self.rho + (self.step + self.slope * self.cap) ** 2 / 2

    def times(self, factor: float) -> SquareLoss:
        """Every value multiplied by a factor >= 0: several releases alike, or noise of another scale."""
        root = math.sqrt(factor)
        return SquareLoss(self.rho * factor, self.step * root, self.slope * root, self.cap)


def gaussian_loss(tau: float, scale: float, beside: float = 0.0) -> SquareLoss:
    """Gaussian noise of a scale on a truncated answer: (min(tau, k) + beside)^2 / (2 scale^2).

    It is that of the discrete Gaussian too, on a grid on which the answer moves by whole steps
    (Canonne, Kamath, Steinke 2020, Proposition 5).

    Args:
      tau: the threshold, > 0, in normalised weight, where a tuple weighs at most 1.
      scale: sigma, > 0.
      beside: what the value may move beside, by a solver's gap or a rounding; in normalised weight.
    Raises: InvalidParameter.
    """
    if not scale > 0:
        raise InvalidParameter("a noise scale must be above 0")
    return SquareLoss(0.0, beside / scale, 1 / scale, tau)


def joint_renyi(losses: Sequence[SquareLoss], delta_bound: int | None, rate: float, alpha: float) -> float:
    """The Renyi divergence of order alpha of several releases from one sample of join tuples.

        rho'(alpha) = ln E[exp((alpha - 1) alpha g(K))] / (alpha - 1),
        g(k) = sum_i l_i(k),  K ~ Binomial(delta_bound, rate)

    with l_i(k) = (min(tau_i, k) + eta tau_i)^2 / (2 sigma_i^2) for Gaussian noise: a bound in both directions,
    because the divergence is convex in the sample's mixture. Divergences that are amplified one by one do not add up
    over a shared sample.

    Args:
      losses: one per release, none of them chosen by looking at the others.
      delta_bound: Delta >= 1, the public bound on the join tuples of one unit; None when there is none.
    Returns: rho' in [0, alpha g(infinity)], rounded up by a relative 1e-10; alpha g(infinity) without a bound.
    Raises: InvalidParameter for a parameter out of range.
    Cost: some tens of microseconds per distinct threshold, whatever delta_bound is.
    Source: docs/mathematics.md, section 7.3; Lemma 3.5 of DP-S4S (SIGMOD 2026), jointly.
    """
    if not 1 < alpha < math.inf:
        raise InvalidParameter("a Renyi order must be finite and above 1")
    if not 0 < rate <= 1 or (delta_bound is not None and delta_bound < 1):
        raise InvalidParameter("a sampling rate lies in (0, 1], and a unit has at least one tuple")
    most = alpha * math.fsum(loss.most for loss in losses)
    if delta_bound is None:
        return most
    pieces = tuple(_pieces(losses, delta_bound, alpha * (alpha - 1)))
    return min(most, log_moment(pieces, delta_bound, rate) / (alpha - 1))


def _pieces(losses: Sequence[SquareLoss], delta_bound: int, factor: float) -> Iterator[Piece]:
    """The parabolas of factor * g on 1..delta_bound."""
    ends = {min(delta_bound, math.floor(loss.cap)) for loss in losses if loss.slope > 0} | {delta_bound}
    low = 1
    for high in sorted(ends):
        if high < low:
            continue
        rising = [loss for loss in losses if loss.cap >= high]
        constant = math.fsum(loss.most if loss.cap < high else loss.rho + loss.step**2 / 2 for loss in losses)
        slope = math.fsum(loss.step * loss.slope for loss in rising)
        curve = math.fsum(loss.slope**2 / 2 for loss in rising)
        yield Piece(low, high, factor * constant, factor * slope, factor * curve)
        low = high + 1


_GRID = tuple(10.0 ** (j / 4) for j in range(-16, 29))
"""alpha - 1, from 10^-4 to 10^7: where a bound is looked for before it is refined."""

_GOLDEN = (math.sqrt(5) - 1) / 2
_REFINEMENTS = 30


class AtOrder(NamedTuple):
    """A number and the order alpha that it belongs to."""

    value: float
    alpha: float


def least_epsilon(curve: Callable[[float], float], delta: float) -> AtOrder:
    """The smallest epsilon over all orders alpha > 1, by the tight conversion.

    Args:
      curve: rho(alpha), a bound on the divergence of each order; may be infinite.
      delta: in (0, 1).
    Returns: epsilon, rounded up, and its order. Every order gives a sound bound: no search goes wrong in privacy.
    Raises: InvalidParameter for a delta out of range.
    Cost: some 80 evaluations of the curve.
    Source: Canonne, Kamath, Steinke (2020), Proposition 12; docs/mathematics.md, section 8.2.
    """
    if not 0 < delta < 1:
        raise InvalidParameter("delta must be above 0 and below 1")
    found = best_order(lambda alpha: -epsilon_at(alpha, curve(alpha), delta))
    return AtOrder(-found.value, found.alpha)


def best_order(gain: Callable[[float], float]) -> AtOrder:
    """The largest gain(alpha) over alpha - 1 in [1e-4, 1e7]: the best of a grid, then golden sections beside it.

    Returns: the largest value seen; the largest there is where the gain has one peak between the grid's neighbours.
    """
    seen = [AtOrder(gain(1 + order), 1 + order) for order in _GRID]
    top = max(range(len(seen)), key=lambda i: seen[i].value)
    best = seen[top]
    low, high = math.log(_GRID[max(0, top - 1)]), math.log(_GRID[min(len(_GRID) - 1, top + 1)])
    points = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    gains = [gain(1 + math.exp(x)) for x in points]
    for _ in range(_REFINEMENTS):
        if gains[0] >= gains[1]:
            high, points[1], gains[1] = points[1], points[0], gains[0]
            points[0] = high - _GOLDEN * (high - low)
            gains[0] = gain(1 + math.exp(points[0]))
        else:
            low, points[0], gains[0] = points[0], points[1], gains[1]
            points[1] = low + _GOLDEN * (high - low)
            gains[1] = gain(1 + math.exp(points[1]))
        best = max(best, *(AtOrder(gains[i], 1 + math.exp(points[i])) for i in (0, 1)))
    return best


_CLOSE = 1e-9
"""Relative: how far below the largest affordable factor the result may lie."""

_WIDEST = 2.0**200
_LEAST = 2.0**-900


@dataclass(frozen=True)
class RenyiPlan:
    """What Gaussian releases from one sample may cost, at one order.

    Attributes:
      factor: their squared losses may be multiplied by it: noise scales are divided by its square root.
      rho: the divergence that they may have there together.
    """

    factor: float
    alpha: float
    rho: float


def affordable_factor(
    losses: Sequence[SquareLoss], delta_bound: int | None, rate: float, alpha: float, rho: float
) -> float:
    """The largest x for which the losses times x have a joint divergence of at most rho at one order, to within 1e-9.

    Args:
      losses: of all releases from the sample, for all groups that one unit reaches.
      delta_bound, rate, alpha: as `joint_renyi`.
      rho: > 0.
    Returns: an x that was checked.
    Raises: InvalidParameter when rho is not positive or the losses are zero.
    Cost: some 15 evaluations of `joint_renyi`.
    """
    if not 0 < rho < math.inf:
        raise InvalidParameter("no divergence of this order is worth the budget")

    def over(x: float) -> float:
        """ln of the divergence at x times the losses, beyond rho."""
        spent = joint_renyi([loss.times(x) for loss in losses], delta_bound, rate, alpha)
        return math.log(max(spent / rho, _LEAST))

    most = math.fsum(loss.most for loss in losses)
    if most <= 0:
        raise InvalidParameter("there is nothing to calibrate")
    low = rho / (alpha * most) * (1 - 2.0**-40)  # without amplification
    start, high = low, 2 * low
    while over(high) <= 0:
        low, high = high, high * 4
        if high > start * _WIDEST:
            raise InvalidParameter("no privacy bound can be computed for this mechanism on a sample")
    root = math.exp(optimize.brentq(lambda x: over(math.exp(x)), math.log(low), math.log(high), xtol=_CLOSE / 8))
    while over(root) > 0:
        root *= 1 - _CLOSE / 4
    return root


def least_noise(
    losses: Sequence[SquareLoss], delta_bound: int | None, rate: float, epsilon: float, delta: float
) -> RenyiPlan:
    """The order and the factor with which the losses just cost (epsilon, delta): the least noise of this shape.

    Args:
      losses: of all releases at noise of some shape, for all groups that one unit reaches.
      epsilon: > 0.
      delta: in (0, 1).
    Raises: InvalidParameter for a parameter out of range.
    Cost: some hundred times `affordable_factor`, 0.1 seconds for a dozen thresholds.
    Source: docs/mathematics.md, section 7.3.
    """

    def gain(alpha: float) -> float:
        rho = divergence_budget(epsilon, delta, alpha)
        return affordable_factor(losses, delta_bound, rate, alpha, rho) if rho > 0 else -math.inf

    best = best_order(gain)
    if best.value <= 0:
        raise InvalidParameter("this epsilon and delta are too small for noise at any Renyi order")
    return RenyiPlan(best.value, best.alpha, divergence_budget(epsilon, delta, best.alpha))
