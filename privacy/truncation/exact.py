"""Sums and products of many int64 without overflow: results are Python integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.truncation.certificate_kernels import add_products


def exact_sum(values: NDArray[np.int64]) -> int:
    """The sum of fewer than 2^31 values >= 0."""
    low = int((values & 0xFFFFFFFF).sum())
    return low + (int((values >> 32).sum()) << 32)


def exact_dot(left: NDArray[np.int64], right: NDArray[np.int64]) -> int:
    """The inner product of two vectors of fewer than 2^31 numbers in [0, 2^63). Cost: one pass."""
    total = np.zeros(2, np.uint64)
    add_products(left, right, total)
    return from_halves(total)


def from_halves(total: NDArray[np.uint64]) -> int:
    """The number whose low and high 64 bits these are."""
    return int(total[0]) + (int(total[1]) << 64)
