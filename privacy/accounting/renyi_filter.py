"""A privacy filter in Renyi differential privacy: a limit at every order, of which one must hold."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from privacy.accounting.charge import Charge
from privacy.accounting.conversion import divergence_within
from privacy.accounting.event_delta import without_event_delta
from privacy.accounting.orders import ORDERS
from privacy.accounting.renyi_accountant import RenyiAccountant
from privacy.accounting.renyi_spent import RenyiSpent


@dataclass(frozen=True)
class RenyiFilter:
    """Admits charges while at one order at least the sum of divergences stays within that order's limit.

    Sound for adaptively chosen requests. At one fixed order a sum that stays within a limit on every transcript
    bounds the divergence of the whole (Feldman & Zrnic, NeurIPS 2021, Theorem 3.1; Lecuyer 2021). Which order
    holds out longest may depend on the outputs, and then one delta does not serve them all: each order a is given
    a share of it, and its limit is computed with that share. Proof: let C_a be the transcripts that end within the
    limit of a. On C_a the process agrees with the one that stops at that limit, so the excess of P over
    exp(epsilon) Q on C_a is at most a's share. Every admitted transcript lies in some C_a, and the shares add up to
    delta. The infinite order needs no delta: it is basic composition.
    Without shares it is no filter: two releases chosen by luck overspend delta by two fifths (pinned in the tests).

    Attributes:
      granted: the (epsilon, delta) that is never exceeded.
      limits: one per order of the accountant, in multiples of 1e-15; -1 where an order is of no use.
      event_delta: the largest sum of events' own deltas, in multiples of 1e-18; part of the granted delta.
      accountant: says at which orders is counted.
    """

    granted: Charge
    limits: tuple[int, ...]
    event_delta: int = 0
    accountant: RenyiAccountant = field(default_factory=RenyiAccountant)

    @classmethod
    def of(
        cls, epsilon: float, delta: float, event_delta: float = 0.0, orders: tuple[float, ...] = ORDERS
    ) -> RenyiFilter:
        """A filter for a budget given as floats, rounded down.

        Half of delta goes to the order at which most Gaussian noise fits, the rest evenly to the others: the
        first costs ln 2 / ln(1 / delta) of the budget in rho, about 4% at delta = 1e-7.

        Args:
          epsilon: > 0.
          delta: in [0, 1]; 0 leaves the infinite order alone.
          event_delta: the part of delta kept for events that have a delta themselves.
          orders: each > 1, rising.
        """
        granted = Charge.granted(epsilon, delta)
        grant, reserved = without_event_delta(granted, event_delta)
        limits = tuple(divergence_within(order, grant, share) for order, share in _shares(grant, orders))
        return cls(granted, limits, reserved, RenyiAccountant(orders))

    def admits(self, spent: RenyiSpent, charge: RenyiSpent) -> bool:
        """Whether `charge` fits beside what is already spent; the last grain may be spent, no more."""
        total = spent + charge
        if total.orders != self.accountant.orders or total.atto_delta > self.event_delta:
            return False
        return any(amount <= limit for amount, limit in zip(total.femto, self.limits, strict=True))


def _shares(grant: Charge, orders: tuple[float, ...]) -> list[tuple[float, Fraction]]:
    """Every order with its share of delta: one half for the design order, the other half for the others together."""
    finite = [order for order in orders if order != math.inf]
    if len(finite) < 2:
        return [(order, Fraction(1)) for order in orders]
    design = max(finite, key=lambda order: Fraction(divergence_within(order, grant)) / Fraction(order))
    other = Fraction(1, 2 * (len(finite) - 1))
    return [(order, Fraction(1, 2) if order == design else other) for order in orders]
