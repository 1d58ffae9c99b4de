"""What was spent, counted at every Renyi order."""

from __future__ import annotations

from dataclasses import dataclass

from privacy.accounting.orders import ORDERS, UNBOUNDED, femto_sum, rising
from privacy.errors import InvalidParameter


@dataclass(frozen=True)
class RenyiSpent:
    """Bounds on the Renyi divergence of all releases so far.

    Attributes:
      femto: one per order, in multiples of 1e-15 nats, in [0, UNBOUNDED].
      atto_delta: what the releases had of delta themselves, in multiples of 1e-18, >= 0.
      orders: each > 1, rising; infinity is the largest log density ratio.
    """

    femto: tuple[int, ...]
    atto_delta: int = 0
    orders: tuple[float, ...] = ORDERS

    def __post_init__(self) -> None:
        if not rising(self.orders):
            raise InvalidParameter("Renyi orders rise from above 1")
        if len(self.femto) != len(self.orders):
            raise InvalidParameter("there is one divergence per order")
        if self.atto_delta < 0 or not all(0 <= amount <= UNBOUNDED for amount in self.femto):
            raise InvalidParameter("what was spent is never negative")

    def __add__(self, other: RenyiSpent) -> RenyiSpent:
        if self.orders != other.orders:
            raise InvalidParameter("sums are taken at the same orders")
        femto = tuple(femto_sum(*pair) for pair in zip(self.femto, other.femto, strict=True))
        return RenyiSpent(femto, self.atto_delta + other.atto_delta, self.orders)
