"""gem in floats with every knob, some of which the mechanism does not have; for tuning only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Selection = Literal["noisy minimum", "exponential"]
Divisor = Literal["larger", "sum"]


@dataclass(frozen=True)
class Knobs:
    """What may be chosen without looking at data.

    Attributes:
      split: eps_1 / epsilon, the share of the selection.
      beta: in t = 2 ln(L / beta) / eps_1.
      rarity: of a doubling too far; None for the published scores.
      growth: of the logarithm of the rarity with each further doubling.
      c: how many noise scales count.
      base: of the ladder.
      selection: one-sided noise on scores (which has the distribution of permute-and-flip; in integers it is what
        `privacy.mechanisms.scores` draws), or the exponential mechanism by Gumbel noise.
      divisor: of scores: the larger of two sensitivities, or their sum as published.
    """

    split: float
    beta: float
    rarity: float | None
    c: float = 1.0
    base: float = 2.0
    selection: Selection = "noisy minimum"
    divisor: Divisor = "larger"
    growth: float = 0.0


_SPLITS = (0.4, 0.5, 0.6)
_COSTS = (0.0, 1.0)
_BASES = (math.sqrt(2), 2.0, 4.0)
_SELECTIONS: tuple[Selection, ...] = ("noisy minimum", "exponential")
_DIVISORS: tuple[Divisor, ...] = ("larger", "sum")
_SCORES: tuple[tuple[float, float | None, float], ...] = (
    *product((1e-3, 1e-2), (None,), (0.0,)),
    *product((1e-3,), (4.0,), (0.0,)),
    *product((1e-6,), (3.5, 4.0), (0.1, 0.5)),
)

GRID = [
    Knobs(split, beta, rarity, c, base, selection, divisor, growth)
    for split, (beta, rarity, growth), c, base, selection, divisor in product(
        _SPLITS, _SCORES, _COSTS, _BASES, _SELECTIONS, _DIVISORS
    )
]
"""The published scores, ours, and ours of before. Larger beta and smaller rarity are left out: they err by 100% too
often."""


def thresholds(base: float, low: int = 0, high: int = 32) -> NDArray[np.float64]:
    """(L,) thresholds base^i from 2^low to 2^high."""
    steps = round((high - low) / math.log2(base))
    return np.asarray(2.0**low * base ** np.arange(steps + 1))


def errors(
    values: NDArray[np.float64],
    taus: NDArray[np.float64],
    truth: float,
    epsilon: float,
    knobs: Knobs,
    noise: Noise,
) -> NDArray[np.float64]:
    """(runs,) relative errors of independent releases.

    Args:
      values: (L,) truncated answers at `taus`.
      noise: draws of scale 1, shared by all knobs, so that they are compared on the same ones.
    """
    selecting = knobs.split * epsilon
    releasing = epsilon - selecting
    farthest = math.log(len(taus) / knobs.beta)
    level = np.arange(len(taus))
    doublings = (level[:, None] - level[None, :]) * math.log2(knobs.base)
    apart = taus[:, None] - taus[None, :]
    pair = np.add.outer(taus, taus) if knobs.divisor == "sum" else np.maximum.outer(taus, taus)
    if knobs.rarity is None:
        margin = farthest * apart / pair
    else:
        apart_by = np.abs(doublings)
        rare = apart_by * math.log(knobs.rarity) + knobs.growth * np.maximum(apart_by - 1, 0) ** 2 / 2
        margin = np.sign(doublings) * np.minimum(rare, farthest)
    lead = (values[None, :] - values[:, None] + knobs.c / releasing * apart) / pair
    scores = np.maximum((lead + 2 / selecting * margin).max(axis=1), 0.0)
    drawn = noise.one_sided if knobs.selection == "noisy minimum" else noise.gumbel
    chosen = np.argmin(scores - drawn[:, : len(taus)] * (2 / selecting), axis=1)
    released = values[chosen] + noise.laplace * taus[chosen] / releasing
    relative: NDArray[np.float64] = np.abs(released - truth) / truth
    return relative


@dataclass(frozen=True, eq=False)
class Noise:
    """Draws of scale 1.

    Attributes:
      one_sided, gumbel: (runs, thresholds).
      laplace: (runs,).
    """

    one_sided: NDArray[np.float64]
    gumbel: NDArray[np.float64]
    laplace: NDArray[np.float64]

    @classmethod
    def drawn(cls, runs: int, thresholds: int) -> Noise:
        """Repeatable draws."""
        generator = np.random.default_rng(15)
        shape = runs, thresholds
        return cls(generator.exponential(size=shape), generator.gumbel(size=shape), generator.laplace(size=runs))
