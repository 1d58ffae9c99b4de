"""What one release from a sample may cost if the sample gains k tuples of one unit: piecewise linear in k."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privacy.errors import InvalidParameter


@dataclass(frozen=True)
class Loss:
    """l(k) = 0 for k = 0, and step + slope * min(cap, k) for k >= 1: a bound on a release's log density ratio.

    Source: docs/mathematics.md, section 7.1.

    Attributes:
      step: what the first tuple costs at once, >= 0.
      slope: what each tuple adds, >= 0.
      cap: how many tuples add, > 0.
    """

    step: float
    slope: float
    cap: float

    def __post_init__(self) -> None:
        if not (0 <= self.step < math.inf and 0 <= self.slope < math.inf and 0 < self.cap < math.inf):
            raise InvalidParameter("a privacy loss must be finite and 0 or more")

    @property
    def most(self) -> float:
        """l(infinity): the loss without any bound on how many tuples one unit has."""
        return self.step + self.slope * self.cap

    def times(self, factor: float) -> Loss:
        """Every value multiplied by a factor >= 0."""
        return Loss(self.step * factor, self.slope * factor, self.cap)


def laplace_loss(tau: float, scale: float, beside: float = 0.0) -> Loss:
    """Laplace noise of a scale on a truncated answer: (min(tau, k) + beside) / scale.

    Args:
      tau: the threshold, > 0, in normalised weight, where a tuple weighs at most 1.
      scale: of the noise, > 0.
      beside: what the value may move beside, by a solver's gap or a rounding; in normalised weight.
    Raises: InvalidParameter.
    """
    if not scale > 0:
        raise InvalidParameter("a noise scale must be above 0")
    return Loss(beside / scale, 1 / scale, tau)


def choice_loss(epsilon: float) -> Loss:
    """A selection, or any release of which only epsilon is known: epsilon as soon as one tuple comes."""
    return Loss(epsilon, 0.0, 1.0)
