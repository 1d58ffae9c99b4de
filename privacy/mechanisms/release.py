"""Steps that mechanisms share: check a truncated answer, add integer noise, build the noisy answer."""

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

    A correct answer passes on any data, so a failure is a bug in the caller.
    Raises: InvalidParameter, without a value in its message.
    """
    if answer.thresholds != thresholds:
        raise InvalidParameter("the truncated answer has other thresholds than the mechanism")
    if not 0 <= answer.gap <= gap:
        raise InvalidParameter("the truncated answer's gap is larger than the noise is scaled for")
    shape = (answer.n_groups, len(thresholds))
    for bound in answer.bounds():
        if bound.shape != shape or bound.dtype != np.int64:
            raise InvalidParameter("a truncated answer must have one int64 per group and threshold")
        if bound.size and (bound.min() < 0 or bound.max() > MAX_UNITS):
            raise InvalidParameter("a truncated answer must be in [0, 2^62] units")
    lower, upper = answer.bounds()
    if np.any(lower > upper):
        raise InvalidParameter("a truncated answer's lower bound is above its upper bound")


def check_levels(levels: Sequence[ThresholdNoise]) -> None:
    """Refuse thresholds whose noise no source can draw. Public. Raises: InvalidParameter."""
    for scale in {level.scale for level in levels}:
        check_scale(scale)


def release_noise(index: NDArray[np.intp], levels: Sequence[ThresholdNoise], entropy: Entropy) -> Ints:
    """Draw the noise of each release, in steps.

    Args:
      index: (...) the level of each release.
    Returns: (...) int64.
    Raises: EntropyFailed if the source returns something else.
    Cost: one call per distinct scale. From 2^-10 up all levels share one, as their steps grow with tau.
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
      noise: (...) int64 steps, below 2^61 in size, so that the int64 sum is exact.
      index: (...) the level of each release.
    Returns: (...) float64. The integer sum is private; turning it into a float is post-processing.
    Sensitivity: as of `ThresholdNoise`.
    """
    shift = np.array([level.step.bit_length() - 1 for level in levels], np.int64)
    step_weight = np.array([level.step_weight for level in levels])
    noisy: Floats = ((values >> shift[index]) + noise) * step_weight[index]
    return noisy


class Releaser(Protocol):
    """The public facts about a mechanism that its answer repeats."""

    @property
    def name(self) -> str:
        """The value of `NoisyAnswer.mechanism`."""

    @property
    def budget(self) -> Budget:
        """What one release spends, for all groups together."""

    @property
    def confidence(self) -> float:
        """The confidence of the intervals, over the release noise."""


def answer_with_interval(
    values: Floats, index: NDArray[np.intp], levels: Sequence[ThresholdNoise], signal: Floats, by: Releaser
) -> NoisyAnswer:
    """The answer whose intervals cover the truncated answer at each group's tau.

    Args:
      values: (G,) released, in normalised weight.
      index: (G,) the level of each group.
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
