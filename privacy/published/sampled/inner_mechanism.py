"""The mechanism that runs on a sample of privacy units, before it is known what it may spend."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.fixed import Fixed
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.measurement import Measurement
from privacy.mechanisms.racing.r2t import R2T
from privacy.published.laplace_global import LaplaceGlobal


@dataclass(frozen=True)
class InnerMechanism:
    """A pure mechanism of one group, epsilon-DP whenever no v(tau) moves by more than (1 + gap) tau.

    That is more than privacy for neighbours: values may move in different directions, as they do when one unit of
    a sample is exchanged for another. The proofs of all four bound what each value moves and nothing else
    (`laplace_global`: by its global sensitivity).

    Attributes:
      name: `laplace_global`, `fixed`, `r2t` or `gem`.
      bound: the global sensitivity; for `fixed` the threshold, a power of two; None for `gem`. In normalised weight.
      gap: eta of the solver that truncates the sample.
      whole: every weight is 0 or 1, so that a threshold below 1 cannot help `gem`.
    """

    name: str
    bound: float | None = None
    gap: float = 0.0
    whole: bool = False

    def __post_init__(self) -> None:
        self.at(1.0)

    def at(self, epsilon: float) -> Measurement:
        """The mechanism with its budget. Raises: InvalidParameter."""
        if self.name == "gem":
            return Gem(epsilon, 1, self.gap, Ladder(low=0) if self.whole else Ladder())
        if self.bound is None or not math.isfinite(self.bound):
            raise InvalidParameter("this mechanism needs a bound")
        if self.name == "laplace_global":
            return LaplaceGlobal(epsilon, self.bound, 1, self.gap)
        if self.name == "r2t":
            return R2T(epsilon, self.bound, 1, self.gap)
        if self.name == "fixed":
            mantissa, exponent = math.frexp(self.bound)
            if mantissa != 0.5:
                raise InvalidParameter("a threshold is a power of two")
            return Fixed(epsilon, 1, self.gap, Ladder(exponent - 1, exponent - 1))
        raise InvalidParameter("no mechanism of this name runs on a sample of privacy units")
