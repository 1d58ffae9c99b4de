"""The exponential mechanism over the values of a public grid, by how far each rank is from the one asked for."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy, checked_geometric
from privacy.errors import EntropyFailed, InvalidParameter

TAU = 1 << 24
"""What one privacy unit weighs at most, in units of weight: a row weighs TAU / tau."""

MOST_CODES = 1 << 24
"""The largest grid: what is far from the rank is drawn with probability MOST_CODES e^-60 at most."""

_FAR = 60.0
"""Values whose score is so many e-folds below the best one's count as that far."""

_POINT = 140
"""Weights are whole numbers of 2^-140: doubles in [e^-60, 1] are exact."""

_BITS, _DRAWS = 20, 8
_SCALE = 2.0**50

SLACK = 2.0**-25
"""What a draw may lose beyond its exact law, as an epsilon: twice the deviation of `uniform` from uniform, 8 * 2^-30,
and twice that of exp, 2^-46, with room."""


@dataclass(frozen=True, eq=False, repr=False)
class Ranks:
    """The weights of one group's rows by value. Private.

    Attributes:
      codes: (r,) int64 distinct values in [0, n_codes), ascending.
      levels: (r + 1,) int64: the weight of the rows below codes[i]; the last one is that of all rows.
      n_codes: D, the number of values of the public grid.
    """

    codes: NDArray[np.int64]
    levels: NDArray[np.int64]
    n_codes: int

    @property
    def total(self) -> int:
        """The weight of all rows."""
        return int(self.levels[-1])

    def up_to(self, code: int) -> int:
        """The weight of the rows at a value or below it."""
        return int(self.levels[np.searchsorted(self.codes, code, side="right")])

    def __repr__(self) -> str:
        return "Ranks(<private>)"


def uniform(entropy: Entropy, size: int) -> list[int]:
    """Whole numbers of `_BITS` * `_DRAWS` = 160 bits, each almost equally likely.

    The remainder of a geometric draw by 2^20 has probability proportional to a^r, a = exp(-2^-50): between 1 and
    1 - 2^-30 times as much, and so for each of eight of them.

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


def draw_code(ranks: Ranks, target: int, gamma: float, point: int) -> int:
    """A value v of the grid with probability proportional to exp(-gamma s(v)), its distance s(v) from the target.

    s(v) = max(0, A(< v) - target, target - A(<= v)): 0 where the target lies among the rows of v. All values between
    two rows' have one distance, and are drawn as one; so are those whose distance is 60 / gamma more than the
    smallest one, which count as that far.

    Privacy: where A(< v), A(<= v) and the target change so that s(v) moves by at most D for every v, the law changes
    by exp(2 gamma D) at most, and SLACK: with m the smallest distance, the weight max(e^(-gamma s), e^(-60 - gamma
    m)) of every value moves by a factor e^(gamma D), and so does their sum. Only the order of the rows and the gaps
    between them enter.

    Args:
      ranks: of one group.
      target: the weight that should lie below.
      gamma: > 0, per unit of weight.
      point: from `uniform`.
    Cost: linear in the values that are less than 60 / gamma away, and a search for them.
    Source: McSherry and Talwar (FOCS 2007); for quantiles Smith (STOC 2011), algorithm 2.
    """
    codes, levels, n_codes = ranks.codes, ranks.levels, ranks.n_codes
    smallest = _smallest(levels, target)
    reach = min(int(_FAR / gamma) + 1 + smallest, 1 << 62)
    # gap i lies below codes[i] at level i; value i has the levels i and i + 1
    low = int(np.searchsorted(levels, target - reach, side="left"))
    high = int(np.searchsorted(levels, target + reach, side="right"))
    first, last = max(0, low - 1), min(len(codes), high)
    inside = codes[first:last]
    starts = np.empty(2 * len(inside) + 1, np.int64)
    distance = np.empty(2 * len(inside) + 1, np.int64)
    edge = int(codes[first - 1]) + 1 if first else 0
    starts[0], starts[1::2], starts[2::2] = edge, inside, inside + 1
    near = levels[first : last + 1]
    distance[0::2] = np.abs(near - target)
    distance[1::2] = np.maximum(0, np.maximum(near[:-1] - target, target - near[1:]))
    end = int(codes[last]) if last < len(codes) else n_codes
    lengths = np.diff(starts, append=end)
    log = np.maximum(-gamma * (distance - smallest).astype(np.float64), -_FAR)
    weights = [int(weight) for weight in np.ldexp(np.exp(log), _POINT).tolist()]
    far = n_codes - (end - edge)
    masses = [weight * length for weight, length in zip(weights, lengths.tolist(), strict=True)]
    masses.append(int(math.ldexp(math.exp(-_FAR), _POINT)) * far)
    ends = list(itertools.accumulate(masses))
    drawn = ends[-1] * point >> _BITS * _DRAWS
    run = bisect_right(ends, drawn)
    within = drawn - (ends[run - 1] if run else 0)
    if run == len(weights):
        place = int(within * far // masses[-1])
        return place if place < edge else place + (end - edge)
    return int(starts[run]) + int(within // weights[run])


def _smallest(levels: NDArray[np.int64], target: int) -> int:
    """The smallest distance of any value: 0 where the target lies between nothing and all rows."""
    return max(0, -target, target - int(levels[-1]))


@dataclass(frozen=True)
class WidthSearch:
    """A noisy binary search for how far from a value as many rows lie as its rank may be off, on either side.

    c(h) = the smaller of the weights of the rows within h above a value and within h below it, on the sides that are
    asked for; a side that leaves the grid is enough by itself. It grows with h, and moves by as much as rows do.
    Each of the comparisons of c(h) with a public number has Laplace noise and spends an equal part of epsilon; h
    triples from 1: fewer comparisons make more of the budget than finer ones.

    Attributes:
      epsilon: of one search, over all groups of a unit.
      sensitivity: what a unit's change in all groups adds up to at most, in units of weight.
      n_codes: D.
      missing: the chance that fewer rows lie within the result than asked for, by noise.
      above, below: which sides are asked for.
    """

    epsilon: Fraction
    sensitivity: int
    n_codes: int
    missing: float
    above: bool = True
    below: bool = True

    @property
    def comparisons(self) -> int:
        """How many noisy comparisons there are."""
        return max(1, math.ceil(math.log2(self._widths + 1)))

    @property
    def scale(self) -> float:
        """Of the noise of each comparison, in units of weight."""
        return float(self.sensitivity * self.comparisons / self.epsilon) * (1 + 2.0**-40)

    @property
    def margin(self) -> int:
        """What noise exceeds in no comparison, but with probability `missing`."""
        return math.ceil(self.scale * math.log(self.comparisons / self.missing))

    @property
    def _widths(self) -> int:
        return max(1, math.ceil(math.log(self.n_codes, 3)) + 1)

    def width(self, ranks: Ranks, code: int, rows: int, noise: NDArray[np.int64]) -> int:
        """The smallest h by noisy comparisons such that a weight of `rows` lies within it on either side.

        Args:
          ranks: of the group.
          code: the value.
          rows: the weight by which its rank may be off.
          noise: (comparisons,) draws at `scale`.
        Raises: EntropyFailed for another number of draws.
        """
        if len(noise) != self.comparisons:
            raise EntropyFailed("every comparison has its noise")
        low, high, turn = 0, self._widths, 0  # widths 3^low .. 3^high; the last one is the whole grid
        while low < high:
            middle = (low + high) // 2
            enough = self._enough(ranks, code, 3**middle)
            if enough is None or enough + int(noise[turn]) >= rows + self.margin:
                high = middle
            else:
                low = middle + 1
            turn += 1
        return int(3**low)

    def _enough(self, ranks: Ranks, code: int, width: int) -> int | None:
        """c(h); None where every side that is asked for leaves the grid, which is public."""
        sides = []
        if self.above and code + width < ranks.n_codes - 1:
            sides.append(ranks.up_to(code + width) - ranks.up_to(code))
        if self.below and code - width > 0:
            sides.append(ranks.up_to(code - 1) - ranks.up_to(code - width - 1))
        return min(sides) if sides else None


def check_codes(n_codes: int) -> None:
    """Refuse a grid that is too fine. Raises: InvalidParameter."""
    if not 1 <= n_codes <= MOST_CODES:
        raise InvalidParameter("a grid has between one and 2^24 values")
