"""The exact chance that a sparse vector stops at a level, by integrating over the threshold's noise."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privacy.papers.vector_program.certificate import WHOLE
from privacy.papers.vector_release import SparseVector

_RUNGS = 40
_POINTS = 40_001


def loss(made: SparseVector, down: float, up: float) -> float:
    """|ln| of the ratio of the chances to stop at the last of many rungs.

    Args:
      down, up: by how many persons the levels before the last fall and the last rises.
    Returns: the largest over heights of the levels, far above the threshold and far below.
    """
    losses = []
    for level in (-12.0, -6.0, 0.0, 6.0):
        for last in (8.0, 16.0, 24.0):
            before = _stops(made, made.threshold + level, made.threshold + level + last)
            after = _stops(made, made.threshold + level - down, made.threshold + level + last + up)
            losses.append(abs(math.log(before / after)))
    return max(losses)


def _stops(made: SparseVector, early: float, last: float) -> float:
    threshold, rung = made.threshold_scale / WHOLE, made.level_scale / WHOLE
    noise = np.linspace(-60 * threshold, 60 * threshold, _POINTS)
    density = np.exp(-np.abs(noise) / threshold) / (2 * threshold)
    level = made.threshold + noise
    above = 1 - _below(level - early, rung)
    return float(np.trapezoid(density * above ** (_RUNGS - 1) * _below(level - last, rung), noise))


def _below(x: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """P(Laplace noise <= x)."""
    tail = np.exp(-np.abs(x) / scale) / 2
    return np.where(x < 0, tail, 1 - tail)
