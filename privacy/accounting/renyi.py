"""Renyi differential privacy on a fixed list of orders: the accountant, and a filter of which one order must hold."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from privacy.accounting.amounts import Charge, RenyiSpent, without_event_delta
from privacy.accounting.basic import own_delta
from privacy.accounting.conversion import divergence_within, least_epsilon
from privacy.accounting.divergence import divergence
from privacy.accounting.event import PrivacyEvent, leaves
from privacy.accounting.orders import ORDERS, femto, rising
from privacy.errors import InvalidParameter


@dataclass(frozen=True)
class RenyiAccountant:
    """Counts divergences at fixed orders, so that any of them may decide. Source: Mironov, CSF 2017.

    A charge exceeds the exact divergences by 1e-15 and a relative 2^-39 at most.

    Attributes:
      orders: each > 1, rising; infinity counts the largest log density ratio, which is basic composition.
    """

    orders: tuple[float, ...] = ORDERS

    def __post_init__(self) -> None:
        if not rising(self.orders):
            raise InvalidParameter("Renyi orders rise from above 1")

    @property
    def name(self) -> str:
        """`renyi`: the accounting under which an account counts divergences at fixed orders."""
        return "renyi"

    @property
    def nothing(self) -> RenyiSpent:
        """Zero at every order."""
        return RenyiSpent((0,) * len(self.orders), 0, self.orders)

    def charge(self, event: PrivacyEvent) -> RenyiSpent:
        """The event's divergences, added up and rounded up once. Raises: as `Accountant.charge`.

        Cost: at the fixed orders some 2 ms per part; those met lately are remembered.
        """
        curves = [_curve(leaf, self.orders) for leaf in leaves(event)]
        bounds = map(_total, zip(*curves, strict=True)) if curves else (Fraction(0) for _ in self.orders)
        return RenyiSpent(tuple(map(femto, bounds)), own_delta(event), self.orders)

    def epsilon(self, spent: RenyiSpent, delta: float) -> float:
        """By the tight conversion at the best of the orders, after the releases' own deltas."""
        left = Charge.granted(0.0, delta).atto_delta - spent.atto_delta
        if spent == self.nothing:
            return 0.0
        return least_epsilon(self.orders, spent.femto, left) if left >= 0 else math.inf


@lru_cache(maxsize=256)
def _curve(event: PrivacyEvent, orders: tuple[float, ...]) -> tuple[Fraction | None, ...]:
    return tuple(divergence(event, order) for order in orders)


def _total(bounds: Iterable[Fraction | None]) -> Fraction | None:
    """The sum; None as soon as one part is unbounded."""
    total = Fraction(0)
    for bound in bounds:
        if bound is None:
            return None
        total += bound
    return total


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
