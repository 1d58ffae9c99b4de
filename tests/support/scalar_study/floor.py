"""The floor: the best fixed threshold, known beforehand and for free, and one Laplace release with all of epsilon."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacy.mechanisms.noise import ThresholdNoise
from privacy.sampling.design import SampleDesign, largest_factor
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import ONE
from tests.support.scalar_study.case import ScalarCase
from tests.support.scalar_study.repeated_answer import RepeatedAnswer
from tests.support.scalar_study.spread import trimmed_mean

_POINTS = 2000
_RANK = (np.arange(_POINTS) + 0.5) / _POINTS
_LAPLACE = -np.sign(_RANK - 0.5) * np.log1p(-2 * np.abs(_RANK - 0.5))
"""As many quantiles of the Laplace distribution of scale 1 stand for it."""

_HALF_WIDTH = 3.0
"""Scales, within which 95% of the Laplace distribution lies."""


def release_scales(case: ScalarCase, epsilon: float, rate: float) -> NDArray[np.float64]:
    """(L,) noise scale per threshold of one release that may spend everything, for the sample."""
    if rate == 1:
        scales: NDArray[np.float64] = case.thresholds.taus * ((1 + case.gap) / epsilon)
        return scales
    design = SampleDesign(rate, case.tuples_per_unit, epsilon)
    return np.array([_scale(int(units), case.gap, design) for units in case.thresholds.units])


def _scale(units: int, gap: float, design: SampleDesign) -> float:
    budget = largest_factor(
        design, Fraction(design.epsilon), lambda x: [ThresholdNoise(units, gap, Fraction(x)).loss], design.epsilon
    )
    return ThresholdNoise(units, gap, Fraction(budget)).noise_scale


def best_known(
    answer: TruncatedAnswer, scales: NDArray[np.float64], truth: float, rate: float
) -> NDArray[np.float64]:
    """(L,) upper bounds of one sample's truncated values, of which the best is known as well as noise shows it."""
    shown = RepeatedAnswer(answer, answer.thresholds, 1, list(_HALF_WIDTH * scales))
    while True:
        lower, upper = (bound[0] for bound in shown.bounds())
        errors = [_error(value / ONE, scale, truth, rate) for value, scale in zip(upper, scales, strict=True)]
        best = int(np.argmin(errors))
        if lower[best] == upper[best]:
            values: NDArray[np.float64] = upper / ONE
            return values
        shown.sharpen(0, best)


def floor(values: NDArray[np.float64], scales: NDArray[np.float64], truth: float, rate: float) -> tuple[float, float]:
    """The trimmed mean of relative errors at the best threshold, and that threshold's noise scale.

    Args:
      values: (samples, L) truncated values.
    """
    errors = [
        trimmed_mean(np.abs((values[:, i, None] + scale * _LAPLACE) / rate - truth).ravel() / truth)
        for i, scale in enumerate(scales)
    ]
    best = int(np.argmin(errors))
    return errors[best], float(scales[best])


def _error(value: float, scale: float, truth: float, rate: float) -> float:
    return trimmed_mean(np.abs((value + scale * _LAPLACE) / rate - truth))
