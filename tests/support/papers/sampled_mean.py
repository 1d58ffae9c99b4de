"""A mean or a median of a population of public size, from a sample.

`sampled_mean` and `sampled_median` add Laplace noise in whole steps of a public grid, for the range or for the smooth
sensitivity of the median.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privacy.accounting.event import ApproxDP, PrivacyEvent, PureDP
from privacy.entropy import Entropy, check_scale, checked
from privacy.errors import InvalidParameter
from privacy.exact import exact, exact_epsilon, float_at_least
from privacy.mechanisms.measurement import Pure
from privacy.units import Floats, Ints
from tests.support.papers.choosing_draws import ChoosingDraws


def median_sensitivity(ordered: Ints, least: int, most: int, beta: float) -> float:
    """S(x) = max_k exp(-k beta) max_(0 <= t <= k + 1) (x_(r + t) - x_(r + t - k - 1)), r the place of the median.

    Beyond the values stand the ends of the range. With k changed values the next one moves the median by no more than
    that: so S bounds the local sensitivity, and S(x) <= e^beta S(x') for neighbours, one value changed.

    Every k is evaluated until exp(-k beta) of the whole range is below what was found: after it none is larger.

    Args:
      ordered: (n,) whole numbers, rising, n odd, within [least, most].
      beta: > 0.
    Returns: S, rounded up.
    Cost: k + 2 differences for each k, of which there are about ln(range / S) / beta.
    Source: Nissim, Raskhodnikova and Smith (STOC 2007), section 3.1; accuracy gains from sampling, formula 4.
    """
    n = len(ordered)
    middle, width = n // 2, most - least
    padded = np.concatenate([[least], ordered, [most]])
    found = 0.0
    for k in range(n + 1):
        weight = math.exp(-k * beta)
        if weight * width <= found:
            break
        high = np.arange(middle, middle + k + 2)
        upper = padded[np.minimum(high, n) + 1]
        lower = padded[np.maximum(high - k - 1, -1) + 1]
        found = max(found, weight * float((upper - lower).max()))
    return found * (1 + 2.0**-40)


STEPS = 1 << 30
"""The range has so many steps; values are rounded to them before anything is worked out."""


_LARGEST_EPSILON = 600


@dataclass(frozen=True)
class SimpleRandomSample:
    """n of N values without replacement, N public and fixed: neighbours differ in the value of one.

    What is (e, d)-DP on the sample is (ln(1 + n/N (exp(e) - 1)), d n/N)-DP on the whole (theorem 1).

    Attributes:
      population: N >= 1.
      size: n in [1, N]; N samples nothing.
    """

    population: int
    size: int

    def __post_init__(self) -> None:
        if not 1 <= self.size <= self.population:
            raise InvalidParameter("a sample is of one value or more, and no larger than the population")

    def inner(self, epsilon: float) -> Fraction:
        """What may be spent on the sample so that the whole spends epsilon, rounded down.

        Raises: InvalidParameter for an epsilon above 600, whose exponential is no float.
        """
        if self.size == self.population:
            return exact_epsilon(epsilon)
        if exact_epsilon(epsilon) > _LARGEST_EPSILON:
            raise InvalidParameter("behind a sample an epsilon is at most 600")
        return Fraction(math.log1p(self.population / self.size * math.expm1(epsilon)) * (1 - 2.0**-40))

    def inner_delta(self, delta: float) -> float:
        """The same of delta, at most 1/2."""
        return min(0.5, delta * self.population / self.size * (1 - 2.0**-40))

    def drawn(self, values: Ints, draws: ChoosingDraws) -> Ints:
        """The sample. Private. Raises: InvalidParameter where there are not N values."""
        if len(values) != self.population:
            raise InvalidParameter("there are more or fewer values than the public number")
        if self.size == self.population:
            return values
        return values[draws.choose(self.population, self.size)]


@dataclass(frozen=True)
class SampledMean(Pure):
    """Mean of the sample + Lap(range / (n e)), e what the sample may spend. epsilon-DP, by the sum in whole steps.

    Attributes:
      epsilon: > 0.
      least, most: the public range; values beyond it are cut.
      sample: how many are drawn.
    """

    epsilon: float
    least: float
    most: float
    sample: SimpleRandomSample
    name = "sampled_mean"

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        _check_range(self.least, self.most)

    def release(self, values: Floats, draws: ChoosingDraws, entropy: Entropy) -> float:
        """One noisy mean. Raises: InvalidParameter, EntropyFailed."""
        steps = self.sample.drawn(on_grid(values, self.least, self.most), draws)
        total = int(steps.sum()) + _laplace(float_at_least(STEPS / self.sample.inner(self.epsilon)), entropy)
        return self.least + total / len(steps) * ((self.most - self.least) / STEPS)


@dataclass(frozen=True)
class SampledMedian:
    """Median of the sample + Laplace noise for its global sensitivity, the range, or its smooth one where delta > 0.

    Smooth: discrete noise of scale b = 2 (S + 1) / e in whole steps, S smooth with e^beta - 1 = e / (2 ln(2 / d)), is
    (e, d)-DP on the sample. Proof for x and x' with scales b and b', a factor of e^beta apart at most: (1) moving
    the median costs at most S(x') steps, a factor of exp(e / 2) at b'. (2) From b to a larger b' the ratio of the
    probabilities of a z is at most b' / b <= e^beta <= exp(e / 2). To a smaller one it is at most
    exp(|z| (e^beta - 1) / b), which is above exp(e / 2) only where |z| > b ln(2 / d): with probability at most d.
    Departures from the paper: values and noise are whole steps of a public grid; its beta = e / (2 ln(2 / d)) is a
    little too large for the proof, in which e^beta - 1 stands; the median of an even number is refused.
    How long the smooth sensitivity takes depends on how concentrated the values are: a side channel, which is why no
    server offers it.
    Source: accuracy gains from sampling, sections 2.2, 3 and 4.3; docs/mathematics.md, section 11.4.

    Attributes:
      epsilon: > 0.
      delta: 0 for the global sensitivity; else in (0, 1/2].
      least, most, sample: as of SampledMean; n is odd.
    """

    epsilon: float
    delta: float
    least: float
    most: float
    sample: SimpleRandomSample
    name = "sampled_median"

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        _check_range(self.least, self.most)
        if not 0 <= exact(self.delta) <= 0.5:
            raise InvalidParameter("delta is a probability of at most 1/2")
        if self.sample.size % 2 == 0:
            raise InvalidParameter("the median is of an odd number of values")
        if self.delta:  # of the scales that data can have the ends, so that none is refused for what the data are
            inner = float(self.sample.inner(self.epsilon))
            check_scale(1.99 / inner)
            check_scale(2.01 * (STEPS + 1) / inner)

    @property
    def event(self) -> PrivacyEvent:
        """Pure, or approximate where the sensitivity is smooth; one value changed."""
        return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    def scale(self, steps: Ints) -> float:
        """The noise scale for a sample, in steps. Private where delta > 0."""
        inner = self.sample.inner(self.epsilon)
        if not self.delta:
            return float_at_least(STEPS / inner)
        beta = smoothness(inner, self.sample.inner_delta(self.delta))
        return 2 * (median_sensitivity(np.sort(steps), 0, STEPS, beta) + 1) / float(inner) * (1 + 2.0**-40)

    def release(self, values: Floats, draws: ChoosingDraws, entropy: Entropy) -> float:
        """One noisy median. Raises: InvalidParameter, EntropyFailed."""
        steps = self.sample.drawn(on_grid(values, self.least, self.most), draws)
        noisy = int(np.median(steps)) + _laplace(self.scale(steps), entropy)
        return self.least + noisy * ((self.most - self.least) / STEPS)


def smoothness(epsilon: Fraction, delta: float) -> float:
    """The beta with e^beta - 1 = epsilon / (2 ln(2 / delta)), rounded down."""
    return math.log1p(float(epsilon) / (2 * math.log(2 / delta))) * (1 - 2.0**-40)


def on_grid(values: Floats, least: float, most: float) -> Ints:
    """(n,) whole steps in [0, STEPS]; beyond the range it is cut, and what is no number is at its least.

    It is never refused: that a release fails would tell of one value.
    """
    values = np.where(np.isnan(values), least, values)
    part = np.clip((np.clip(values, least, most) - least) / (most - least), 0.0, 1.0)
    steps: Ints = np.rint(part * STEPS).astype(np.int64)
    return steps


def _laplace(scale: float, entropy: Entropy) -> int:
    return int(checked(entropy.laplace(scale, 1), 1)[0])


def _check_range(least: float, most: float) -> None:
    if not (math.isfinite(least) and math.isfinite(most) and math.isfinite(most - least) and least < most):
        raise InvalidParameter("a range is finite, from the least to the most")
