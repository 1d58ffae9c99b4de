"""The largest epsilon that would still fit: what a refusal tells the analyst."""

from __future__ import annotations

from collections.abc import Callable

from privacy.accounting.accountant import A
from privacy.accounting.charge import Charge
from privacy.accounting.event import PrivacyEvent, PureDP
from privacy.accounting.privacy_filter import PrivacyFilter


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
