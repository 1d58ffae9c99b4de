"""Sums of int64 without overflow: as Python integers, or in [0, MAX_UNITS], stopping at the upper end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.units import MAX_UNITS


def exact_sum(values: NDArray[np.int64]) -> int:
    """The sum of fewer than 2^31 values >= 0."""
    low = int((values & 0xFFFFFFFF).sum())
    return low + (int((values >> 32).sum()) << 32)


def from_halves(total: NDArray[np.uint64]) -> int:
    """The number whose low and high 64 bits these are."""
    return int(total[0]) + (int(total[1]) << 64)


def saturating_add(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """min(MAX_UNITS, left + right) for summands in [0, MAX_UNITS]."""
    return np.minimum(left, MAX_UNITS - right) + right
