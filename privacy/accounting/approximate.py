"""One (epsilon, delta) for any event, so that a filter by basic composition can charge it."""

from __future__ import annotations

from privacy.accounting.amounts import Charge
from privacy.accounting.event import ApproxDP, PrivacyEvent
from privacy.accounting.orders import ORDERS
from privacy.accounting.renyi import RenyiAccountant
from privacy.errors import InvalidParameter

_LEAST_EPSILON = 1e-9
"""An event states an epsilon above zero, also where delta alone would do."""


def approximate(event: PrivacyEvent, delta: float, orders: tuple[float, ...] = ORDERS) -> ApproxDP:
    """The event as (epsilon, delta)-DP, with the smallest epsilon that its Renyi divergences give at this delta.

    Args:
      event: any that has Renyi divergences; a composition is one event of events fixed in advance or bounded by it.
      delta: in multiples of 1e-18, at least the sum of the deltas that the event's parts have themselves.
    Raises: InvalidParameter for an event without a rule, or that has no finite epsilon at this delta.
    """
    accountant = RenyiAccountant(orders)
    epsilon = accountant.epsilon(accountant.charge(event), delta)
    if epsilon == float("inf"):
        raise InvalidParameter(f"{type(event).__name__} has no finite epsilon at this delta")
    return ApproxDP(max(epsilon, _LEAST_EPSILON), Charge.granted(0.0, delta).delta)
