"""Laplace noise in exact integers for a value of any sensitivity, once or added up many times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from privacy.entropy import MAX_SCALE, Entropy, checked
from privacy.errors import InvalidParameter
from privacy.exact import float_at_least
from privacy.units import MAX_UNITS, ONE

STEP_BITS = 20
"""A step is at most 2^-20 of the sensitivity, as in ThresholdNoise."""


def laplace_quantile(tail: float, scale: float) -> int:
    """The smallest k >= 0 with P(Z > k) <= tail of discrete Laplace noise Z: P(Z > k) = a^(k + 1) / (1 + a).

    a = exp(-1 / scale).
    """
    log_tail = math.log(tail) + math.log1p(math.exp(-1 / scale))
    # The nudge covers the rounding of the product: an interval may be a step too wide, never too narrow.
    return max(0, math.ceil(-log_tail * scale * (1 + 2.0**-48)) - 1)


@dataclass(frozen=True)
class IntegerNoise:
    """A release of an integer v: step * (v // step + Z), Z discrete Laplace of scale `scale`.

    epsilon-DP by the proof of `ThresholdNoise`: v // step moves by at most ceil(sensitivity / step) steps. Unlike a
    threshold's, the sensitivity need not be a power of two.

    Attributes:
      sensitivity_units: by how much v may move, >= 1, in units.
      epsilon: what the release may spend, > 0.
    """

    sensitivity_units: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        if not 1 <= self.sensitivity_units <= MAX_UNITS:
            raise InvalidParameter("a sensitivity lies in [1, 2^62] units")
        if self.epsilon <= 0:
            raise InvalidParameter("epsilon must be positive")

    @property
    def step(self) -> int:
        """Units per step, a power of two."""
        return 1 << max(0, self.sensitivity_units.bit_length() - 1 - STEP_BITS)

    @cached_property
    def scale(self) -> float:
        """The discrete Laplace scale, in steps, rounded up."""
        return float_at_least(math.ceil(Fraction(self.sensitivity_units, self.step)) / self.epsilon)

    @property
    def step_weight(self) -> float:
        """One step in normalised weight."""
        return self.step / ONE

    @property
    def noise_scale(self) -> float:
        """The noise scale in normalised weight."""
        return self.scale * self.step_weight

    def released(self, values: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
        """v // step + Z of each value, in steps: private integers no longer.

        Args:
          values: (...) int64 in [0, MAX_UNITS].
        Raises: EntropyFailed when the source returns something else than was asked for.
        """
        noise = checked(entropy.laplace(self.scale, values.size), values.size)
        noisy: NDArray[np.int64] = values // self.step + noise.reshape(values.shape)
        return noisy

    def weight(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
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
            return laplace_quantile(tail, self.scale)

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
