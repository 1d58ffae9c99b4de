"""From what a mechanism said of a sample of privacy units to the whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privacy.noisy_answer import NoisyAnswer


def scaled(
    answer: NoisyAnswer, factors: tuple[float, float, float], confidence: float, mechanism: str, epsilon: float
) -> NoisyAnswer:
    """Multiply a release by a published factor. Post-processing.

    Args:
      answer: of the sample; its interval covers the sample's truncated answer.
      factors: the factor, and bounds below and above what it estimates, each >= 0.
      confidence: that both the noise and those bounds hold.
      mechanism, epsilon: of the whole.
    Returns: `released_sample`: the interval covers the sample's truncated answer times the true factor. What another
      sample would have given is outside of it.
    """
    factor, least, most = factors
    return replace(
        answer,
        values=answer.values * factor,
        tau=answer.tau * factor,
        noise_scale=answer.noise_scale * factor,
        low=_least(answer.low, least, most),
        high=-_least(-answer.high, least, most),
        confidence=confidence,
        covers="released_sample",
        mechanism=mechanism,
        epsilon=epsilon,
    )


def _least(values: NDArray[np.float64], least: float, most: float) -> NDArray[np.float64]:
    """The smallest of value times factor over factors from least to most; infinite values stay."""
    smallest: NDArray[np.float64] = np.where(values >= 0, values * least, values * most)
    return smallest
