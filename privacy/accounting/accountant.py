"""What every accountant does: turn events into amounts that add up, and amounts into (epsilon, delta)."""

from __future__ import annotations

from typing import Protocol, TypeVar

from privacy.accounting.charge import Charge
from privacy.accounting.event import PrivacyEvent
from privacy.accounting.renyi_spent import RenyiSpent
from privacy.accounting.zcdp_spent import ZCDPSpent

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
