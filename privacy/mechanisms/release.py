"""Truncated values checked, noise added, and what is published of them with its intervals.

Integers and integer noise on a public grid are added exactly; floats come only afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy, check_scale
from privacy.errors import InvalidParameter
from privacy.mechanisms.budget import Budget
from privacy.mechanisms.noise import ThresholdNoise
from privacy.noisy_answer import NoisyAnswer
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import MAX_UNITS, Floats, Ints


def check_answer(answer: TruncatedAnswer, thresholds: Thresholds, gap: float) -> None:
    """Refuse an answer that breaks its contract or was made for other parameters.

    A failure here is a bug in the caller, not an outcome: a correct answer never fails, whatever the data.
    Raises: InvalidParameter; the message holds no value.
    """
    if answer.thresholds != thresholds:
        raise InvalidParameter("the truncated answer is on another ladder than the mechanism")
    if not 0 <= answer.gap <= gap:
        raise InvalidParameter("the truncated answer's gap is larger than the noise is scaled for")
    shape = (answer.n_groups, len(thresholds))
    for bound in answer.bounds():
        if bound.shape != shape or bound.dtype != np.int64:
            raise InvalidParameter("a truncated answer has one int64 per group and threshold")
        if bound.size and (bound.min() < 0 or bound.max() > MAX_UNITS):
            raise InvalidParameter("a truncated answer lies in [0, 2^62] units")
    lower, upper = answer.bounds()
    if np.any(lower > upper):
        raise InvalidParameter("a truncated answer's lower bound is above its upper bound")


def check_levels(levels: Sequence[ThresholdNoise]) -> None:
    """Refuse thresholds whose noise no source can draw. Public. Raises: InvalidParameter."""
    for scale in {level.scale for level in levels}:
        check_scale(scale)


def release_noise(index: NDArray[np.intp], levels: Sequence[ThresholdNoise], entropy: Entropy) -> Ints:
    """Draw Z, in steps, for each release.

    Args:
      index: (...) the rung of each release.
    Returns: (...) int64, each as rungs[index] draws it.
    Raises: EntropyFailed when the source returns something else than was asked for.
    Cost: one call per distinct scale; from 2^-10 up all rungs share one, as their steps grow with tau.
    """
    scale = np.array([level.scale for level in levels])[index]
    alike = {level.scale: level for level in levels}
    noise = np.zeros(index.shape, np.int64)
    for distinct in np.unique(scale):
        here = scale == distinct
        noise[here] = alike[float(distinct)].draw(int(here.sum()), entropy)
    return noise


def released(values: Ints, noise: Ints, index: NDArray[np.intp], levels: Sequence[ThresholdNoise]) -> Floats:
    """step * (v // step + Z), as normalised weight.

    Args:
      values: (...) int64 units of 2^-30, in [0, 2^62].
      noise: (...) int64 steps, below 2^61 in magnitude, so that the int64 sum is exact.
      index: (...) the rung of each release.
    Returns: (...) float64. The sum of integers is what is private; turning it into a float, which
      rounds beyond 2^53 steps, is post-processing.
    Sensitivity: see ThresholdNoise.
    """
    shift = np.array([level.step.bit_length() - 1 for level in levels], np.int64)
    step_weight = np.array([level.step_weight for level in levels])
    noisy: Floats = ((values >> shift[index]) + noise) * step_weight[index]
    return noisy


class Releaser(Protocol):
    """The public facts about a mechanism that its answer repeats."""

    @property
    def name(self) -> str:
        """The mechanism's name, as `NoisyAnswer.mechanism` carries it."""

    @property
    def budget(self) -> Budget:
        """What one release spends, for all groups together."""

    @property
    def confidence(self) -> float:
        """Of the intervals, over the release noise."""


def answer_with_interval(
    values: Floats, index: NDArray[np.intp], levels: Sequence[ThresholdNoise], signal: Floats, by: Releaser
) -> NoisyAnswer:
    """The answer whose intervals cover the truncated answer at each group's tau.

    Args:
      values: (G,) released, in normalised weight.
      index: (G,) the rung of each group.
      signal: (G,) as in NoisyAnswer.
    """
    reach = np.array([level.interval(by.confidence) for level in levels])[index]
    return NoisyAnswer(
        values=values,
        tau=np.array([level.tau for level in levels])[index],
        noise_scale=np.array([level.noise_scale for level in levels])[index],
        low=values - reach[:, 0],
        high=values + reach[:, 1],
        confidence=by.confidence,
        covers="truncated_full",
        mechanism=by.name,
        epsilon=by.budget.epsilon,
        signal=signal,
        delta=by.budget.delta,
        noise=by.budget.noise,
    )


def half_widths(levels: Sequence[ThresholdNoise], confidence: float) -> list[tuple[float, float]]:
    """(tau, half-width of the interval) for each threshold, in normalised weight."""
    return [(level.tau, sum(level.interval(confidence)) / 2) for level in levels]
