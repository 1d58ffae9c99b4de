"""The order and the split of its budget with which smooth sensitivity has the least noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache

from scipy.optimize import minimize_scalar

from privacy.errors import InvalidParameter
from privacy.mechanisms.vector.smooth_sensitivity import SmoothGaussian
from privacy.sampling.renyi_order import best_order, divergence_budget

DESIGN_BOUND = 12.0
"""The bound on local sensitivity, in units of its own growth, for which the noise is made small.

At d = 10, epsilon 3.2 and delta 1e-7 the noise is then within 5% of the least possible of its kind at a bound of 1,
and within 14% at 31.
"""


@lru_cache(maxsize=64)
def smooth_gaussian(epsilon: float, delta: float, dimension: int, bound: float = DESIGN_BOUND) -> SmoothGaussian:
    """The measurement worth (epsilon, delta) with the least sigma(bound) over all orders and splits.

    Args:
      epsilon, delta: what it may spend; epsilon > 0, delta in (0, 1).
      dimension: d.
      bound: >= 1. Public: a design for the bound at hand would publish it.
    Raises: InvalidParameter when no order is worth it.
    Cost: some 2,000 evaluations of sigma, a quarter of a second.
    Source: DP-S4S (SIGMOD 2026), section 4.1; privacy.md section 5.
    """

    def gain(alpha: float) -> float:
        rho = divergence_budget(epsilon, delta, alpha)
        return -best_split(dimension, alpha, rho, bound).sigma(bound) if rho > 0 else -math.inf

    best = best_order(gain)
    if best.value == -math.inf:
        raise InvalidParameter("no Renyi order is worth this epsilon and delta")
    return best_split(dimension, best.alpha, divergence_budget(epsilon, delta, best.alpha), bound)


def least_noise_order(
    orders: Iterable[float], budget: Callable[[float], float], dimension: int, bound: float = DESIGN_BOUND
) -> float:
    """The order among some at which sigma(bound) is least.

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
        raise InvalidParameter("no Renyi order is worth this epsilon and delta")
    return min(noise, key=noise.__getitem__)


def best_split(dimension: int, alpha: float, rho: float, bound: float) -> SmoothGaussian:
    """The best theta, searched by its odds, so that both ends are seen."""

    def at(log_odds: float) -> SmoothGaussian:
        return SmoothGaussian(dimension, alpha, rho, 1 / (1 + math.exp(-log_odds)))

    found = minimize_scalar(
        lambda x: at(x).sigma(bound), bounds=(-6.0, 9.0), method="bounded", options={"xatol": 0.01}
    )
    return at(float(found.x))
