"""The least Gaussian noise that a sample affords, given (epsilon, delta)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import optimize

from privacy.errors import InvalidParameter
from privacy.sampling.joint_renyi import joint_renyi
from privacy.sampling.renyi_order import best_order, divergence_budget
from privacy.sampling.square_loss import SquareLoss

_CLOSE = 1e-9
"""Relative: how far below the largest affordable factor the result may lie."""

_WIDEST = 2.0**200
_LEAST = 2.0**-900


@dataclass(frozen=True)
class RenyiPlan:
    """What Gaussian releases from one sample may cost, at one order.

    Attributes:
      factor: their squared losses may be multiplied by it: noise scales are divided by its square root.
      alpha: the order, > 1.
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
            raise InvalidParameter("the sample bounds nothing")
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
    Source: privacy.md section 3.
    """

    def gain(alpha: float) -> float:
        rho = divergence_budget(epsilon, delta, alpha)
        return affordable_factor(losses, delta_bound, rate, alpha, rho) if rho > 0 else -math.inf

    best = best_order(gain)
    if best.value <= 0:
        raise InvalidParameter("no Renyi order is worth this epsilon and delta")
    return RenyiPlan(best.value, best.alpha, divergence_budget(epsilon, delta, best.alpha))
