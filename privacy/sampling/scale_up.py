"""From a sample's released value to the whole: divide by the rate, and say how far the sample may be off."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.noisy_answer import NoisyAnswer

MISS = 0.01
"""The chance that sampling leaves an interval, beside the chance that noise does."""


def scale_up(noisy: NoisyAnswer, rate: float, thresholds: int) -> NoisyAnswer:
    """Divide a release from a Bernoulli sample by its rate.

    The interval covers mu / q, where mu is what the truncated answer at the published tau is on average over
    samples; without truncation mu / q is the true answer. It is made of released numbers only.

    The truncated answer Z at a fixed tau is a self-bounding function of which tuples are in the sample: leaving out
    tuple t lowers the optimum by at most x_t <= 1, and the x_t add up to Z. So, with x = ln(1 / beta),

        P(Z >= mu + x/3 + sqrt(x^2/9 + 2 x mu)) <= beta   and   P(Z <= mu - sqrt(2 x mu)) <= beta,

    which bounds mu from the interval for Z. The tau was chosen by looking at the sample, so beta is divided
    by the number of thresholds; and by two, for two sides.

    Args:
      noisy: a release of normalised weights.
      rate: q in (0, 1].
      thresholds: how many a mechanism could choose from.
    Returns: `released_sample` with values, tau and noise_scale divided by q.
    Raises: InvalidParameter.
    Source: Boucheron, Lugosi, Massart, Concentration Inequalities (2013), theorem 6.12; privacy.md section 4.
    """
    if not 0 < rate <= 1 or thresholds < 1:
        raise InvalidParameter("a sampling rate lies in (0, 1]")
    x = math.log(2 * thresholds / MISS)
    return replace(
        noisy,
        values=noisy.values / rate,
        tau=noisy.tau / rate,
        noise_scale=noisy.noise_scale / rate,
        low=_least_mean(noisy.low, x) / rate,
        high=_largest_mean(noisy.high, x) / rate,
        confidence=noisy.confidence - MISS,
        covers="released_sample",
    )


def scale_up_noise(noisy: NoisyAnswer, rate: float) -> NoisyAnswer:
    """Divide a release from a Bernoulli sample by its rate, where nothing is known of the sampling error.

    The concentration of `scale_up` is that of an optimum of which a tuple adds at most its own weight. Sums that are
    clipped, or cut by a program of another objective, are none.

    Args:
      noisy: a release of normalised weights.
      rate: q in (0, 1].
    Returns: `truncated_sample`: the interval covers the noise alone, around the sample's truncated answer over q.
    Raises: InvalidParameter.
    """
    if not 0 < rate <= 1:
        raise InvalidParameter("a sampling rate lies in (0, 1]")
    return replace(
        noisy,
        values=noisy.values / rate,
        tau=noisy.tau / rate,
        noise_scale=noisy.noise_scale / rate,
        low=noisy.low / rate,
        high=noisy.high / rate,
        covers="truncated_sample",
    )


def _least_mean(value: NDArray[np.float64], x: float) -> NDArray[np.float64]:
    """The smallest mu with value <= mu + x/3 + sqrt(x^2/9 + 2 x mu); never above the value itself."""
    sample = np.maximum(value, 0.0)
    mean = sample + 2 * x / 3 - np.sqrt(2 * x * sample + 4 * x * x / 9)
    return np.minimum(np.maximum(mean, 0.0), value)


def _largest_mean(value: NDArray[np.float64], x: float) -> NDArray[np.float64]:
    """The largest mu with value >= mu - sqrt(2 x mu)."""
    sample = np.maximum(value, 0.0)
    return sample + x + np.sqrt(2 * x * sample + x * x)
