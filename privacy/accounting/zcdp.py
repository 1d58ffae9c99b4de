"""zCDP: an event's rho, the accountant, the filter, and the rho that an (epsilon, delta) buys.

Rhos add up. What a budget buys is the inverse of the tight conversion.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from privacy.accounting.amounts import ATTO_DIGITS, Charge, ZCDPSpent, without_event_delta
from privacy.accounting.basic import own_delta
from privacy.accounting.event import (
    FEMTO_DIGITS,
    ORDERS,
    UNBOUNDED,
    ApproxDP,
    BoundedRange,
    PrivacyEvent,
    PureDP,
    femto,
    leaves,
    refusal,
)
from privacy.accounting.renyi import divergence_within, least_epsilon, linear_rate, price
from privacy.errors import InvalidParameter
from privacy.exact import UPWARD, decimal_fraction


@dataclass(frozen=True)
class ZCDPAccountant:
    """Counts in rho. Best for Gaussian noise and many small releases. Source: Bun & Steinke, TCC 2016.

    A charge exceeds the exact rho by 1e-15 and a relative 2^-39 at most.
    """

    name = "zcdp"

    @property
    def nothing(self) -> ZCDPSpent:
        """The amount that nothing costs: rho 0."""
        return ZCDPSpent(0)

    def charge(self, event: PrivacyEvent) -> ZCDPSpent:
        """The event's rhos, added up and rounded up once. Raises: as `Accountant.charge`."""
        rho = sum((concentration(leaf) for leaf in leaves(event)), Fraction(0))
        return ZCDPSpent(femto(rho), own_delta(event))

    def epsilon(self, spent: ZCDPSpent, delta: float) -> float:
        """By the tight conversion at the best of the fixed orders, after the releases' own deltas."""
        left = Charge.granted(0.0, delta).atto_delta - spent.atto_delta
        if spent == self.nothing:
            return 0.0
        return least_epsilon(ORDERS, curve(spent), left) if left >= 0 else float("inf")


def curve(spent: ZCDPSpent) -> tuple[int, ...]:
    """rho * order at the fixed orders, in multiples of 1e-15, rounded up."""
    return tuple(
        femto(None if order == float("inf") else Fraction(order) * spent.femto_rho / 10**FEMTO_DIGITS)
        for order in ORDERS
    )


_SMALL = 2.0**-20


def concentration(event: PrivacyEvent) -> Fraction:
    """rho of an event that is not a composition, above the exact value by a relative 2^-39 at most.

    An `ApproxDP` event is rho-zCDP but for an event of probability delta, which is charged apart.
    Raises: InvalidParameter that names an event without a rule.
    """
    if isinstance(event, (PureDP, ApproxDP)):
        return _pure(decimal_fraction(event.epsilon))
    if isinstance(event, BoundedRange):
        epsilon = decimal_fraction(event.epsilon)
        return min(epsilon**2 / 8, _pure(epsilon))
    rho = linear_rate(event)
    if rho is None:
        raise refusal("zCDP", event)
    return rho


def _pure(epsilon: Fraction) -> Fraction:
    """epsilon tanh(epsilon / 2), never above epsilon^2 / 2.

    With s = (order - 1/2)^2 the divergence of randomised response is (f(s) - f(1/4)) / (order - 1) for
    f(s) = ln cosh(epsilon sqrt(s)), which is concave, so it lies below its tangent at 1/4: f'(1/4) * order. The
    tangent is reached as the order falls to 1.
    """
    value = float(epsilon)
    if value < _SMALL:
        return epsilon**2 / 2
    return min(epsilon**2 / 2, Fraction(value * math.tanh(value / 2) * UPWARD))


@dataclass(frozen=True)
class ZCDPFilter:
    """Admits charges while the sum of rhos stays within what the grant is worth.

    Sound for adaptively chosen requests. The sum bounds the divergence at every order at once and on every transcript
    (Feldman & Zrnic, NeurIPS 2021, Theorem 3.1; for events' own deltas see `amounts.py`). So the best order may be
    chosen afterwards.

    Attributes:
      granted: the (epsilon, delta) that is never exceeded.
      limit: the largest sum of rhos, in multiples of 1e-15.
      event_delta: the largest sum of events' own deltas, in multiples of 1e-18; part of the granted delta.
    """

    granted: Charge
    limit: int
    event_delta: int = 0

    @classmethod
    def of(cls, epsilon: float, delta: float, event_delta: float = 0.0) -> ZCDPFilter:
        """A filter for a budget given as floats, rounded down.

        Args:
          epsilon: > 0.
          delta: in (0, 1].
          event_delta: the part of delta for events that have a delta themselves; less than delta.
        Raises: InvalidParameter.
        """
        granted = Charge.granted(epsilon, delta)
        grant, reserved = without_event_delta(granted, event_delta)
        if grant.atto_delta == 0:
            raise InvalidParameter("zCDP accounting needs a delta above the sum of the events' deltas")
        finite = (order for order in ORDERS if order != math.inf)
        limit = max(math.floor(divergence_within(order, grant) / Fraction(order)) for order in finite)
        return cls(granted, limit, reserved)

    @property
    def accountant(self) -> ZCDPAccountant:
        """The accountant whose amounts the filter admits. It counts privacy loss in rho."""
        return ZCDPAccountant()

    def admits(self, spent: ZCDPSpent, charge: ZCDPSpent) -> bool:
        """Whether the budget can pay `charge` on top of what is already spent. All of the budget may be spent."""
        total = spent + charge
        return total.femto_rho <= self.limit and total.atto_delta <= self.event_delta


_ROUNDINGS = 2.0**-46


@lru_cache(maxsize=256)
def largest_rho(epsilon: float, delta: float) -> float:
    """The largest rho whose releases an accountant states as at most (epsilon, delta); or 0.0.

    Releases with this rho in total are (epsilon, delta)-DP. A charge by `approximate` or by a zCDP accountant is no
    more than epsilon.

    Args:
      epsilon: finite, > 0.
      delta: in (0, 1).
    Returns: rho, below the largest by a relative 2^-45 or 1e-15; 0.0 if no rho is worth a small epsilon at this
      delta. It never exceeds what accountants count to.
    Raises: InvalidParameter for a parameter out of range.
    Cost: some five to ten conversions, a few milliseconds; cached.
    Source: Canonne, Kamath, Steinke (2020), Proposition 12; docs/mathematics.md, section 8.2.
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
