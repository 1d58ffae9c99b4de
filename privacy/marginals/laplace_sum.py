"""A weighted sum of independent Laplace noises: its spread, and how far it reaches at a confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.exact import check_confidence

_TERMS = 4096
_TAIL = 1e-9
_HALVINGS = 60
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class LaplaceSum:
    """X = sum of times[i] independent Laplace variables of scale scales[i].

    Attributes:
      scales: (k,) float64, >= 0: of the noise times the size of its weight.
      times: (k,) float64, whole numbers >= 0: how many there are of each.
    """

    scales: NDArray[np.float64]
    times: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.scales.shape != self.times.shape or self.scales.ndim != 1:
            raise InvalidParameter("each scale has its number of times")
        if not (np.isfinite(self.scales).all() and (self.scales >= 0).all() and (self.times >= 0).all()):
            raise InvalidParameter("scales are finite, and no number of times is negative")

    @property
    def variance(self) -> float:
        """2 times the sum of the squares of the scales."""
        return float(2 * (self.times * self.scales**2).sum())

    def reach(self, confidence: float) -> float:
        """q with P(|X| > q) <= 1 - confidence, and hardly more than the smallest one.

        P(X > q) = 1/2 - (1 / pi) sum over k >= 0 of phi((k + 1/2) h) sin((k + 1/2) h q) / (k + 1/2), up to
        P(X > 2 pi / h - q), with phi(t) = prod (1 + (b t)^2)^-m the characteristic function. The step h is such that
        Chernoff's bound on that is below 1e-9; of what is left out after so many terms phi, which falls at least as
        that of its widest noise, says how much it can be. Both are added to the tail: no error of the sum makes the
        interval too short.
        Source: Davies, Biometrika 60 (1973), for the inversion on a lattice.

        Args:
          confidence: in (0, 1).
        Returns: 0 for no noise at all.
        Cost: a few milliseconds, however many noises there are.
        """
        check_confidence(confidence)
        used = (self.scales > 0) & (self.times > 0)
        scales, times = self.scales[used], self.times[used]
        if not len(scales):
            return 0.0
        widest = float(scales.max())
        scales = scales / widest
        tail = (1 - confidence) / 2
        most = _chernoff(scales, times, tail)
        step = 2 * math.pi / (most + _chernoff(scales, times, _TAIL))
        k = np.arange(_TERMS) + 0.5
        phi = np.exp(-(times[:, None] * np.log1p((scales[:, None] * (k * step)[None, :]) ** 2)).sum(axis=0))
        end = _TERMS * step
        after = math.exp(-float((times * np.log1p((scales * end) ** 2)).sum())) * (1 + end**2)
        left_out = after / (math.pi * step**2 * 2 * (_TERMS - 1) ** 2)
        spare = tail - _TAIL - left_out - _ROUNDING
        low, high = 0.0, most
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            beyond = 0.5 - float((phi * np.sin(k * step * middle) / k).sum()) / math.pi
            low, high = (low, middle) if beyond <= spare else (middle, high)
        return high * widest


def _chernoff(scales: NDArray[np.float64], times: NDArray[np.float64], tail: float) -> float:
    """x with P(X > x) <= tail: E[exp(s X)] = prod (1 - (b s)^2)^-m for s below 1, the widest noise having scale 1."""
    slopes = np.linspace(0.01, 0.99, 99)
    moments = -(times[:, None] * np.log1p(-((scales[:, None] * slopes[None, :]) ** 2))).sum(axis=0)
    return float(((moments - math.log(tail)) / slopes).min())
