"""A noisy search for an interval around a value that the rank asked for lies in."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacy.errors import EntropyFailed

STEP = 1 << 24
"""What a unit moves an offset by is so many steps of the search."""


@dataclass(frozen=True)
class WidthSearch:
    """A noisy binary search for how far from a value the rank that is asked for may lie.

    c(h) = min(offset(v + h), -offset(v - h - 1)), on the sides that are asked for; a side that leaves the grid is
    enough by itself. The value whose rank it is lies within h of v where c(h) >= 0. c grows with h, and moves by as
    much as the offsets do. Each of the comparisons of c(h) with a public margin has Laplace noise and spends an equal
    part of epsilon; h triples from 1: fewer comparisons make more of the budget than finer ones.

    Attributes:
      epsilon: of one search, over all groups of a unit.
      sensitivity: what the offsets of all groups of a unit move by at most, in steps, rounding to steps included.
      n_codes: D.
      missing: the chance that the rank lies outside of the result, by noise.
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
        """Of the noise of each comparison, in steps."""
        return float(self.sensitivity * self.comparisons / self.epsilon) * (1 + 2.0**-40)

    @property
    def margin(self) -> int:
        """What noise reaches in no comparison, but with probability `missing`.

        P(noise >= x) = a^x / (1 + a), a = exp(-1 / scale), for whole x.
        """
        once = self.comparisons / self.missing / (1 + math.exp(-1 / self.scale))
        return math.ceil(self.scale * max(0.0, math.log(once)))

    @property
    def _widths(self) -> int:
        return max(1, math.ceil(math.log(self.n_codes, 3)) + 1)

    def width(self, offset: Callable[[int], int], code: int, noise: NDArray[np.int64]) -> int:
        """The smallest h by noisy comparisons such that the rank lies within it.

        Args:
          offset: of each code, in steps, rounded down; it only grows.
          code: the value.
          noise: (comparisons,) draws at `scale`.
        Raises: EntropyFailed for another number of draws.
        """
        if len(noise) != self.comparisons:
            raise EntropyFailed("every comparison has its noise")
        low, high, turn = 0, self._widths, 0  # widths 3^low .. 3^high; the last one is the whole grid
        while low < high:
            middle = (low + high) // 2
            enough = self._enough(offset, code, 3**middle)
            if enough is None or enough + int(noise[turn]) >= self.margin:
                high = middle
            else:
                low = middle + 1
            turn += 1
        return int(3**low)

    def _enough(self, offset: Callable[[int], int], code: int, width: int) -> int | None:
        """c(h); None where every side that is asked for leaves the grid, which is public."""
        sides = []
        if self.above and code + width < self.n_codes - 1:
            sides.append(offset(code + width))
        if self.below and code - width > 0:
            sides.append(-offset(code - width - 1))
        return min(sides) if sides else None
