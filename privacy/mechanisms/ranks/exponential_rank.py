"""The exponential mechanism over the values of a public grid, by how far each rank is from the one asked for."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy, checked_geometric
from privacy.errors import InvalidParameter

MOST_CODES = 1 << 24
"""The largest grid: what is far from the rank is drawn with probability MOST_CODES e^-60 at most."""

FAR = 60.0
"""Values whose score is so many e-folds below the best one's count as that far."""

_POINT = 140
"""Weights are whole numbers of 2^-140: doubles in [e^-60, 1] are exact."""

POINT_BITS = 160
"""Of a number that decides a draw."""

_BITS = 16
_DRAWS = POINT_BITS // _BITS
_SCALE = 2.0**50

SLACK = 2.0**-25
"""What a draw may lose beyond its exact law, as an epsilon: twice the deviation of `uniform` from uniform, ten times
2^-34, and twice that of exp, 2^-46, with room."""


@dataclass(frozen=True, eq=False, repr=False)
class Ranks:
    """The offsets of one group's values from the rank that is asked for (`Rank`). Private.

    Attributes:
      codes: (r,) int64 distinct values in [0, n_codes), ascending.
      offsets: (r + 1,) int64, rising: that of the values below codes[i], down to codes[i - 1]; the last one is that
      of
        all rows. Below 2^62 in size.
      n_codes: D, the number of values of the public grid.
    """

    codes: NDArray[np.int64]
    offsets: NDArray[np.int64]
    n_codes: int

    def offset(self, code: int) -> int:
        """That of a value of the grid, or of -1."""
        return int(self.offsets[np.searchsorted(self.codes, code, side="right")])

    def draw(self, gamma: float, points: Iterator[int]) -> int:
        """`draw_code` by the next point."""
        return draw_code(self, gamma, next(points))

    def __repr__(self) -> str:
        return "Ranks(<private>)"


def uniform(entropy: Entropy, size: int) -> list[int]:
    """Whole numbers of `_BITS` * `_DRAWS` = 160 bits, each almost equally likely.

    The remainder of a geometric draw by 2^16 has probability proportional to a^r, a = exp(-2^-50): between 1 and
    1 - 2^-34 times as much, and so for each of ten of them.

    Raises: EntropyFailed.
    """
    draws = checked_geometric(entropy.geometric(_SCALE, size * _DRAWS), size * _DRAWS) & ((1 << _BITS) - 1)
    found = []
    for row in draws.reshape(size, _DRAWS).tolist():
        value = 0
        for part in row:
            value = value << _BITS | part
        found.append(value)
    return found


def weight_of(loss: float) -> int:
    """max(e^-loss, e^-60) as a whole number of 2^-140, for a loss >= 0."""
    return int(math.ldexp(math.exp(-min(loss, FAR)), _POINT))


def draw_code(ranks: Ranks, gamma: float, point: int) -> int:
    """A value v of the grid with probability proportional to exp(-gamma s(v)), its distance s(v) from the rank.

    s(v) = max(0, offset(v - 1), -offset(v)): 0 where the rank lies among the rows of v. All values between two rows'
    have one distance, and are drawn as one; so are those whose distance is 60 / gamma more than the smallest one,
    which count as that far.

    Privacy: where the offsets change so that s(v) moves by at most D for every v, the law changes by
    exp(2 gamma D) at most, and SLACK: with m the smallest distance, the weight max(e^(-gamma s), e^(-60 - gamma
    m)) of every value moves by a factor e^(gamma D), and so does their sum. Only the order of the rows and the gaps
    between them enter.

    Args:
      ranks: of one group.
      gamma: > 0, per unit of the offsets.
      point: from `uniform`.
    Cost: linear in the values that are less than 60 / gamma away, and a search for them.
    Source: McSherry and Talwar (FOCS 2007); for quantiles Smith (STOC 2011), algorithm 2.
    """
    codes, offsets, n_codes = ranks.codes, ranks.offsets, ranks.n_codes
    smallest = max(0, int(offsets[0]), -int(offsets[-1]))
    reach = min(int(FAR / gamma) + 1 + smallest, 1 << 62)
    # gap i lies below codes[i] at offset i; value i has the offsets i and i + 1
    low = int(np.searchsorted(offsets, -reach, side="left"))
    high = int(np.searchsorted(offsets, reach, side="right"))
    first, last = max(0, low - 1), min(len(codes), high)
    inside = codes[first:last]
    starts = np.empty(2 * len(inside) + 1, np.int64)
    distance = np.empty(2 * len(inside) + 1, np.int64)
    edge = int(codes[first - 1]) + 1 if first else 0
    starts[0], starts[1::2], starts[2::2] = edge, inside, inside + 1
    near = offsets[first : last + 1]
    distance[0::2] = np.abs(near)
    distance[1::2] = np.maximum(0, np.maximum(near[:-1], -near[1:]))
    end = int(codes[last]) if last < len(codes) else n_codes
    lengths = np.diff(starts, append=end)
    log = np.maximum(-gamma * (distance - smallest).astype(np.float64), -FAR)
    weights = [int(weight) for weight in np.ldexp(np.exp(log), _POINT).tolist()]
    far = n_codes - (end - edge)
    masses = [weight * length for weight, length in zip(weights, lengths.tolist(), strict=True)]
    masses.append(weight_of(FAR) * far)
    ends = list(itertools.accumulate(masses))
    drawn = ends[-1] * point >> POINT_BITS
    run = bisect_right(ends, drawn)
    within = drawn - (ends[run - 1] if run else 0)
    if run == len(weights):
        place = int(within * far // masses[-1])
        return place if place < edge else place + (end - edge)
    return int(starts[run]) + int(within // weights[run])


def check_codes(n_codes: int) -> None:
    """Refuse a grid that is too fine. Raises: InvalidParameter."""
    if not 1 <= n_codes <= MOST_CODES:
        raise InvalidParameter("a grid has between one and 2^24 values")
