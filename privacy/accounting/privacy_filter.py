"""What every filter does: say whether one more charge fits, before anything is released."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from privacy.accounting.accountant import A, Accountant
from privacy.accounting.charge import Charge


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
