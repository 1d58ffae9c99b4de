"""Fixed-point weights, and sums of them in integers that saturate or do not overflow.

Every weight is a whole number of 2^-30 of the public bound W. Floats summed in another order give another answer,
and a neighbouring table is another order. So each row's weight is rounded once, in SQL, and everything after is
integer arithmetic (docs/mathematics.md, section 3.2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

WEIGHT_BITS = 30
"""One normalised weight (1.0 = W) is 2**WEIGHT_BITS units."""

ONE = 1 << WEIGHT_BITS
"""The weight 1.0 in units."""

MAX_UNITS = 1 << 62
"""Contributions saturate here (2^32 normalised weights). Saturation is 1-Lipschitz, so it costs no privacy."""

_LOW_BITS = 31
_BLOCK = 1 << 21  # 2^21 rows of 31 bits sum to less than 2^53: exact in float64


def saturating_sums(codes: NDArray[np.integer], weights: Ints, size: int) -> Ints:
    """Sum integer weights per code, exactly, saturating at MAX_UNITS.

    Args:
      codes: (m,) group of each weight, in [0, size).
      weights: (m,) int64 units, in [0, MAX_UNITS].
      size: number of groups.
    Returns: (size,) int64, min(MAX_UNITS, exact sum): independent of order and free of rounding.
    Cost: two bincounts per 2^21 rows.
    """
    low = np.zeros(size, np.int64)
    high = np.zeros(size, np.int64)
    for start in range(0, len(weights), _BLOCK):
        code = codes[start : start + _BLOCK]
        block = weights[start : start + _BLOCK]
        low += np.bincount(code, block & ((1 << _LOW_BITS) - 1), size).astype(np.int64)
        high += np.bincount(code, block >> _LOW_BITS, size).astype(np.int64)
    high += low >> _LOW_BITS
    saturated = high >= MAX_UNITS >> _LOW_BITS
    exact = (np.where(saturated, 0, high) << _LOW_BITS) + (low & ((1 << _LOW_BITS) - 1))
    return np.where(saturated, MAX_UNITS, exact)


def exact_sum(values: Ints) -> int:
    """The sum of fewer than 2^31 values >= 0."""
    low = int((values & 0xFFFFFFFF).sum())
    return low + (int((values >> 32).sum()) << 32)


def from_halves(total: NDArray[np.uint64]) -> int:
    """The number whose low and high 64 bits these are."""
    return int(total[0]) + (int(total[1]) << 64)


def saturating_add(left: Ints, right: Ints) -> Ints:
    """min(MAX_UNITS, left + right) for summands in [0, MAX_UNITS]."""
    return np.minimum(left, MAX_UNITS - right) + right
