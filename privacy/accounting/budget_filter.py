"""A privacy filter by basic composition: it says whether one more charge fits."""

from __future__ import annotations

from dataclasses import dataclass

from privacy.accounting.basic_accountant import BasicAccountant
from privacy.accounting.charge import Charge, atto_delta, nano_epsilon

__all__ = ["BudgetFilter", "Charge", "atto_delta", "nano_epsilon"]


@dataclass(frozen=True)
class BudgetFilter:
    """Admits charges while both sums stay within the grant.

    Sound for adaptively chosen requests: epsilons and deltas add up also when each request and its
    charge depend on earlier outputs (Rogers, Roth, Ullman, Vadhan, NIPS 2016). Exact: integers all the way.

    Attributes:
      granted: the budget.
    """

    granted: Charge

    @classmethod
    def of(cls, epsilon: float, delta: float = 0.0) -> BudgetFilter:
        """A filter for a budget given as floats, rounded down."""
        return cls(Charge.granted(epsilon, delta))

    @property
    def accountant(self) -> BasicAccountant:
        """Counts in exact epsilons and deltas."""
        return BasicAccountant()

    def admits(self, spent: Charge, charge: Charge) -> bool:
        """Whether `charge` fits beside what is already spent; the last grain may be spent, no more."""
        total = spent + charge
        return total.nano_epsilon <= self.granted.nano_epsilon and total.atto_delta <= self.granted.atto_delta

    def left(self, spent: Charge) -> Charge:
        """What is left; zero where the grant was lowered below what is spent."""
        return Charge(
            max(0, self.granted.nano_epsilon - spent.nano_epsilon),
            max(0, self.granted.atto_delta - spent.atto_delta),
        )
