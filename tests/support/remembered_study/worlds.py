"""Thirty daily versions of a question's data: what each privacy unit adds, day by day."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.ladder import Ladder
from privacy.units import ONE

DAYS = 30
SHIFT_DAY = 11
GROWTH, SHRINKING, SHIFT = 1.01, 0.97, 8.0
WAVERING = 0.03

Loads = NDArray[np.float64]
"""(n,) what each unit adds, >= 0, in normalised weight."""


@dataclass(frozen=True, eq=False)
class World:
    """What truncation leaves of a sum on every day.

    Attributes:
      ladder: the thresholds.
      values: (days, G, L) int64 units of 2^-30, of the sum of every group.
      truth: (days, G) the sums themselves.
    """

    ladder: Ladder
    values: NDArray[np.int64]
    truth: NDArray[np.float64]

    @classmethod
    def of(cls, days: Sequence[Sequence[Loads]], low: int = 0) -> World:
        """Of loads per day and group, each of one owner's tuples."""
        ladder = Ladder(low=low)
        values = np.array([[_truncated(loads, ladder) for loads in groups] for groups in days])
        return cls(ladder, values, np.array([[float(loads.sum()) for loads in groups] for groups in days]))


def _truncated(loads: Loads, ladder: Ladder) -> NDArray[np.int64]:
    """(L,) sum_u min(tau, load_u)."""
    ordered = np.sort(np.floor(loads * ONE)).astype(np.int64)
    below = np.searchsorted(ordered, ladder.units)
    sums = np.concatenate(([0], np.cumsum(ordered)))
    # Ladders end above all loads: there is nobody to multiply the largest thresholds with.
    return np.asarray(sums[below] + ladder.units * (len(ordered) - below))


Change = Callable[[Loads, int, np.random.Generator], Loads]


def stable(loads: Loads, day: int, rng: np.random.Generator) -> Loads:
    """The same every day."""
    return loads


def growing(loads: Loads, day: int, rng: np.random.Generator) -> Loads:
    """One per cent more units each day, of the same kind."""
    return _resized(loads, GROWTH**day)


def shrinking(loads: Loads, day: int, rng: np.random.Generator) -> Loads:
    """Three per cent less each day."""
    return _resized(loads, SHRINKING**day)


def wavering(loads: Loads, day: int, rng: np.random.Generator) -> Loads:
    """Three per cent more or less, at random."""
    return _resized(loads, float(np.exp(rng.normal(0.0, WAVERING))))


def shifting_up(loads: Loads, day: int, rng: np.random.Generator) -> Loads:
    """From one day on everybody has eight times as much."""
    return loads * SHIFT if day >= SHIFT_DAY else loads


def shifting_down(loads: Loads, day: int, rng: np.random.Generator) -> Loads:
    """From one day on everybody has an eighth of it."""
    return np.maximum(np.floor(loads / SHIFT), np.minimum(loads, 1.0)) if day >= SHIFT_DAY else loads


CHANGES: dict[str, Change] = {
    one.__name__.replace("_", " "): one for one in (stable, growing, shrinking, wavering, shifting_up, shifting_down)
}


def _resized(loads: Loads, size: float) -> Loads:
    """So many times as many units: the first of an endless repetition of a shuffled order."""
    order = np.random.default_rng(17).permutation(len(loads))
    count = round(size * len(loads))
    return loads[order][np.arange(count) % len(loads)]


def daily(loads: Sequence[Loads], change: Change, low: int = 0, seed: int = 5) -> World:
    """Thirty days of groups of loads under a change."""
    rng = np.random.default_rng(seed)
    if change is wavering:  # all groups waver alike
        days = [[wavering(one, day, np.random.default_rng((seed, day))) for one in loads] for day in range(DAYS)]
    else:
        days = [[change(one, day, rng) for one in loads] for day in range(DAYS)]
    return World.of(days, low)
