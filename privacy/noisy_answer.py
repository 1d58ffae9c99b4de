"""The only type in this package that may leave the process: values that a mechanism released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Covers = Literal["released_sample", "truncated_sample", "truncated_full", "smoothed", "truth_lower"]
"""What an interval covers: the truncated answer over all data, sampling error included; that of the sample that was
drawn, scaled up, without the sampling error; the truncated answer of unsampled data; the same around a value that
other groups had a say in, by a released bound on how far that moves it; or the truth, from below."""

NoiseKind = Literal["laplace", "gaussian"]
"""The distribution of a release's noise, on a grid of whole steps."""

MOST_MISSED = 5.0
"""With probability 1 - beta, doubling tau adds at most (C + 4 t) tau <= 5 C tau to the truncated answer, C the price
of tau and t its selection part (privacy.md section 4). Usually it adds far less."""

CUT_SIGNAL = 3.0
"""A value below 3 C tau is marked: it may double, and double again. By `make benchmark NAME=trust`, which has the
trade-off: at 2 more than one in twenty of the rows that are off by more than half bear no mark in some data, at 5
half as many again of those that are right to a twentieth bear one."""


@dataclass(frozen=True, eq=False)
class NoisyAnswer:
    """One release, one value per public group. Every field is safe to publish.

    Attributes:
      values: (n_groups,) float64 in normalised weight (multiply by W).
      tau: (n_groups,) float64, the contribution bound that was chosen, in normalised weight.
      noise_scale: (n_groups,) float64, in normalised weight: the scale of Laplace noise, sigma of Gaussian noise.
      low, high: (n_groups,) float64, the interval at `confidence`, in normalised weight;
        high is +inf for `truth_lower`.
      confidence: the probability, over noise and draws alone, that the interval covers what `covers` names.
      covers: what the interval covers. Truncation bias is outside of it.
      mechanism: the mechanism's name.
      epsilon: what this release spent, for all groups together.
      signal: (n_groups,) float64, the released value in multiples of what choosing its tau cost; below
        `MOST_MISSED` doubling tau could have added as much as the value itself, below `CUT_SIGNAL` it is marked.
        +inf where no choice was made.
      delta: what this release spent beside epsilon; 0 for pure differential privacy.
      noise: what `noise_scale` is the scale of.
    """

    values: NDArray[np.float64]
    tau: NDArray[np.float64]
    noise_scale: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    confidence: float
    covers: Covers
    mechanism: str
    epsilon: float
    signal: NDArray[np.float64]
    delta: float = 0.0
    noise: NoiseKind = "laplace"

    @property
    def may_be_cut(self) -> NDArray[np.bool_]:
        """(n_groups,) where so little budget met so little data that the value may be any part of the truth."""
        return self.signal < CUT_SIGNAL
