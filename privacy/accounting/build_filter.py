"""A filter by the name of its accounting, as a policy gives it."""

from __future__ import annotations

from privacy.accounting.budget_filter import BudgetFilter
from privacy.accounting.renyi_filter import RenyiFilter
from privacy.accounting.zcdp_filter import ZCDPFilter
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
