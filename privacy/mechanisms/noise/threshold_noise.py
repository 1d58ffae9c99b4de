"""One threshold of a ladder with the public step, sensitivity and noise of a release at it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy, checked
from privacy.errors import InvalidParameter
from privacy.exact import check_gap, quotient_at_least
from privacy.ladder import Ladder
from privacy.mechanisms.noise.integer_noise import laplace_quantile
from privacy.sampling.loss import Loss, laplace_loss
from privacy.units import ONE

STEP_BITS = 20
"""A step is at most 2^-20 of tau: far below the noise, and small enough that noise fits an int64."""


@dataclass(frozen=True)
class ThresholdNoise:
    """A release of v at threshold tau: step * (v // step + Z), Z discrete Laplace of scale `scale`.

    Sensitivity: v moves by at most (1 + gap) tau <= k * step with k = ceil((1 + gap) tau / step).
    If v <= v' <= v + k * step then v // step <= v' // step <= v // step + k. So v // step, an integer,
    moves by at most k, and discrete Laplace of scale k / epsilon makes it epsilon-DP exactly:
    exp(-|z| / scale) changes by at most exp(k / scale) <= exp(epsilon). Multiplying by the step is
    post-processing. All of this is public: nothing depends on v.

    Attributes:
      tau_units: the threshold in units of 2^-30.
      gap: eta; v is within eta * tau below the truncated answer.
      epsilon: what this one release may spend.
      whole_steps: units per step, of which v is a whole number of steps itself: nothing is rounded then, and noise
        for whole numbers is that of whole numbers. None: a step that is small beside tau.
    """

    tau_units: int
    gap: float
    epsilon: Fraction
    whole_steps: int | None = None

    def __post_init__(self) -> None:
        if self.tau_units < 1:
            raise InvalidParameter("a threshold is at least one unit")
        check_gap(self.gap)
        if self.epsilon <= 0:
            raise InvalidParameter("epsilon must be positive")

    @property
    def tau(self) -> float:
        """The threshold in normalised weight."""
        return self.tau_units / ONE

    @property
    def step(self) -> int:
        """Units per step, a power of two."""
        if self.whole_steps is not None:
            return self.whole_steps
        return 1 << max(0, self.tau_units.bit_length() - 1 - STEP_BITS)

    @cached_property
    def sensitivity(self) -> int:
        """By how many steps v // step can move when one unit comes or goes."""
        # The gap is the float that the solver multiplied with, so its binary value is the exact one here.
        part, whole = float(self.gap).as_integer_ratio()
        return -((-(whole + part) * self.tau_units) // (whole * self.step))

    @cached_property
    def scale(self) -> float:
        """The discrete Laplace scale, in steps, rounded up."""
        return quotient_at_least(self.sensitivity * self.epsilon.denominator, self.epsilon.numerator)

    @property
    def step_weight(self) -> float:
        """One step in normalised weight; a power of two, so multiplying by it is exact."""
        return self.step / ONE

    @property
    def noise_scale(self) -> float:
        """The noise scale in normalised weight."""
        return self.scale * self.step_weight

    @property
    def loss(self) -> Loss:
        """What the release tells when a sample of tuples of weight at most 1 gains k tuples of one unit.

        v moves by at most min(tau, k) + gap tau, and v // step by at most that many steps rounded up. The rounding
        is needed where tau or gap tau is not a whole number of steps, or a step is more than one weight.
        Source: privacy.md section 3.
        """
        uneven = self.gap or self.tau_units % self.step or self.step > ONE
        rounding = self.step_weight if uneven else 0.0
        return laplace_loss(self.tau, self.noise_scale, self.gap * self.tau + rounding)

    def draw(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """(size,) Z, in steps. Raises: EntropyFailed when the source returns something else than was asked for."""
        return checked(entropy.laplace(self.scale, size), size)

    def upper_quantile(self, tail: float) -> int:
        """The smallest k >= 0 with P(Z > k) <= tail."""
        return laplace_quantile(tail, self.scale)

    def interval(self, confidence: float) -> tuple[float, float]:
        """How far the truncated answer lies below and above the released value, at most.

        With probability `confidence` |Z| <= k, and then v // step is within k steps of the released one.
        Flooring to a step hides less than one step and the solver at most gap * tau, both upwards.
        Returns: (below, above) in normalised weight, each >= 0.
        """
        steps = self.upper_quantile((1 - confidence) / 2)
        floored = 0 if self.whole_steps is not None else 1
        return steps * self.step_weight, (steps + floored) * self.step_weight + self.gap * self.tau


def whole_number(tau_units: int) -> int | None:
    """`whole_steps` of a count that is truncated at tau: one weight where tau is a whole number of them."""
    return None if tau_units % ONE else ONE


def rungs(
    ladder: Ladder,
    gap: float,
    epsilons: Fraction | Sequence[Fraction],
    whole_steps: Callable[[int], int | None] = lambda _: None,
) -> tuple[ThresholdNoise, ...]:
    """One rung per threshold, each allowed to spend `epsilons`: one for all of them, or one each.

    Args:
      whole_steps: of each threshold in units, as of ThresholdNoise.
    """
    each = [epsilons] * len(ladder) if isinstance(epsilons, Fraction) else epsilons
    taus = zip(ladder.units.tolist(), each, strict=True)
    return tuple(ThresholdNoise(tau, gap, epsilon, whole_steps(tau)) for tau, epsilon in taus)
