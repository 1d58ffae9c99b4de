"""Noise for simulations: numpy's generator with a seed. Fast, repeatable, and never in production."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import check_scale


class SimulatedEntropy:
    """The distributions of Entropy up to float rounding, about fifty million draws a second."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        return self.geometric(scale, size) - self.geometric(scale, size)

    def geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        check_scale(scale)
        return np.floor(self._generator.exponential(scale, size)).astype(np.int64)

    def gaussian(self, scale: float, size: int) -> NDArray[np.int64]:
        check_scale(scale)
        if scale > 32:  # a rounded normal has a variance larger by 1/12
            return np.rint(self._generator.normal(0.0, scale, size)).astype(np.int64)
        reach = int(12 * scale) + 2
        x = np.arange(-reach, reach + 1)
        weights = np.exp(-0.5 * (x / scale) ** 2)
        return self._generator.choice(x, size, p=weights / weights.sum())
