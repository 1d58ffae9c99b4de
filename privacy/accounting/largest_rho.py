"""The largest rho that an (epsilon, delta) buys: the tight conversion, read backwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from privacy.accounting.amounts import ATTO_DIGITS, Charge, ZCDPSpent
from privacy.accounting.conversion import least_epsilon, price
from privacy.accounting.orders import FEMTO_DIGITS, ORDERS, UNBOUNDED
from privacy.accounting.zcdp import curve
from privacy.errors import InvalidParameter

_ROUNDINGS = 2.0**-46


@lru_cache(maxsize=256)
def largest_rho(epsilon: float, delta: float) -> float:
    """The largest rho whose releases an accountant states as at most (epsilon, delta); or 0.0.

    Zero-concentrated releases with this rho in total are (epsilon, delta)-DP, and whoever charges them by
    `approximate`, or by a zCDP accountant, charges no more than epsilon.

    Args:
      epsilon: finite, > 0.
      delta: in (0, 1).
    Returns: rho, below the largest by a relative 2^-45 or 1e-15; 0.0 where no rho is worth it: the least divergence
      at a finite order costs more than a small epsilon allows at this delta. It never exceeds what accountants count
      to, however large epsilon is.
    Raises: InvalidParameter for a parameter out of range.
    Cost: some five to ten conversions, a few milliseconds; remembered.
    Source: Canonne, Kamath, Steinke (2020), Proposition 12; privacy.md section 3.
    """
    grant = Charge.granted(epsilon, delta)
    if not (0 < delta < 1 and epsilon > 0):
        raise InvalidParameter("zero-concentrated releases need an epsilon above 0 and a delta in (0, 1)")

    def fits(femto_rho: int) -> bool:
        spent = ZCDPSpent(femto_rho)
        return least_epsilon(ORDERS, curve(spent), grant.atto_delta) <= grant.epsilon

    low, high = _bracket(fits, _nearly(grant))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    if low == 0:
        return 0.0
    # Less by half of 1e-15, or by some roundings of the float, so that an accountant, rounding up, counts no more.
    return (low - max(0.5, low * _ROUNDINGS)) * 10.0**-FEMTO_DIGITS


def _nearly(grant: Charge) -> int:
    """The largest rho before rounding, in multiples of 1e-15: what the best order leaves of epsilon, over that order.

    epsilon at an order is rho * order and a price, so the best order can be read off; only the exact conversion
    says on which side of the bound this float lies.
    """
    delta = grant.atto_delta / 10**ATTO_DIGITS
    if delta == 0:
        return 0
    worth = max((grant.epsilon - price(order, delta)) / order for order in ORDERS if order != math.inf)
    return max(0, round(min(worth * 10.0**FEMTO_DIGITS, UNBOUNDED)))


def _bracket(fits: Callable[[int], bool], near: int) -> tuple[int, int]:
    """The last amount around `near` that is known to fit, and one that does not. Nothing fits from UNBOUNDED on."""
    low, high, step = near, near, max(1, near >> 46)
    while low > 0 and not fits(low):
        low, high, step = max(0, low - step), low, 2 * step
    while high == low or fits(high):
        low, high, step = high, min(high + step, UNBOUNDED), 2 * step
    return low, high
