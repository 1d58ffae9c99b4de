"""The largest rho that an (epsilon, delta) buys: the tight conversion, read backwards."""

from __future__ import annotations

from functools import lru_cache

from privacy.accounting.amounts import Charge, ZCDPSpent
from privacy.accounting.conversion import least_epsilon
from privacy.accounting.orders import FEMTO_DIGITS, ORDERS, UNBOUNDED
from privacy.accounting.zcdp import curve
from privacy.errors import InvalidParameter


@lru_cache(maxsize=256)
def largest_rho(epsilon: float, delta: float) -> float:
    """The largest rho, to a relative 1e-12, whose releases an accountant states as at most (epsilon, delta); or 0.0.

    Zero-concentrated releases with this rho in total are (epsilon, delta)-DP, and whoever charges them by
    `approximate`, or by a zCDP accountant, charges no more than epsilon.

    Args:
      epsilon: finite, > 0.
      delta: in (0, 1).
    Returns: rho; 0.0 where no rho is worth it: the least divergence at a finite order costs more than a small epsilon
      allows at this delta. It never exceeds what accountants count to, however large epsilon is.
    Raises: InvalidParameter for a parameter out of range.
    Cost: some fifty conversions, a few milliseconds; remembered.
    Source: Canonne, Kamath, Steinke (2020), Proposition 12; privacy.md section 3.
    """
    grant = Charge.granted(epsilon, delta)
    if not (0 < delta < 1 and epsilon > 0):
        raise InvalidParameter("zero-concentrated releases need an epsilon above 0 and a delta in (0, 1)")

    def fits(femto_rho: int) -> bool:
        spent = ZCDPSpent(femto_rho)
        return least_epsilon(ORDERS, curve(spent), grant.atto_delta) <= grant.epsilon

    low, high = 0, 1
    while fits(high):  # at UNBOUNDED nothing is claimed, so nothing fits
        low, high = high, min(2 * high, UNBOUNDED)
    while high - low > max(1, low >> 40):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    if low == 0:
        return 0.0
    # Half of 1e-15 less, so that an accountant, which rounds the float up, does not count one more.
    return (low - 0.5) * 10.0**-FEMTO_DIGITS
