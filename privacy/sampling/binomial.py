"""Probabilities of a binomial count, accurate in relative terms also in the tails and for a trillion trials."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special


def between(low: ArrayLike, high: ArrayLike, n: int, p: float, complement: float) -> NDArray[np.float64]:
    """P(low <= K <= high) for K ~ Binomial(n, p), elementwise, with 0 <= low and low <= high + 1.

    Args:
      complement: 1 - p, passed on its own because p may be within rounding of 1.
    Cost: two incomplete beta functions per element; each difference is taken between the smaller tails.
    """
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    above = _at_least(low, n, p, complement) - _at_least(high + 1, n, p, complement)
    below = _at_most(high, n, p, complement) - _at_most(low - 1, n, p, complement)
    return np.maximum(np.where(low > n * p, above, below), 0.0)


def _at_least(k: NDArray[np.float64], n: int, p: float, complement: float) -> NDArray[np.float64]:
    """P(K >= k)."""
    inner = np.clip(k, 1, n)
    if p <= 0.5:
        value = special.betainc(inner, n - inner + 1, p)
    else:
        value = special.betaincc(n - inner + 1, inner, complement)
    return np.where(k <= 0, 1.0, np.where(k > n, 0.0, value))


def _at_most(k: NDArray[np.float64], n: int, p: float, complement: float) -> NDArray[np.float64]:
    """P(K <= k)."""
    inner = np.clip(k, 0, n - 1)
    if p <= 0.5:
        value = special.betaincc(inner + 1, n - inner, p)
    else:
        value = special.betainc(n - inner, inner + 1, complement)
    return np.where(k < 0, 0.0, np.where(k >= n, 1.0, value))
