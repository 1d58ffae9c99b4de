"""What one of several releases may spend: a share of epsilon, or a share of rho at a delta."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from privacy.accounting.approximate import approximate
from privacy.accounting.event import ZCDP
from privacy.accounting.largest_rho import largest_rho
from privacy.errors import InvalidParameter
from privacy.mechanisms.exact import exact_epsilon


@dataclass(frozen=True)
class PureBudget:
    """A release may be epsilon-DP.

    Attributes:
      epsilon: > 0.
    """

    epsilon: float

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)

    @property
    def delta(self) -> float:
        """0."""
        return 0.0


@dataclass(frozen=True)
class ConcentratedBudget:
    """A release may be rho-zCDP.

    The shares of several releases add up in rho and are converted to (epsilon, delta) once, for all of them: their
    epsilons at the delta, one by one, add up to more.

    Attributes:
      rho: > 0.
      delta: in (0, 1), at which epsilon is stated.
    """

    rho: float
    delta: float

    def __post_init__(self) -> None:
        if not 0 < self.rho < math.inf:
            raise InvalidParameter("rho must be finite and positive")
        if not 0 < self.delta < 1:
            raise InvalidParameter("delta is a probability between 0 and 1")

    @classmethod
    def of(cls, epsilon: float, delta: float) -> ConcentratedBudget:
        """The largest rho that (epsilon, delta) buys. Raises: InvalidParameter when it buys none."""
        return cls(largest_rho(epsilon, delta), delta)

    @cached_property
    def epsilon(self) -> float:
        """The epsilon of rho alone at `delta`, by the tight conversion, rounded up."""
        return approximate(ZCDP(self.rho), self.delta).epsilon


Budget = PureBudget | ConcentratedBudget
