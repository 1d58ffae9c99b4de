"""Between Renyi divergences and (epsilon, delta): the tight formula, rounded to the safe side.

A release with divergence r at order a is (epsilon, delta)-DP for

    epsilon = r + ln((a - 1) / a) - (ln delta + ln a) / (a - 1)

(Canonne, Kamath, Steinke, NeurIPS 2020, Proposition 12; privacy.md section 3). At infinite order epsilon is r itself,
and delta 0. Every result is moved by 2^-47 of the magnitudes that enter it, more than the rounding of the floats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from privacy.accounting.amounts import ATTO_DIGITS, NANO_DIGITS, Charge
from privacy.accounting.orders import FEMTO_DIGITS, UNBOUNDED, nats

_SLACK = 2.0**-47


def epsilon_at(order: float, divergence: float, delta: float) -> float:
    """epsilon of a release with a divergence at one order, rounded up; infinity when delta is 0 and the order finite.

    Args:
      order: > 1, or infinity.
      divergence: in nats, >= 0.
      delta: in [0, 1].
    """
    if order == math.inf or divergence == math.inf:
        return divergence
    if delta == 0:
        return math.inf
    return max(0.0, divergence + price(order, delta) + _SLACK * divergence)


def least_epsilon(orders: Sequence[float], femto: Sequence[int], atto_delta: int) -> float:
    """The smallest epsilon over the orders, rounded up.

    Args:
      orders: each > 1, or infinity.
      femto: a divergence per order, in multiples of 1e-15.
      atto_delta: delta in multiples of 1e-18; negative or zero leaves only the infinite order.
    """
    delta = min(1.0, max(0, atto_delta) / 10**ATTO_DIGITS)
    pairs = zip(orders, femto, strict=True)
    return min((epsilon_at(order, nats(amount), delta) for order, amount in pairs), default=math.inf)


def divergence_within(order: float, grant: Charge, share: Fraction = Fraction(1)) -> int:
    """The largest divergence at an order that stays within a grant, in multiples of 1e-15, rounded down.

    Args:
      order: > 1, or infinity.
      grant: (epsilon, delta).
      share: of the grant's delta that this order may spend, in (0, 1].
    Returns: -1 when not even nothing fits.
    """
    epsilon = Fraction(grant.nano_epsilon, 10**NANO_DIGITS)
    if order == math.inf:
        return _down(epsilon)
    delta = float(Fraction(grant.atto_delta, 10**ATTO_DIGITS) * share)
    if delta == 0:
        return -1
    return _down(epsilon - Fraction(price(order, delta)))


def price(order: float, delta: float) -> float:
    """epsilon minus divergence at a finite order, rounded up; negative where delta is large for the order."""
    slack = _SLACK * (1 + (1 - math.log(delta) + math.log(order)) / (order - 1))
    return math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1) + slack


def _down(amount: Fraction) -> int:
    """In multiples of 1e-15; below UNBOUNDED, at which nothing is claimed any more."""
    femto: Fraction = amount * 10**FEMTO_DIGITS
    return max(-1, min(UNBOUNDED - 1, math.floor(femto)))
