"""A proved quantile of a sum of independent released noises, for any scales and kinds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from privacy.errors import InvalidParameter
from privacy.mechanisms.noise import STEP_BITS
from privacy.units import ONE, Bools, Floats

_MANY_SCALES = 32
_ROUNDING = 16  # a scale is rounded up to a power of 2^(1/16) where there are many
_PERIOD_ERROR = 1e-7
_CUT_ERROR = 1e-7
_FLOAT_ERROR = 1e-10
_MOST_NODES = 1 << 17
_BISECTIONS = 48
_NUDGE = 1 + 2.0**-40


@dataclass(frozen=True)
class NoiseSum:
    """A sum of independent continuous noises around 0: Laplace noises and one Gaussian.

    Attributes:
      laplace: (scale, how many) pairs, in order of the scales; both > 0.
      sigma: of the Gaussian part, >= 0: the root of the sum of squares of all Gaussian noises.
    """

    laplace: tuple[tuple[float, int], ...]
    sigma: float = 0.0

    @classmethod
    def of(cls, laplace: Sequence[float] | Floats, gaussian: Sequence[float] | Floats) -> NoiseSum:
        """The sum of noises of these scales; signs do not matter, and a scale of 0 adds nothing.

        Many different scales are rounded up, which only widens the sum. Each noise is symmetric with one mode, so the
        sum is less peaked if one of them is (Birnbaum 1948, Theorem 1).
        """
        scales = np.asarray(laplace, np.float64)
        return cls.counted(scales, np.ones(len(scales)), float(np.linalg.norm(np.asarray(gaussian, np.float64))))

    @classmethod
    def counted(cls, laplace: Floats, times: Floats, sigma: float = 0.0) -> NoiseSum:
        """As `of`, with several Laplace noises of each scale.

        Args:
          laplace: (k,) scales; signs and repetitions do not matter.
          times: (k,) whole numbers >= 0.
          sigma: of the Gaussian part.
        Raises: InvalidParameter for scales that are not finite, and numbers that are negative.
        """
        scales = np.abs(laplace)
        if not (np.isfinite(scales).all() and math.isfinite(sigma) and (times >= 0).all()):
            raise InvalidParameter("scales must be finite, and counts of noise terms must not be negative")
        used = (scales > 0) & (times > 0)
        different, place = np.unique(scales[used], return_inverse=True)
        counts = np.bincount(place, weights=times[used])
        if len(different) > _MANY_SCALES:
            rounded = np.maximum(different, 2.0 ** (np.ceil(np.log2(different) * _ROUNDING) / _ROUNDING))
            different, place = np.unique(rounded, return_inverse=True)
            counts = np.bincount(place, weights=counts)
        return cls(tuple(zip(different.tolist(), counts.astype(np.int64).tolist(), strict=True)), sigma)

    @property
    def variance(self) -> float:
        """The variance of the sum: variances of independent noises add up."""
        return self.sigma**2 + sum(2 * count * scale**2 for scale, count in self.laplace)

    @property
    def deviation(self) -> float:
        """The standard deviation of the sum."""
        return math.sqrt(self.variance)

    def upper_quantile(self, tail: float) -> float:
        """An x >= 0 with P(S > x) <= tail; the least one, but for rounding.

        One noise has a closed form. A sum S has the characteristic function f, real and positive. With the points u_k
        = (k + 1/2) 2 pi / L,

            1/2 + sum_k f(u_k) sin(u_k x) / (pi (k + 1/2)) = P(x - S in (0, L) mod 2 L),

        since the sum over k of sin(u_k y) / (pi (k + 1/2)) is the Fourier series of half the sign of sin(pi y / L).
        It is P(S < x) but for the chance of |x - S| >= L. That is at most 2 P(S >= L - x), bounded by Chernoff's
        inequality. From the K-th point on the series leaves out at most f(u_K) (1 + (b u_K)^-2). Here b is the
        largest Laplace scale, as f falls from there at least as 1 / u^2 but for that factor. Or b = sigma, as f falls
        at least as exp(-sigma^2 u_K (u - u_K)). Both errors, and the rounding of doubles, are added to the tail
        before the comparison. If the series would be too long, the result is Chernoff's x.

        Args:
          tail: in [1e-5, 1/2).
        Raises: InvalidParameter for another tail.
        Cost: milliseconds; cached.
        Source: Davies, Biometrika 1973, for the series; its error here has the proof above.
        """
        if not 1e-5 <= tail < 0.5:
            raise InvalidParameter("a tail probability must be in [1e-5, 1/2)")
        return _quantile(self, tail)

    def reach(self, tail: float) -> float:
        """An x with P(S > x) <= tail by Chernoff's inequality."""
        if not self.laplace:
            from scipy import special  # half a second of import that most answers do without

            return -float(special.ndtri(tail)) * self.sigma * _NUDGE
        part, moments = self._moments
        return float(np.min((moments - math.log(tail)) / part)) * _NUDGE

    @property
    def _moments(self) -> tuple[Floats, Floats]:
        """Points t, and ln E[exp(t S)] there; any of them gives a bound."""
        largest = self.laplace[-1][0]
        slow = np.geomspace(min(0.5, 0.2 * largest / self.deviation), 0.5, 128, endpoint=False)
        part = np.concatenate([slow, 1 - np.geomspace(0.5, 1e-4, 64)]) / largest
        moments = 0.5 * (self.sigma * part) ** 2
        for scale, count in self.laplace:
            moments = moments - count * np.log1p(-((scale * part) ** 2))
        return part, moments

    def _logarithm(self, points: Floats) -> Floats:
        """ln f at points."""
        logarithm = -0.5 * (self.sigma * points) ** 2
        for scale, count in self.laplace:
            logarithm = logarithm - count * np.log1p((scale * points) ** 2)
        return logarithm


@lru_cache(maxsize=4096)
def _quantile(noise: NoiseSum, tail: float) -> float:
    if not noise.laplace:
        return noise.reach(tail) if noise.sigma else 0.0
    largest, count = noise.laplace[-1]
    if len(noise.laplace) == count == 1 and not noise.sigma:
        return -math.log(2 * tail) * largest * _NUDGE
    most = noise.reach(tail)
    period = most + noise.reach(_PERIOD_ERROR)
    spacing = 2 * math.pi / period
    points: Floats = (np.arange(_length(noise, spacing), dtype=np.float64) + 0.5) * spacing
    last = float(points[-1])
    left_out = math.exp(float(noise._logarithm(points[-1:])[0])) * (1 + (max(largest, noise.sigma) * last) ** -2)
    if left_out > _CUT_ERROR:
        return most
    heights = np.exp(noise._logarithm(points[:-1])) / (math.pi * (np.arange(len(points) - 1) + 0.5))
    points = points[:-1]
    error: float = 2 * _PERIOD_ERROR + left_out + _FLOAT_ERROR

    def above(x: float) -> float:
        return 0.5 - float(heights @ np.sin(points * x)) + error

    low, high = 0.0, most
    if above(high) > tail:
        return most
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if above(middle) <= tail else (middle, high)
    return high * _NUDGE


def _length(noise: NoiseSum, spacing: float) -> int:
    """How many points until f is small enough, at most _MOST_NODES; a power of 2."""
    length = 64
    wanted = math.log(_CUT_ERROR / 2)
    while length < _MOST_NODES:
        if float(noise._logarithm(np.array([(length - 0.5) * spacing]))[0]) <= wanted:
            break
        length *= 2
    return length


def step_at_most(tau: Floats) -> Floats:
    """A bound on the grid step of any mechanism's release at each of these thresholds, in normalised weight.

    A step is 2^-20 of tau at most, or one unit (`ThresholdNoise`); in `l1_clip` and `l2_clip` it is 2^-24 of tau.
    """
    return np.maximum(tau * 2.0**-STEP_BITS, 1.0 / ONE)


def sum_interval(
    low: Floats,
    high: Floats,
    values: Floats,
    tau: Floats,
    scale: Floats,
    gaussian: Bools,
    weights: Floats,
    confidence: float,
) -> tuple[float, float]:
    """Bound how far a weighted sum of truncated answers lies below and above that of their released values.

    Each of n releases is step (v // step + Z) of a v at most gap tau below its truncated answer. Z is independent of
    the others' given all thresholds. So its truncated answer is its value, minus step Z, plus between 0 and the
    amount by which its own interval reaches further above than below.

    Noise in whole steps is no wider than the continuous one and a step. Gaussian: P(Z >= m) <= P(N >= m - 1)
    (Canonne, Kamath, Steinke 2020, Proposition 25). Laplace, a = exp(-1 / b): P(|Z| >= k) = 2 a^k / (1 + a) is P(|L|
    >= k - d) for d = b ln(2 / (1 + a)), in (0, 1/2]. With one uniform draw and one sign for both, |Z| is |L| + d
    rounded down, and |Z - L| < 1. So a sum of them exceeds that of the continuous ones by at most the sum of |weight|
    step. `NoiseSum.upper_quantile` bounds the continuous sum.

    Args:
      low, high, values, tau, scale: (n,) as in NoisyAnswer, of each release.
      gaussian: (n,) whether its noise is Gaussian; Laplace otherwise.
      weights: (n,) its factor.
      confidence: in [0.5, 1).
    Returns: (below, above), each >= 0, that both hold with probability `confidence`.
    """
    if len(values) == 1 and weights[0] == 1.0:
        return float(values[0] - low[0]), float(high[0] - values[0])
    size = np.abs(weights)
    noises = scale * size
    reach = NoiseSum.of(noises[~gaussian], noises[gaussian]).upper_quantile((1 - confidence) / 2)
    reach += float(step_at_most(tau) @ size)
    hidden = np.maximum((high - values) - (values - low), 0.0) * size
    rounding = 2.0**-48 * float(np.abs(values) @ size + np.max(np.abs(noises), initial=0.0))
    below = reach + float(hidden[weights < 0].sum()) + rounding
    above = reach + float(hidden[weights > 0].sum()) + rounding
    return below, above
