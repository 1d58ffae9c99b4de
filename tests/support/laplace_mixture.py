"""The exact loss between two mixtures of Laplace densities of one scale: what a draw and its noise do together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Mixture = Sequence[tuple[float, float]]
"""(probability, centre) of each part."""


def mixture_loss(first: Mixture, second: Mixture, scale: float) -> float:
    """max over outputs z and both directions of the log density ratio.

    Between two centres each density is A exp(z / b) + B exp(-z / b), so the ratio is a Moebius function of
    exp(2 z / b) and monotone: its extremes are at the centres, beyond which it is constant.
    """
    centres = np.array([centre for _, centre in (*first, *second)])
    ratio = _log_density(first, centres, scale) - _log_density(second, centres, scale)
    return float(np.abs(ratio).max())


def _log_density(mixture: Mixture, at: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    parts = [
        math.log(probability) - np.abs(at - centre) / scale for probability, centre in mixture if probability > 0
    ]
    total: NDArray[np.float64] = np.logaddexp.reduce(np.array(parts), axis=0)
    return total
