"""What a solved threshold says about the others: fbar is concave and non-decreasing in tau, and fbar(0) = 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.units import MAX_UNITS

_EXACT_BITS = 50
"""Values are shortened to this many bits, so that every difference of two is exact in a float."""

_PAD = 8.0
"""Shortened units: a line through exact points is computed with a relative error below 2^-50, so within one unit."""


def tighten(lower: NDArray[np.int64], upper: NDArray[np.int64], taus: NDArray[np.int64]) -> None:
    """Tighten the bounds of one group in place by chords.

    Between two thresholds fbar lies above the chord of the lower bounds; beyond two thresholds it lies
    below the line through an outer lower and an inner upper bound.

    Args:
      lower, upper: (L,) bounds of min(fbar, MAX_UNITS), which is concave too.
      taus: (L,) ascending thresholds in units, powers of two within 52 doublings: their differences are exact.
    Cost: O(L^3) float operations in numpy, about a millisecond for L = 53.
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


def _chords(tau: NDArray[np.float64], low: NDArray[np.float64]) -> NDArray[np.float64]:
    """The highest chord of lower bounds over each threshold; to the right of the last, a horizontal line."""
    best = np.maximum.accumulate(low)
    for i in range(1, len(tau) - 1):
        left, right = (slice(0, i), None), (None, slice(i + 1, None))
        slope = (low[right] - low[left]) / (tau[right] - tau[left])
        best[i] = max(best[i], (low[left] + slope * (tau[i] - tau[left])).max())
    return best


def _rays(tau: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """The lowest line through (a, lower) and (b, upper) on the far side of b from a."""
    best = high.copy()
    for b in range(1, len(tau)):
        rising = ((high[b] - low[:b]) / (tau[b] - tau[:b])).min()
        np.minimum(best[b + 1 :], high[b] + rising * (tau[b + 1 :] - tau[b]), out=best[b + 1 :])
        if b + 1 < len(tau):
            falling = ((low[b + 1 :] - high[b]) / (tau[b + 1 :] - tau[b])).max()
            np.minimum(best[1:b], high[b] - falling * (tau[b] - tau[1:b]), out=best[1:b])
    return best
