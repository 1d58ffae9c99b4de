"""The only type in this package that may leave the process: values that a mechanism released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Covers = Literal["released_sample", "truncated_full", "truth_lower"]
"""What an interval covers: the sampled answer, the truncated answer over all data, or a bound below the truth."""


@dataclass(frozen=True, eq=False)
class NoisyAnswer:
    """One release, one value per public group. Every field is safe to publish.

    Attributes:
      values: (n_groups,) float64 in normalised weight (multiply by W).
      tau: (n_groups,) float64, the contribution bound that was chosen, in normalised weight.
      noise_scale: (n_groups,) float64, the Laplace scale of the released value, in normalised weight.
      low, high: (n_groups,) float64, the interval at `confidence`, in normalised weight;
        high is +inf for `truth_lower`.
      confidence: the probability, over the noise alone, that the interval covers what `covers` names.
      covers: what the interval covers. Truncation bias is outside of it.
      mechanism: the mechanism's name.
      epsilon: what this release spent, for all groups together.
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
