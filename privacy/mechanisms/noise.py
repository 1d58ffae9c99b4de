"""Integer noise on a public grid: Laplace and Gaussian, their scales, quantiles and intervals.

`IntegerNoise` is for values of any sensitivity, `ThresholdNoise` for one clipping threshold. All of it is public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from privacy.entropy import Entropy, checked
from privacy.errors import InvalidParameter
from privacy.exact import check_gap, quotient_at_least
from privacy.sampling.loss import Loss, laplace_loss
from privacy.thresholds import Thresholds
from privacy.units import MAX_UNITS, ONE, Ints

STEP_BITS = 20
"""A step is at most 2^-20 of the sensitivity or of tau. That is far below the noise, which then fits an int64."""


@lru_cache(maxsize=1024)  # nearly all thresholds have the same scale
def laplace_quantile(tail: float, scale: float) -> int:
    """The smallest k >= 0 with P(Z > k) <= tail for discrete Laplace noise Z.

    P(Z > k) = a^(k + 1) / (1 + a) with a = exp(-1 / scale).

    >>> [laplace_quantile(0.025, scale) for scale in (0.1, 1.0, 10.0)]
    [0, 3, 30]
    """
    log_tail = math.log(tail) + math.log1p(math.exp(-1 / scale))
    # The nudge covers the rounding of the product: an interval may be a step too wide, never too narrow.
    return max(0, math.ceil(-log_tail * scale * (1 + 2.0**-48)) - 1)


@dataclass(frozen=True)
class ThresholdNoise:
    """A release of v at threshold tau: step * (v // step + Z), with discrete noise Z of scale `scale`.

    Sensitivity: v moves by at most (1 + gap) tau <= k * step with k = ceil((1 + gap) tau / step). If v <= v' <= v + k
      * step then v // step <= v' // step <= v // step + k. So the integer v // step moves by at most k. Discrete
      Laplace noise of scale k / epsilon changes exp(-|z| / scale) by a factor of at most exp(k / scale) <=
      exp(epsilon): epsilon-DP, exactly. Multiplying by the step is post-processing.

    A discrete Gaussian of scale k / sqrt(2 rho) makes it rho-zCDP: its divergence of order alpha is at most alpha k^2
    / (2 scale^2), as for the continuous one (Canonne, Kamath, Steinke 2020, Proposition 5).

    Attributes:
      tau_units: the threshold in units of 2^-30.
      gap: eta; v is within eta * tau below the truncated answer.
      epsilon: what this release may spend, with Laplace noise.
      whole_steps: units per step, if v is a whole number of them; then nothing is rounded. None: a step that is small
        beside tau.
      rho: what it may spend with Gaussian noise; None: noise is Laplace's.
    """

    tau_units: int
    gap: float
    epsilon: Fraction
    whole_steps: int | None = None
    rho: float | None = None

    def __post_init__(self) -> None:
        if self.tau_units < 1:
            raise InvalidParameter("a threshold must be at least 1 unit")
        check_gap(self.gap)
        if self.epsilon <= 0:
            raise InvalidParameter("epsilon must be positive")
        if self.rho is not None and not 0 < self.rho < math.inf:
            raise InvalidParameter("rho must be finite and positive")

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
        """The most steps by which v // step moves when one unit comes or goes."""
        # The gap is the float that the solver multiplied with, so its binary value is the exact one here.
        part, whole = float(self.gap).as_integer_ratio()
        return -((-(whole + part) * self.tau_units) // (whole * self.step))

    @cached_property
    def scale(self) -> float:
        """The noise scale, or sigma, in steps, rounded up."""
        if self.rho is not None:
            return self.sensitivity / math.sqrt(2 * self.rho) * (1 + 2.0**-50)
        return quotient_at_least(self.sensitivity * self.epsilon.denominator, self.epsilon.numerator)

    @property
    def step_weight(self) -> float:
        """One step in normalised weight, a power of two."""
        return self.step / ONE

    @property
    def noise_scale(self) -> float:
        """The noise scale, or sigma, in normalised weight."""
        return self.scale * self.step_weight

    @property
    def loss(self) -> Loss:
        """The loss of Laplace noise if a sample of tuples of weight at most 1 gains k tuples of one unit.

        v moves by at most min(tau, k) + gap tau, and v // step by at most that many steps, rounded up. Rounding
        counts only if tau or gap tau is not a whole number of steps, or if a step is more than one weight.
        Source: docs/mathematics.md, section 7.1.
        """
        uneven = self.gap or self.tau_units % self.step or self.step > ONE
        beside = self.gap * self.tau + (self.step_weight if uneven else 0.0)
        return laplace_loss(self.tau, self.noise_scale, beside)

    def draw(self, size: int, entropy: Entropy) -> Ints:
        """(size,) noise in steps. Raises: EntropyFailed if the source returns something else."""
        source = entropy.laplace if self.rho is None else entropy.gaussian
        return checked(source(self.scale, size), size)

    def upper_quantile(self, tail: float) -> int:
        """The smallest k >= 0 with P(Z > k) <= tail; for Gaussian noise some such k."""
        return (laplace_quantile if self.rho is None else gaussian_quantile)(tail, self.scale)

    def interval(self, confidence: float) -> tuple[float, float]:
        """How far the truncated answer lies below and above the released value, with probability `confidence`.

        |Z| is then at most k, so v // step is within k steps of the released one. Flooring hides less than one step
        and the solver at most gap * tau, both upwards.

        Returns: (below, above) in normalised weight, each >= 0.
        """
        steps = self.upper_quantile((1 - confidence) / 2)
        floored = 0 if self.whole_steps is not None else 1
        return steps * self.step_weight, (steps + floored) * self.step_weight + self.gap * self.tau


class IntegerNoise(ThresholdNoise):
    """A release with Laplace noise of an integer v that moves by a bounded number of units.

    epsilon-DP by the proof of `ThresholdNoise`, with the sensitivity as the threshold.
    """

    def __init__(self, sensitivity_units: int, epsilon: Fraction) -> None:
        """For a v that moves by at most so many units, in [1, 2^62]. Raises: InvalidParameter."""
        if not 1 <= sensitivity_units <= MAX_UNITS:
            raise InvalidParameter("a sensitivity must be in [1, 2^62] units")
        super().__init__(sensitivity_units, 0.0, epsilon)

    def released(self, values: Ints, entropy: Entropy) -> Ints:
        """v // step + Z of each value, in steps. Safe to publish.

        Args:
          values: (...) int64 in [0, MAX_UNITS].
        Raises: EntropyFailed if the source returns something else.
        """
        noisy: Ints = values // self.step + self.draw(values.size, entropy).reshape(values.shape)
        return noisy


def whole_number(tau_units: int) -> int | None:
    """`whole_steps` of a count truncated at tau: one weight if tau is a whole number of them."""
    return None if tau_units % ONE else ONE


def levels(
    thresholds: Thresholds,
    gap: float,
    epsilons: Fraction | Sequence[Fraction],
    whole_steps: Callable[[int], int | None] = lambda _: None,
) -> tuple[ThresholdNoise, ...]:
    """The release at each threshold, with one epsilon for all or one each.

    Args:
      whole_steps: of each threshold in units, as of ThresholdNoise.
    """
    each = [epsilons] * len(thresholds) if isinstance(epsilons, Fraction) else epsilons
    taus = zip(thresholds.units.tolist(), each, strict=True)
    return tuple(ThresholdNoise(tau, gap, epsilon, whole_steps(tau)) for tau, epsilon in taus)


def gaussian_quantile(tail: float, scale: float) -> int:
    """A k >= 0 with P(Z > k) <= tail: P(Z >= k + 1) <= P(N(0, scale^2) >= k).

    Source: Canonne, Kamath, Steinke (2020), Proposition 25.
    """
    from scipy import special  # half a second of import that most answers do without

    return max(0, math.ceil(-float(special.ndtri(tail)) * scale * (1 + 2.0**-40)))
