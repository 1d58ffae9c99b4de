"""Sums of many int64 without overflow: results are Python integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def exact_sum(values: NDArray[np.int64]) -> int:
    """The sum of fewer than 2^31 values >= 0."""
    low = int((values & 0xFFFFFFFF).sum())
    return low + (int((values >> 32).sum()) << 32)


def from_halves(total: NDArray[np.uint64]) -> int:
    """The number whose low and high 64 bits these are."""
    return int(total[0]) + (int(total[1]) << 64)
