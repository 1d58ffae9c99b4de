"""Mechanisms with the mistakes that people make. An audit that lets one pass is worth nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.exact import exact_epsilon
from privacy.join_tuples import DistinctTuples
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.noise import ThresholdNoise, levels
from privacy.papers.r2t import R2T
from privacy.units import ONE


class WeakerNoise:
    """Noise of smaller scales than it was asked for."""

    def __init__(self, source: Entropy, laplace: float = 1.0, geometric: float = 1.0, gaussian: float = 1.0) -> None:
        self._source, self._laplace, self._geometric, self._gaussian = source, laplace, geometric, gaussian

    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        return self._source.laplace(scale * self._laplace, size)

    def geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        return self._source.geometric(scale * self._geometric, size)

    def gaussian(self, scale: float, size: int) -> NDArray[np.int64]:
        return self._source.gaussian(scale * self._gaussian, size)


class UnsplitGem(Gem):
    """Selection and release both spend everything."""

    def _budgets(self, n_groups: int) -> tuple[Fraction, tuple[Fraction, ...]]:
        return exact_epsilon(self.epsilon), (exact_epsilon(self.epsilon),) * len(self.thresholds)


class UnsplitR2T(R2T):
    """Every threshold spends everything."""

    def _levels(self, n_groups: int) -> tuple[ThresholdNoise, ...]:
        return levels(self.thresholds, self.gap, exact_epsilon(self.epsilon))


def plain_distinct_count(tuples: DistinctTuples) -> NDArray[np.int64]:
    """(1,) the number of distinct values, uncut: right at the threshold 1 only if no unit reaches two of them."""
    return np.array([len(np.unique(tuples.value[tuples.value >= 0])) * ONE], np.int64)
