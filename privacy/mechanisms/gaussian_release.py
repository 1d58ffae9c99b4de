"""Gaussian noise for the exact release step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.errors import EntropyFailed
from privacy.mechanisms.gaussian_rung import GaussianRung


def gaussian_noise(index: NDArray[np.intp], rungs: Sequence[GaussianRung], entropy: Entropy) -> NDArray[np.int64]:
    """Draw Z, in steps, for each release.

    Args:
      index: (...) the rung of each release.
      rungs: the L rungs.
      entropy: where the noise comes from.
    Returns: (...) int64, discrete Gaussian of scale rungs[index].scale.
    Raises: EntropyFailed when the source returns something else than was asked for.
    Cost: one call per distinct scale; from 2^-10 up all rungs share one, as their steps grow with tau.
    """
    scale = np.array([rung.scale for rung in rungs])[index]
    noise = np.zeros(index.shape, np.int64)
    for distinct in np.unique(scale):
        here = scale == distinct
        noise[here] = drawn(entropy, float(distinct), int(here.sum()))
    return noise


def drawn(entropy: Entropy, scale: float, size: int) -> NDArray[np.int64]:
    """(size,) draws of one scale, checked. Raises: EntropyFailed."""
    draws = entropy.gaussian(scale, size)
    if draws.shape != (size,) or draws.dtype != np.int64:
        raise EntropyFailed("the noise source did not return the integers it was asked for")
    return draws
