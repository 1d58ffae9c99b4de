"""Noise of wrong shapes, which every release refuses, and answers that are tabulated."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from privacy.ladder import Ladder
from privacy.truncation.truncated_answer import TabulatedAnswer
from privacy.units import ONE


class ShortEntropy:
    """One draw too few."""

    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        return np.zeros(size - 1, np.int64)

    geometric = gaussian = laplace


class FloatEntropy(ShortEntropy):
    """As many as asked, of floats."""

    def laplace(self, scale: float, size: int) -> NDArray[np.int64]:
        return np.zeros(size)  # type: ignore[return-value]


@cache
def poisson_loads() -> NDArray[np.int64]:
    """Of 10,000 people, around 15."""
    return np.random.default_rng(0).poisson(15, 10_000)


def poisson_answer(ladder: Ladder, groups: int = 1, gap: float = 0.0, people: int = 10_000) -> TabulatedAnswer:
    """So many of those people, one owner per tuple, the same in every group."""
    table = np.minimum(poisson_loads()[:people, None] * ONE, ladder.units).sum(axis=0)
    return TabulatedAnswer(np.broadcast_to(table, (groups, len(ladder))), ladder, gap)


def answer_of(ladder: Ladder, values: list[int], gap: float = 0.0) -> TabulatedAnswer:
    """These values at a ladder's only threshold."""
    return TabulatedAnswer(np.array(values, np.int64)[:, None] * ONE, ladder, gap)
