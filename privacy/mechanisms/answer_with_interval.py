"""What a release at chosen thresholds publishes: the noisy values, and intervals around the truncated answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privacy.mechanisms.budget import Budget
from privacy.mechanisms.noise.release import Stepped
from privacy.noisy_answer import NoisyAnswer


class Releaser(Protocol):
    """The public facts about a mechanism that its answer repeats."""

    @property
    def name(self) -> str:
        """The mechanism's name, as `NoisyAnswer.mechanism` carries it."""
        ...

    @property
    def budget(self) -> Budget:
        """What one release spends, for all groups together."""
        ...

    @property
    def confidence(self) -> float:
        """Of the intervals, over the release noise."""
        ...


def answer_with_interval(
    values: NDArray[np.float64],
    index: NDArray[np.intp],
    rungs: Sequence[Stepped],
    signal: NDArray[np.float64],
    by: Releaser,
) -> NoisyAnswer:
    """The answer whose intervals cover the truncated answer at each group's tau.

    Args:
      values: (G,) released, in normalised weight.
      index: (G,) the rung of each group.
      rungs: the L rungs.
      signal: (G,) as in NoisyAnswer.
      by: the mechanism that released.
    """
    reach = np.array([rung.interval(by.confidence) for rung in rungs])[index]
    return NoisyAnswer(
        values=values,
        tau=np.array([rung.tau for rung in rungs])[index],
        noise_scale=np.array([rung.noise_scale for rung in rungs])[index],
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


def half_widths(rungs: Sequence[Stepped], confidence: float) -> list[tuple[float, float]]:
    """(tau, half-width of the interval) for each threshold, in normalised weight."""
    return [(rung.tau, sum(rung.interval(confidence)) / 2) for rung in rungs]
