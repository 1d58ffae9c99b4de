"""Noise that was written down: recorded from another source, or by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy

Draw = tuple[str, float, NDArray[np.int64]]
"""(kind, scale, draws), kind being `laplace`, `geometric` or `gaussian`."""


class RecordedEntropy:
    """Passes requests on and remembers what came back."""

    def __init__(self, source: Entropy) -> None:
        self._source = source
        self.draws: list[Draw] = []

    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        self.draws.append(("laplace", scale, self._source.laplace(scale, size)))
        return self.draws[-1][2]

    def geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        self.draws.append(("geometric", scale, self._source.geometric(scale, size)))
        return self.draws[-1][2]

    def gaussian(self, scale: float, size: int) -> NDArray[np.int64]:
        self.draws.append(("gaussian", scale, self._source.gaussian(scale, size)))
        return self.draws[-1][2]


class ReplayEntropy:
    """Returns recorded draws in order; a request that differs from the recorded one fails the test."""

    def __init__(self, draws: Sequence[Draw]) -> None:
        self._draws = list(draws)

    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        return self._next("laplace", scale, size)

    def geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        return self._next("geometric", scale, size)

    def gaussian(self, scale: float, size: int) -> NDArray[np.int64]:
        return self._next("gaussian", scale, size)

    def _next(self, kind: str, scale: float, size: int) -> NDArray[np.int64]:
        assert self._draws, f"no recorded draw is left for {kind}"
        recorded_kind, recorded_scale, draws = self._draws.pop(0)
        assert (kind, scale, size) == (recorded_kind, recorded_scale, len(draws))
        return draws.copy()


class ConstantEntropy:
    """Every draw is the same number: zero noise for golden values, or an adversary's choice."""

    def __init__(self, laplace: int = 0, geometric: int = 0, gaussian: int = 0) -> None:
        self._laplace = laplace
        self._geometric = geometric
        self._gaussian = gaussian

    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        return np.full(size, self._laplace, np.int64)

    def geometric(self, scale: float, size: int) -> NDArray[np.int64]:
        return np.full(size, self._geometric, np.int64)

    def gaussian(self, scale: float, size: int) -> NDArray[np.int64]:
        return np.full(size, self._gaussian, np.int64)
