"""Noise of wrong shapes, which every release refuses, and answers that are tabulated."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from privacy.thresholds import Thresholds
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
def poisson_contributions() -> NDArray[np.int64]:
    """Of 10,000 people, around 15."""
    return np.random.default_rng(0).poisson(15, 10_000)


def poisson_answer(
    thresholds: Thresholds, groups: int = 1, gap: float = 0.0, people: int = 10_000
) -> TabulatedAnswer:
    """So many of those people, one owner per tuple, the same in every group."""
    table = np.minimum(poisson_contributions()[:people, None] * ONE, thresholds.units).sum(axis=0)
    return TabulatedAnswer(np.broadcast_to(table, (groups, len(thresholds))), thresholds, gap)


def answer_of(thresholds: Thresholds, values: list[int], gap: float = 0.0) -> TabulatedAnswer:
    """These values at a ladder's only threshold."""
    return TabulatedAnswer(np.array(values, np.int64)[:, None] * ONE, thresholds, gap)
