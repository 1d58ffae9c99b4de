"""The largest rho that an (epsilon, delta) buys: the tight conversion, read backwards."""

from __future__ import annotations

from functools import lru_cache

from privacy.accounting.charge import Charge
from privacy.accounting.conversion import least_epsilon
from privacy.accounting.orders import FEMTO_DIGITS, ORDERS
from privacy.accounting.zcdp_accountant import curve
from privacy.accounting.zcdp_spent import ZCDPSpent
from privacy.errors import InvalidParameter


@lru_cache(maxsize=256)
def largest_rho(epsilon: float, delta: float) -> float:
    """The largest rho, to a relative 1e-12, whose releases an accountant states as at most (epsilon, delta).

    Zero-concentrated releases with this rho in total are (epsilon, delta)-DP, and whoever charges them by
    `approximate`, or by a zCDP accountant, charges no more than epsilon.

    Args:
      epsilon: > 0.
      delta: in (0, 1).
    Raises: InvalidParameter where no rho is worth it, or a parameter is out of range.
    Cost: some fifty conversions, a few milliseconds; remembered.
    Source: Canonne, Kamath, Steinke (2020), Proposition 12; privacy.md section 3.
    """
    grant = Charge.granted(epsilon, delta)
    if not 0 < delta < 1:
        raise InvalidParameter("zero-concentrated releases need a delta in (0, 1)")

    def fits(femto_rho: int) -> bool:
        spent = ZCDPSpent(femto_rho)
        return least_epsilon(ORDERS, curve(spent), grant.atto_delta) <= grant.epsilon

    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > max(1, low >> 40):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    if low == 0:
        raise InvalidParameter("no zero-concentrated release is worth this epsilon and delta")
    # Half of 1e-15 less, so that an accountant, which rounds the float up, does not count one more.
    return (low - 0.5) * 10.0**-FEMTO_DIGITS
