"""The Protocols of accountants and filters, a filter by name, and the largest epsilon that still fits.

An accountant turns events into amounts that add up; a filter decides whether one more fits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

from privacy.accounting.amounts import Charge, RenyiSpent, ZCDPSpent
from privacy.accounting.basic import BudgetFilter
from privacy.accounting.event import PrivacyEvent, PureDP
from privacy.accounting.renyi import RenyiFilter
from privacy.accounting.zcdp import ZCDPFilter
from privacy.errors import InvalidParameter

A = TypeVar("A", Charge, ZCDPSpent, RenyiSpent)
"""A currency of amounts."""


class Accountant(Protocol[A]):
    """Counts events in one currency. Stateless: the ledger knows who spends."""

    @property
    def name(self) -> str:
        """The currency: `basic`, `zcdp` or `renyi`."""

    @property
    def nothing(self) -> A:
        """The amount at the start."""

    def charge(self, event: PrivacyEvent) -> A:
        """What an event costs, rounded up. Adding amounts is composition, also of adaptively chosen events.

        Raises: InvalidParameter that names an event without a rule.
        """

    def epsilon(self, spent: A, delta: float) -> float:
        """The epsilon of an amount at a delta, rounded up; infinity if there is none.

        It holds if no output decided whether to reach this amount, or if a filter bounds it.
        """


@runtime_checkable
class PrivacyFilter(Protocol[A]):
    """A budget and the rule that enforces it.

    All releases that a filter admits satisfy together the differential privacy that `granted` states. What is asked
    next, and whether anything is, may depend on all earlier outputs. Stateless: the caller passes what is spent.
    """

    @property
    def accountant(self) -> Accountant[A]:
        """Turns events into charges of the currency in which this filter counts."""

    @property
    def granted(self) -> Charge:
        """The (epsilon, delta) that is never exceeded."""

    def admits(self, spent: A, charge: A) -> bool:
        """Whether the budget can pay `charge` on top of what is already spent."""


AnyFilter = BudgetFilter | ZCDPFilter | RenyiFilter
"""The three kinds of filters."""


def build_filter(accounting: str, epsilon: float, delta: float = 0.0, event_delta: float = 0.0) -> AnyFilter:
    """The filter that enforces a budget of (epsilon, delta), both rounded down.

    Args:
      accounting: `basic`, `zcdp` or `renyi`.
      epsilon, delta: the budget; zCDP needs a delta above 0.
      event_delta: zCDP and Renyi: the part of delta for events that have a delta themselves.
    Raises: InvalidParameter for another name.
    """
    if accounting == "basic":
        return BudgetFilter.of(epsilon, delta)
    if accounting == "zcdp":
        return ZCDPFilter.of(epsilon, delta, event_delta)
    if accounting == "renyi":
        return RenyiFilter.of(epsilon, delta, event_delta)
    if accounting == "pld":
        raise InvalidParameter("privacy loss distributions only report: they cannot limit adaptively chosen requests")
    raise InvalidParameter(f"unknown accounting {accounting!r}; choose basic, zcdp or renyi")


def largest_epsilon(
    budget: PrivacyFilter[A], spent: A, event_of: Callable[[float], PrivacyEvent] = PureDP, at_most: float = 100.0
) -> float:
    """The largest epsilon in (0, at_most] whose event the filter would admit, to the last 1e-9.

    Args:
      event_of: the request's event at an epsilon; its cost rises with epsilon.
      at_most: the request's own epsilon, or a cap on every query.
    Returns: a multiple of 1e-9 that was checked; 0.0 if not even 1e-9 fits.
    Cost: some forty charges.
    """

    def fits(nano: int) -> bool:
        return budget.admits(spent, budget.accountant.charge(event_of(Charge(nano).epsilon)))

    low, high = 0, Charge.granted(at_most).nano_epsilon + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return Charge(low).epsilon
