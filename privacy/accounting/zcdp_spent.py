"""What was spent, counted as one rho."""

from __future__ import annotations

from dataclasses import dataclass

from privacy.accounting.orders import UNBOUNDED, femto_sum
from privacy.errors import InvalidParameter


@dataclass(frozen=True)
class ZCDPSpent:
    """A bound rho with all Renyi divergences of all releases so far below rho * order.

    Attributes:
      femto_rho: rho in multiples of 1e-15, in [0, UNBOUNDED].
      atto_delta: what the releases had of delta themselves, in multiples of 1e-18, >= 0.
    """

    femto_rho: int
    atto_delta: int = 0

    def __post_init__(self) -> None:
        if self.atto_delta < 0 or not 0 <= self.femto_rho <= UNBOUNDED:
            raise InvalidParameter("what was spent is never negative")

    def __add__(self, other: ZCDPSpent) -> ZCDPSpent:
        return ZCDPSpent(femto_sum(self.femto_rho, other.femto_rho), self.atto_delta + other.atto_delta)
