"""Tails of the discrete Gaussian."""

from __future__ import annotations

import math

from scipy import special


def upper_quantile(tail: float, scale: float) -> int:
    """A k >= 0 with P(Z > k) <= tail: P(Z >= k + 1) <= P(N(0, scale^2) >= k).

    Source: Canonne, Kamath, Steinke (2020), Proposition 25.
    """
    return max(0, math.ceil(-float(special.ndtri(tail)) * scale * (1 + 2.0**-40)))
