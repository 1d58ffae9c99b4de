"""From a sample to the whole: division by the rate, the sampling error, and whether a sample helps at all.

Only released values and public numbers enter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from privacy.errors import InvalidParameter
from privacy.noisy_answer import NoisyAnswer
from privacy.units import Floats

MISS = 0.01
"""The chance that sampling leaves an interval, beside the chance that noise does."""


def scale_up(noisy: NoisyAnswer, rate: float, thresholds: int) -> NoisyAnswer:
    """Divide a release from a Bernoulli sample by its rate.

    The interval covers mu / q, where mu is the mean over samples of the truncated answer at the published tau.
    Without truncation mu / q is the true answer. Only released numbers enter.

    The truncated answer Z at a fixed tau is a self-bounding function of the sampled tuples: leaving out tuple t
    lowers the optimum by at most x_t <= 1, and the x_t add up to Z. So, with x = ln(1 / beta),

        P(Z >= mu + x/3 + sqrt(x^2/9 + 2 x mu)) <= beta   and   P(Z <= mu - sqrt(2 x mu)) <= beta,

    which bounds mu from the interval for Z. The tau was chosen on the sample, so beta is divided by the number of
    thresholds, and by two for two sides.

    Args:
      thresholds: how many candidates the mechanism had.
    Returns: `released_sample` with values, tau and noise_scale divided by q.
    Raises: InvalidParameter.
    Source: Boucheron, Lugosi, Massart, Concentration Inequalities (2013), theorem 6.12; docs/mathematics.md, section
      7.5.
    """
    if thresholds < 1:
        raise InvalidParameter("a mechanism must have at least one threshold to choose from")
    x = math.log(2 * thresholds / MISS)
    return replace(
        scale_up_noise(noisy, rate),
        low=_least_mean(noisy.low, x) / rate,
        high=_largest_mean(noisy.high, x) / rate,
        confidence=noisy.confidence - MISS,
        covers="released_sample",
    )


def scale_up_noise(noisy: NoisyAnswer, rate: float) -> NoisyAnswer:
    """Divide a release from a Bernoulli sample by its rate, if nothing is known of the sampling error.

    `scale_up` needs an optimum to which a tuple adds at most its own weight. Clipped sums, or sums of another
    program, are none.

    Returns: `truncated_sample`: the interval covers the noise alone, around the sample's truncated answer over q.
    Raises: InvalidParameter.
    """
    if not 0 < rate <= 1:
        raise InvalidParameter("the sampling rate must be above 0 and at most 1")
    return replace(
        noisy,
        values=noisy.values / rate,
        tau=noisy.tau / rate,
        noise_scale=noisy.noise_scale / rate,
        low=noisy.low / rate,
        high=noisy.high / rate,
        covers="truncated_sample",
    )


def _least_mean(value: Floats, x: float) -> Floats:
    """The smallest mu with value <= mu + x/3 + sqrt(x^2/9 + 2 x mu); never above the value itself."""
    sample = np.maximum(value, 0.0)
    mean = sample + 2 * x / 3 - np.sqrt(2 * x * sample + 4 * x * x / 9)
    return np.minimum(np.maximum(mean, 0.0), value)


def _largest_mean(value: Floats, x: float) -> Floats:
    """The largest mu with value >= mu - sqrt(2 x mu)."""
    sample = np.maximum(value, 0.0)
    return sample + x + np.sqrt(2 * x * sample + x * x)


_SIGMAS = 1.96
"""Standard deviations that a normal distribution exceeds with probability 5%."""


class Noisy(Protocol):
    """A measurement of one group's answers or of all groups together; only its noise matters here."""

    def expected_noise(self, n_groups: int, /) -> list[tuple[float, float]]:
        """(tau, half-width) per threshold in normalised weight. Public."""


@dataclass(frozen=True)
class Advice:
    """By how much an answer from a sample is off, and one from all tuples. Public.

    All in units of the largest weight; half-widths at the confidence of the measurements, 95% by default.

    Attributes:
      noise: of the release, at the smallest threshold that clips no unit of Delta tuples, divided by q.
      noise_of_all: the same without sampling.
      unit_sampling: of sampling, for one join tuple of weight 1; it grows with the root of their number.
    """

    noise: float
    noise_of_all: float
    unit_sampling: float

    @property
    def break_even(self) -> float:
        """With fewer join tuples than this the sample's answer is better; 0: never, infinity: always.

        It is usually 0: a sum's noise grows with what a unit can add, and so does what a sample keeps of it. If the
        noise has scale b and no unit is clipped, epsilon = ln E[exp(K / b)] >= q Delta / b by Jensen's inequality. So
        b / q >= Delta / epsilon: at best amplification pays for the division by q. A sample can still gain if its
        threshold, a power of two, lies closer to what a unit has.
        Source: Accuracy gains from privacy amplification through sampling: gains need a sensitivity that does not
          depend on the size of the data.
        """
        saved = self.noise_of_all**2 - self.noise**2
        if saved <= 0:
            return 0.0
        return math.inf if self.unit_sampling == 0 else saved / self.unit_sampling**2


def advice(sampled: Noisy, whole: Noisy, tuples_per_unit: int, rate: float, n_groups: int = 1) -> Advice:
    """Predict noise and sampling error of one of several groups.

    Sampling is off by at most 1.96 sqrt((1 - q) / q) times the root of the number of join tuples, as each weighs at
    most 1.

    Args:
      sampled, whole: the mechanism at that rate, with its amplified budgets, and without a sample.
      tuples_per_unit: Delta >= 1, a public bound on the join tuples of one unit. The prediction for a unit of Delta
        tuples is an upper bound for others.
    """
    noise, noise_of_all = (
        covering_noise(made, tuples_per_unit, here, n_groups) for made, here in ((sampled, rate), (whole, 1.0))
    )
    return Advice(noise, noise_of_all, _SIGMAS * math.sqrt((1 - rate) / rate))


def covering_noise(measurement: Noisy, tuples_per_unit: int, rate: float, n_groups: int = 1) -> float:
    """The half-width of the release, divided by q, at the smallest threshold that rarely clips a unit of Delta
    tuples.

    In the sample it has q Delta tuples, and four standard deviations more with a chance of some 1e-4. If there is no
    such threshold, the largest one.
    """
    mean = rate * tuples_per_unit
    most = min(tuples_per_unit, mean + 4 * math.sqrt(mean * (1 - rate)) + 4 * (rate < 1))
    noise = measurement.expected_noise(n_groups)
    return next((width for tau, width in noise if tau >= most), noise[-1][1]) / rate
