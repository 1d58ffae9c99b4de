"""Samples for simulations: numpy's generator with a seed, repeatable, and never in production."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.sampling.draws import check_choice, check_draw
from tests.support.papers.choosing_draws import check_distinct


class SeededDraws:
    """The distributions of Draws."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def binomial(self, counts: NDArray[np.int64], rate: float) -> NDArray[np.int64]:
        check_draw(counts, rate)
        drawn: NDArray[np.int64] = self._generator.binomial(counts, rate)
        return drawn

    def uniform(self, things: int, size: int) -> NDArray[np.int64]:
        check_choice(things, size)
        return self._generator.integers(0, things, size)

    def choose(self, things: int, size: int) -> NDArray[np.int64]:
        check_distinct(things, size)
        return self._generator.choice(things, size, replace=False)


class ScriptedDraws:
    """Every draw is what was written down: all units of `kept` stay, and are what is chosen."""

    def __init__(self, kept: list[int]) -> None:
        self._kept = np.array(kept, np.int64)

    def binomial(self, counts: NDArray[np.int64], rate: float) -> NDArray[np.int64]:
        check_draw(counts, rate)
        return np.where(np.isin(np.arange(len(counts)), self._kept), counts, 0)

    def uniform(self, things: int, size: int) -> NDArray[np.int64]:
        check_choice(things, size)
        assert size == len(self._kept)
        assert (self._kept < things).all()
        return self._kept.copy()

    def choose(self, things: int, size: int) -> NDArray[np.int64]:
        check_distinct(things, size)
        return self.uniform(things, size)
