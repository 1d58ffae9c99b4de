"""The race of R2T and DP-S4S: a noisy underestimate at every threshold, and the largest of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privacy.mechanisms.noise.release import Stepped, released
from privacy.truncation.truncated_answer import TruncatedAnswer


def race(
    answer: TruncatedAnswer, steps: Sequence[Stepped], noise: NDArray[np.int64], floor: float
) -> NDArray[np.intp]:
    """The winning threshold of each group, the lowest index among equals, solved where that matters.

    The noise is drawn before anything is solved, so the winner is what it would be with every threshold solved:
    the front runner, whose upper bound is the largest, has won once its value is known. Where no
    upper bound beats the floor the output is the floor and nothing is solved.

    Args:
      answer: values of G groups on the ladder of the steps.
      steps: the L thresholds.
      noise: (G, L) int64 steps, penalties subtracted.
      floor: what a group releases at least; -inf for no such thing.
    Returns: (G,) indices; the answer's value there is known, unless the floor wins.
    """
    index = np.broadcast_to(np.arange(len(steps)), noise.shape)
    lower, upper = answer.bounds()
    best = released(upper, noise, index, steps)
    front: NDArray[np.intp] = np.argmax(best, axis=1)
    rows = np.arange(len(noise))
    for group in np.flatnonzero((lower[rows, front] != upper[rows, front]) & (best[rows, front] > floor)):
        front[group] = _race_one(answer, steps, noise[group], int(group), floor)
    return front


def _race_one(
    answer: TruncatedAnswer, steps: Sequence[Stepped], noise: NDArray[np.int64], group: int, floor: float
) -> int:
    """The winner of one group; every threshold is sharpened a few times at most."""
    index = np.arange(len(steps))
    while True:
        lower, upper = (bound[group] for bound in answer.bounds())
        best = released(upper, noise, index, steps)
        front = int(np.argmax(best))
        if best[front] <= floor or lower[front] == upper[front]:
            return front
        answer.sharpen(group, front)
