"""Renyi differential privacy on a fixed list of orders."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from privacy.accounting.charge import Charge
from privacy.accounting.compose import own_delta
from privacy.accounting.conversion import least_epsilon
from privacy.accounting.divergence import divergence
from privacy.accounting.event import PrivacyEvent, leaves
from privacy.accounting.orders import ORDERS, femto, rising
from privacy.accounting.renyi_spent import RenyiSpent
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
        """`renyi`."""
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
