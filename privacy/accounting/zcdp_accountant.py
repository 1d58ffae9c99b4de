"""Zero-concentrated differential privacy: one number that adds up."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privacy.accounting.charge import Charge
from privacy.accounting.compose import own_delta
from privacy.accounting.concentration import concentration
from privacy.accounting.conversion import least_epsilon
from privacy.accounting.event import PrivacyEvent, leaves
from privacy.accounting.orders import FEMTO_DIGITS, ORDERS, femto
from privacy.accounting.zcdp_spent import ZCDPSpent


@dataclass(frozen=True)
class ZCDPAccountant:
    """Counts in rho. Best for Gaussian noise and many small releases. Source: Bun & Steinke, TCC 2016.

    A charge exceeds the exact rho by 1e-15 and a relative 2^-39 at most.
    """

    @property
    def name(self) -> str:
        """`zcdp`."""
        return "zcdp"

    @property
    def nothing(self) -> ZCDPSpent:
        """rho = 0."""
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
