"""The answer of a release in which all groups share one threshold and one scale of Gaussian noise."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from privacy.mechanisms.vector.vector_grid import VectorGrid
from privacy.noisy_answer import NoisyAnswer

TAIL = 0.01
"""The part of an interval's error that is left for its noise being larger than stated."""

_PRICE = 0.4
"""Per removed person and tau. Doubling tau adds at most 2 tau E to the truncated answer (`removal_price`), which is
then five prices, as `WEAK_SIGNAL` has it."""


def reach(sigma: float, confidence: float) -> float:
    """How far Gaussian noise of `sigma` is from 0 at most, in its unit, with probability `confidence` + `TAIL`."""
    return sigma * float(special.ndtri(1 - (1 - confidence - TAIL) / 2)) * (1 + 2.0**-30)


def vector_answer(
    values: NDArray[np.float64],
    grid: VectorGrid,
    sigma: float,
    persons: float,
    confidence: float,
    spent: tuple[str, float, float],
) -> NoisyAnswer:
    """Dress released values.

    With the shares s of the people removed at tau, what a larger threshold adds to the sums is a vector of length
    at most sum_u s_u |x_u|, x_u what u has there: z' - z <= z' sum_u s_u. So doubling tau adds at most 2 tau E.

    Args:
      values: (d,) released.
      grid: at the threshold that was taken.
      sigma: of the noise in multiples of 2 tau, or a public bound that it exceeds with probability `TAIL` at most.
      persons: a public bound on the number of people removed.
      confidence: of the intervals.
      spent: the mechanism's name, epsilon and delta.
    Returns: all public.
    """
    name, epsilon, delta = spent
    noise = 2 * grid.tau * sigma
    half = reach(noise, confidence)
    size = grid.dimension
    return NoisyAnswer(
        values=values,
        tau=np.full(size, grid.tau),
        noise_scale=np.full(size, noise),
        low=values - half,
        high=values + half + grid.step_weight,
        confidence=confidence,
        covers="truncated_full",
        mechanism=name,
        epsilon=epsilon,
        signal=np.maximum(values, 0.0) / (_PRICE * max(1.0, persons) * grid.tau),
        delta=delta,
        noise="gaussian",
    )


def no_answer(tau: float, dimension: int, confidence: float, spent: tuple[str, float, float]) -> NoisyAnswer:
    """What is said when no threshold was taken, which on any data needs noise of a millionth of all runs and less.

    It reads no data: zeros, with intervals that exclude nothing.
    """
    name, epsilon, delta = spent
    nothing = np.zeros(dimension)
    return NoisyAnswer(
        values=nothing,
        tau=np.full(dimension, tau),
        noise_scale=np.full(dimension, math.inf),
        low=nothing.copy(),
        high=np.full(dimension, math.inf),
        confidence=confidence,
        covers="truncated_full",
        mechanism=name,
        epsilon=epsilon,
        signal=nothing.copy(),
        delta=delta,
        noise="gaussian",
    )
