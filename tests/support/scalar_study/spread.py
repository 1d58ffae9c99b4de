"""What many runs of a mechanism say about its error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_PARTS = 10


@dataclass(frozen=True)
class Spread:
    """Relative errors of runs, summed up as the papers do and beside it without trimming.

    Attributes:
      trimmed: the mean of the middle 60%.
      p95, p999: percentiles of all runs.
      error: the standard error of `trimmed` over ten parts of the runs.
      runs: how many.
    """

    trimmed: float
    p95: float
    p999: float
    error: float
    runs: int


def spread(values: NDArray[np.float64], truth: float) -> Spread:
    """Sum up released values.

    Args:
      values: (samples, runs on each) released; runs on one sample share its sampling error, so that the ten parts
        are made of whole samples where there are as many.
      truth: > 0.
    """
    errors = np.abs(values - truth) / truth
    along = errors if len(errors) >= _PARTS else errors.reshape(1, -1).T
    parts = [trimmed_mean(part.ravel()) for part in np.array_split(along, min(_PARTS, len(along)))]
    p95, p999 = np.quantile(errors, (0.95, 0.999))
    noise = float(np.std(parts, ddof=1) / np.sqrt(len(parts))) if len(parts) > 1 else 0.0
    return Spread(trimmed_mean(errors.ravel()), float(p95), float(p999), noise, errors.size)


def trimmed_mean(errors: NDArray[np.float64]) -> float:
    """The mean without the smallest and the largest fifth, as in R2T and DP-S4S."""
    cut = len(errors) // 5
    return float(np.sort(errors)[cut : len(errors) - cut].mean())
