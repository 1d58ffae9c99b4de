"""What a solved threshold says about the others: fbar is concave and non-decreasing in tau, and fbar(0) = 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.units import MAX_UNITS

_EXACT_BITS = 50
"""Values are shortened to this many bits, so that every difference of two is exact in a float."""

_PAD = 8.0
"""Shortened units: a line through exact points is computed with a relative error below 2^-50, so within one unit.
A difference of two thresholds that is rounded is one of its five roundings."""


def tighten(lower: NDArray[np.int64], upper: NDArray[np.int64], taus: NDArray[np.int64]) -> None:
    """Tighten the bounds of one group in place by chords.

    Between two thresholds fbar lies above the chord of the lower bounds; beyond two thresholds it lies
    below the line through an outer lower and an inner upper bound.

    Args:
      lower, upper: (L,) bounds of min(fbar, MAX_UNITS), which is concave too.
      taus: (L,) ascending thresholds in units, each exact in a float.
    Cost: O(L^3) float operations, a tenth of a millisecond for L = 53.
    """
    shift = max(0, int(upper.max()).bit_length() - _EXACT_BITS)
    tau = np.concatenate([[0.0], taus.astype(np.float64)])
    low = np.concatenate([[0.0], (lower >> shift).astype(np.float64)])
    high = np.concatenate([[0.0], (-(-upper >> shift)).astype(np.float64)])
    below = _chords(tau, low)
    above = np.minimum(_rays(tau, low, high), np.minimum.accumulate(high[::-1])[::-1])
    np.maximum(lower, _units(np.floor(below - _PAD), shift), out=lower)
    np.minimum(upper, _units(np.ceil(above + _PAD), shift), out=upper)


def _units(values: NDArray[np.float64], shift: int) -> NDArray[np.int64]:
    """Whole units in [0, MAX_UNITS], without the threshold 0."""
    return np.clip(values[1:], 0.0, float(MAX_UNITS >> shift)).astype(np.int64) << shift


@kernel
def _chords(tau: NDArray[np.float64], low: NDArray[np.float64]) -> NDArray[np.float64]:
    """The highest chord of lower bounds over each threshold; to the right of the last, a horizontal line."""
    best = low.copy()
    for i in range(1, len(tau)):
        best[i] = max(best[i], best[i - 1])
    for left in range(len(tau)):
        for right in range(left + 2, len(tau)):
            slope = (low[right] - low[left]) / (tau[right] - tau[left])
            for i in range(left + 1, right):
                best[i] = max(best[i], low[left] + slope * (tau[i] - tau[left]))
    return best


@kernel
def _rays(tau: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """The lowest line through (a, lower) and (b, upper) on the far side of b from a."""
    best = high.copy()
    for b in range(1, len(tau)):
        rising = np.inf
        for a in range(b):
            rising = min(rising, (high[b] - low[a]) / (tau[b] - tau[a]))
        for i in range(b + 1, len(tau)):
            best[i] = min(best[i], high[b] + rising * (tau[i] - tau[b]))
        falling = -np.inf
        for a in range(b + 1, len(tau)):
            falling = max(falling, (low[a] - high[b]) / (tau[a] - tau[b]))
        for i in range(1, b if b + 1 < len(tau) else 1):
            best[i] = min(best[i], high[b] - falling * (tau[b] - tau[i]))
    return best
