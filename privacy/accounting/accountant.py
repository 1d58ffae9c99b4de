"""The Protocols: an accountant turns events into amounts that add up; a filter says whether one more fits."""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

from privacy.accounting.amounts import Charge, RenyiSpent, ZCDPSpent
from privacy.accounting.event import PrivacyEvent

A = TypeVar("A", Charge, ZCDPSpent, RenyiSpent)
"""The amounts there are."""


class Accountant(Protocol[A]):
    """Counts events in one currency. Stateless: who spends is the ledger's concern."""

    @property
    def name(self) -> str:
        """The currency: `basic`, `zcdp` or `renyi`."""
        ...

    @property
    def nothing(self) -> A:
        """What was spent at first."""
        ...

    def charge(self, event: PrivacyEvent) -> A:
        """What an event costs, rounded up. Adding amounts is composition, also of adaptively chosen events.

        Raises: InvalidParameter that names an event without a rule.
        """
        ...

    def epsilon(self, spent: A, delta: float) -> float:
        """The epsilon of an amount at a delta, rounded up; infinity when there is none.

        Holds when no output decided whether to reach this amount, or when a filter bounds it. For a running
        total on which one acts, ask an `Odometer`.
        """
        ...


@runtime_checkable
class PrivacyFilter(Protocol[A]):
    """A budget and the rule that keeps it.

    All releases that a filter admitted together are `granted`-DP, also when each request, its event and the
    decision to go on depend on all outputs so far. Stateless: what is spent is given in and stored elsewhere.
    """

    @property
    def accountant(self) -> Accountant[A]:
        """Turns events into charges of the currency in which this filter counts."""
        ...

    @property
    def granted(self) -> Charge:
        """The (epsilon, delta) that is never exceeded."""
        ...

    def admits(self, spent: A, charge: A) -> bool:
        """Whether `charge` fits beside what is already spent."""
        ...
