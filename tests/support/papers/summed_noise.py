"""Laplace noise that is added up many times, as repeated samples are averaged."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

from privacy.entropy import MAX_SCALE
from privacy.errors import InvalidParameter
from privacy.mechanisms.noise import IntegerNoise
from privacy.units import Floats, Ints


class SummedNoise(IntegerNoise):
    """Releases of integers by one noise, each or added up."""

    def weight(self, steps: Ints) -> Floats:
        """Released steps in normalised weight; what rounds here is post-processing."""
        return steps.astype(np.float64) * np.float64(self.step_weight)

    def quantile(self, tail: float, times: int = 1) -> int:
        """A k >= 0 with P(Z_1 + ... + Z_times > k) <= tail: the smallest one for one draw, else Chernoff's.

        With a = exp(-1 / scale): E[exp(x Z)] = (1 - a)^2 / ((1 - a exp(x)) (1 - a exp(-x))) for |x| < 1 / scale. Any
        x gives a bound, so it does not matter how well the best one is found.
        Args:
          tail: in (0, 1/2].
          times: how many independent draws are added, >= 1.
        Raises: InvalidParameter.
        """
        if not 0 < tail <= 0.5 or times < 1:
            raise InvalidParameter("a tail lies in (0, 1/2], of at least one draw")
        if times == 1:
            return self.upper_quantile(tail)

        def reach(part: float) -> float:
            """Chernoff's bound at x = part / scale."""
            return (times * self._log_moment(part) - math.log(tail)) * self.scale / part

        best = minimize_scalar(reach, bounds=(1e-6, 1 - 1e-6), method="bounded")
        return math.ceil(reach(float(best.x)) * (1 + 1e-9))

    def check_sum(self, times: int) -> None:
        """Refuse sums of noise that an int64 might not hold. Raises: InvalidParameter; public numbers only decide."""
        if self.scale * times > MAX_SCALE:
            raise InvalidParameter("epsilon is too small for as many releases")

    def _log_moment(self, part: float) -> float:
        """ln E[exp(x Z)] at x = part / scale.

        1 - a exp(x) and 1 - a exp(-x) by expm1, exactly where the scale is large.
        """
        inverse = 1 / self.scale
        return (
            2 * math.log(-math.expm1(-inverse))
            - math.log(-math.expm1(-inverse * (1 - part)))
            - math.log(-math.expm1(-inverse * (1 + part)))
        )
