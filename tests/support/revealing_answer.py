"""A truncated answer that knows little until it is asked, and counts how often it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.thresholds import Thresholds


class RevealingAnswer:
    """Values hidden between bounds that somebody else chose; a solve reveals one cell and nothing more."""

    def __init__(
        self,
        values: NDArray[np.int64],
        thresholds: Thresholds,
        lower: NDArray[np.int64],
        upper: NDArray[np.int64],
        gap: float = 0.0,
    ) -> None:
        assert ((lower <= values) & (values <= upper)).all()
        self._values, self._lower, self._upper = values, lower.copy(), upper.copy()
        self.thresholds, self.gap = thresholds, gap
        self.solved: list[tuple[int, int]] = []

    @property
    def n_groups(self) -> int:
        return len(self._values)

    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self._lower.copy(), self._upper.copy()

    def sharpen(self, group: int, index: int) -> None:
        self.solve(group, index)

    def solve(self, group: int, index: int) -> int:
        self.solved.append((group, index))
        value = int(self._values[group, index])
        self._lower[group, index] = self._upper[group, index] = value
        return value
