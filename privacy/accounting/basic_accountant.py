"""Basic composition: epsilons and deltas add up, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privacy.accounting.charge import Charge
from privacy.accounting.compose import compose
from privacy.accounting.event import PrivacyEvent


@dataclass(frozen=True)
class BasicAccountant:
    """Counts in (epsilon, delta) and in exact integers; the only one for delta = 0."""

    @property
    def name(self) -> str:
        """`basic`."""
        return "basic"

    @property
    def nothing(self) -> Charge:
        """Zero of both."""
        return Charge(0)

    def charge(self, event: PrivacyEvent) -> Charge:
        """The event's epsilons and deltas, added up and rounded up once. Raises: as `Accountant.charge`."""
        return compose(event)

    def epsilon(self, spent: Charge, delta: float) -> float:
        """The sum of epsilons, or infinity where the deltas exceed delta."""
        return spent.epsilon if spent.atto_delta <= Charge.granted(0.0, delta).atto_delta else math.inf
