"""The only type in this package that may leave the process: values that a mechanism released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Covers = Literal["released_sample", "truncated_sample", "truncated_full", "truth_lower"]
"""What an interval covers: the truncated answer over all data, sampling error included; that of the sample that was
drawn, scaled up, without the sampling error; the truncated answer of unsampled data; or the truth, from below."""

NoiseKind = Literal["laplace", "gaussian"]
"""The distribution of a release's noise, on a grid of whole steps."""

CUT_SIGNAL = 5.0
"""With probability 1 - beta, doubling tau adds at most (C + 4 t) tau <= 5 C tau to the truncated answer, C the price
of tau and t its selection part (privacy.md section 4): a value below 5 C tau may double, and double again."""


@dataclass(frozen=True, eq=False)
class NoisyAnswer:
    """One release, one value per public group. Every field is safe to publish.

    Attributes:
      values: (n_groups,) float64 in normalised weight (multiply by W).
      tau: (n_groups,) float64, the contribution bound that was chosen, in normalised weight.
      noise_scale: (n_groups,) float64, in normalised weight: the scale of Laplace noise, sigma of Gaussian noise.
      low, high: (n_groups,) float64, the interval at `confidence`, in normalised weight;
        high is +inf for `truth_lower`.
      confidence: the probability, over the noise alone, that the interval covers what `covers` names.
      covers: what the interval covers. Truncation bias is outside of it.
      mechanism: the mechanism's name.
      epsilon: what this release spent, for all groups together.
      signal: (n_groups,) float64, the released value in multiples of what choosing its tau cost; below
        `CUT_SIGNAL` a larger tau could have added as much as the value itself. +inf where no choice was made.
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
