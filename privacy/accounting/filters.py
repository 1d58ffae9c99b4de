"""A filter by the name of its accounting, and the largest epsilon that would still fit one."""

from __future__ import annotations

from collections.abc import Callable

from privacy.accounting.accountant import A, PrivacyFilter
from privacy.accounting.amounts import Charge
from privacy.accounting.basic import BudgetFilter
from privacy.accounting.event import PrivacyEvent, PureDP
from privacy.accounting.renyi import RenyiFilter
from privacy.accounting.zcdp import ZCDPFilter
from privacy.errors import InvalidParameter

AnyFilter = BudgetFilter | ZCDPFilter | RenyiFilter
"""The filters there are."""


def build_filter(accounting: str, epsilon: float, delta: float = 0.0, event_delta: float = 0.0) -> AnyFilter:
    """The filter that keeps a budget of (epsilon, delta), both rounded down.

    Args:
      accounting: `basic`, `zcdp` or `renyi`.
      epsilon, delta: the budget; zCDP needs a delta above 0.
      event_delta: zCDP and Renyi: the part of delta kept for events that have a delta themselves.
    Raises: InvalidParameter for another name; `pld` reports, but it is no filter.
    """
    if accounting == "basic":
        return BudgetFilter.of(epsilon, delta)
    if accounting == "zcdp":
        return ZCDPFilter.of(epsilon, delta, event_delta)
    if accounting == "renyi":
        return RenyiFilter.of(epsilon, delta, event_delta)
    if accounting == "pld":
        raise InvalidParameter("privacy loss distributions report; they are no filter for adaptively chosen requests")
    raise InvalidParameter(f"no accounting is called {accounting!r}; there are basic, zcdp and renyi")


def largest_epsilon(
    budget: PrivacyFilter[A],
    spent: A,
    event_of: Callable[[float], PrivacyEvent] = PureDP,
    at_most: float = 100.0,
) -> float:
    """The largest epsilon in (0, at_most] whose event the filter would admit, to the last 1e-9.

    Args:
      budget: the filter.
      spent: what is already spent.
      event_of: the request's event at an epsilon; its cost rises with epsilon.
      at_most: the request's own epsilon, or a cap on every query.
    Returns: a multiple of 1e-9 that was checked; 0.0 when not even 1e-9 fits.
    Cost: some forty charges.
    """

    def fits(nano: int) -> bool:
        return budget.admits(spent, budget.accountant.charge(event_of(Charge(nano).epsilon)))

    low, high = 0, Charge.granted(at_most).nano_epsilon + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return Charge(low).epsilon
