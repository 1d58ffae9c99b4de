"""A privacy filter in zCDP: one sum of rho."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privacy.accounting.charge import Charge
from privacy.accounting.conversion import divergence_within
from privacy.accounting.event_delta import without_event_delta
from privacy.accounting.orders import ORDERS
from privacy.accounting.zcdp_accountant import ZCDPAccountant
from privacy.accounting.zcdp_spent import ZCDPSpent
from privacy.errors import InvalidParameter


@dataclass(frozen=True)
class ZCDPFilter:
    """Admits charges while the sum of rhos stays within what the grant is worth.

    Sound for adaptively chosen requests: the sum bounds the divergence at every order at once and on every transcript
    (Feldman & Zrnic, NeurIPS 2021, Theorem 3.1; with events' own deltas as in `event_delta.py`), so the best order
    may be taken afterwards.

    Attributes:
      granted: the (epsilon, delta) that is never exceeded.
      limit: the largest sum of rhos, in multiples of 1e-15.
      event_delta: the largest sum of events' own deltas, in multiples of 1e-18; part of the granted delta.
    """

    granted: Charge
    limit: int
    event_delta: int = 0

    @classmethod
    def of(cls, epsilon: float, delta: float, event_delta: float = 0.0) -> ZCDPFilter:
        """A filter for a budget given as floats, rounded down.

        Args:
          epsilon: > 0.
          delta: in (0, 1].
          event_delta: the part of delta kept for events that have a delta themselves; less than delta.
        """
        granted = Charge.granted(epsilon, delta)
        grant, reserved = without_event_delta(granted, event_delta)
        if grant.atto_delta == 0:
            raise InvalidParameter("zCDP says nothing without a delta beyond that of the events")
        finite = (order for order in ORDERS if order != math.inf)
        limit = max(math.floor(divergence_within(order, grant) / Fraction(order)) for order in finite)
        return cls(granted, limit, reserved)

    @property
    def accountant(self) -> ZCDPAccountant:
        """Counts in rho."""
        return ZCDPAccountant()

    def admits(self, spent: ZCDPSpent, charge: ZCDPSpent) -> bool:
        """Whether `charge` fits beside what is already spent; the last grain may be spent, no more."""
        total = spent + charge
        return total.femto_rho <= self.limit and total.atto_delta <= self.event_delta
