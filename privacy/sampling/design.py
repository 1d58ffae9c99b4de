"""How the join tuples that a release sees are drawn, and what everything released from that draw may cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from privacy.errors import InvalidParameter
from privacy.sampling.joint_loss import joint_loss
from privacy.sampling.loss import Loss


@dataclass(frozen=True)
class SampleDesign:
    """One Bernoulli sample of join tuples and the budget of all releases from it. Public.

    Everything released from one sample (every aggregate, both signs, all groups) is accounted for together:

        ln E[exp(sum_i l_i(K))] <= epsilon,  K ~ Binomial(tuples_per_unit, rate).

    A release that is given the share s_i of epsilon, with sum_i s_i <= 1, may have any loss l_i with

        ln E[exp(l_i(K) / s_i)] <= epsilon,

    because by Hoelder's inequality E[prod_i exp(l_i)] <= prod_i E[exp(l_i / s_i)]^s_i. So each release (and each
    group of it) is calibrated on its own, whatever thresholds the others choose; equality holds when all
    choose alike, so nothing is lost there. Without amplification it is the usual split: l_i <= s_i epsilon.
    Source: privacy.md section 3.

    Attributes:
      rate: q in (0, 1], the probability with which each join tuple is kept, independently.
      tuples_per_unit: Delta >= 1, a public bound on the join tuples of one unit; None claims no amplification.
      epsilon: of all releases from the sample together, > 0.
    """

    rate: float
    tuples_per_unit: int | None
    epsilon: float

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise InvalidParameter("a sampling rate lies in (0, 1]")
        if self.tuples_per_unit is not None and self.tuples_per_unit < 1:
            raise InvalidParameter("a unit has at least one tuple")
        if not 0 < self.epsilon < float("inf"):
            raise InvalidParameter("epsilon must be finite and positive")

    def pressure(self, cell: Fraction) -> float:
        """1 / s, rounded up: what a loss is multiplied with before it is held against the whole epsilon.

        Args:
          cell: the part of epsilon that belongs to one group of one release, in (0, epsilon].
        Raises: InvalidParameter.
        """
        if cell <= 0:
            raise InvalidParameter("epsilon must be positive")
        return float(Fraction(self.epsilon) / cell) * (1 + 2.0**-50)

    def joint(self, losses: Sequence[Loss]) -> float:
        """What releases with these losses from the sample cost together, rounded up."""
        return joint_loss(losses, self.tuples_per_unit, self.rate)
