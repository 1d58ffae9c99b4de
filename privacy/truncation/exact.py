"""Sums and products of many int64 without overflow: results are Python integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BITS = 16
_MASK = (1 << _BITS) - 1


def exact_sum(values: NDArray[np.int64]) -> int:
    """The sum of fewer than 2^31 values >= 0."""
    low = int((values & 0xFFFFFFFF).sum())
    return low + (int((values >> 32).sum()) << 32)


def exact_dot(left: NDArray[np.int64], right: NDArray[np.int64]) -> int:
    """The inner product of two vectors >= 0 of fewer than 2^31 entries, by limbs of 16 bits.

    Args:
      left: (n,) in [0, 2^63).
      right: (n,) in [0, 2^32).
    Cost: eight passes.
    """
    total = 0
    for i in range(4):
        limb = (left >> (_BITS * i)) & _MASK
        for j in range(2):
            total += int(limb @ ((right >> (_BITS * j)) & _MASK)) << (_BITS * (i + j))
    return total
