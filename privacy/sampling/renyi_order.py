"""The Renyi order at which a divergence is worth most: epsilon at a delta, and the divergence that a budget buys."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from privacy.accounting.conversion import epsilon_at
from privacy.errors import InvalidParameter

_GRID = tuple(10.0 ** (j / 4) for j in range(-16, 29))
"""alpha - 1, from 10^-4 to 10^7: where a bound is looked for before it is refined."""

_GOLDEN = (math.sqrt(5) - 1) / 2
_REFINEMENTS = 30
_ROUNDING = 2.0**-44


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
    Source: Canonne, Kamath, Steinke (2020), Proposition 12; privacy.md section 3.
    """
    _check_delta(delta)
    found = best_order(lambda alpha: -epsilon_at(alpha, curve(alpha), delta))
    return AtOrder(-found.value, found.alpha)


def divergence_budget(epsilon: float, delta: float, alpha: float) -> float:
    """The largest rho at order alpha that is worth (epsilon, delta), rounded down.

        rho = epsilon - ln((alpha - 1) / alpha) + (ln delta + ln alpha) / (alpha - 1)

    Returns: zero or less where no divergence of this order is worth it.
    Raises: InvalidParameter for a parameter out of range.
    """
    _check_delta(delta)
    if not 1 < alpha < math.inf:
        raise InvalidParameter("a Renyi order is finite and above 1")
    if not 0 < epsilon < math.inf:
        raise InvalidParameter("epsilon must be finite and positive")
    parts = epsilon, -math.log1p(-1 / alpha), math.log(delta) / (alpha - 1), math.log(alpha) / (alpha - 1)
    return math.fsum(parts) - _ROUNDING * (1 + math.fsum(map(abs, parts)))


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


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise InvalidParameter("delta lies strictly between 0 and 1")
