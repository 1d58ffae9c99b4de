"""The smooth sensitivity of a median, in whole steps of a public grid."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def median_sensitivity(ordered: NDArray[np.int64], least: int, most: int, beta: float) -> float:
    """S(x) = max_k exp(-k beta) max_(0 <= t <= k + 1) (x_(r + t) - x_(r + t - k - 1)), r the place of the median.

    Beyond the values stand the ends of the range. With k changed values the next one moves the median by no more than
    that: so S bounds the local sensitivity, and S(x) <= e^beta S(x') for neighbours, one value changed.

    Every k is evaluated until exp(-k beta) of the whole range is below what was found: after it none is larger.

    Args:
      ordered: (n,) whole numbers, rising, n odd, within [least, most].
      beta: > 0.
    Returns: S, rounded up.
    Cost: k + 2 differences for each k, of which there are about ln(range / S) / beta.
    Source: Nissim, Raskhodnikova and Smith (STOC 2007), section 3.1; accuracy gains from sampling, formula 4.
    """
    n = len(ordered)
    middle, width = n // 2, most - least
    padded = np.concatenate([[least], ordered, [most]])
    found = 0.0
    for k in range(n + 1):
        weight = math.exp(-k * beta)
        if weight * width <= found:
            break
        high = np.arange(middle, middle + k + 2)
        upper = padded[np.minimum(high, n) + 1]
        lower = padded[np.maximum(high - k - 1, -1) + 1]
        found = max(found, weight * float((upper - lower).max()))
    return found * (1 + 2.0**-40)
