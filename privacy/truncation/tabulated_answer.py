"""Truncated values that are all known: closed forms, and tables that tests write down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.ladder import Ladder


@dataclass(frozen=True, eq=False, repr=False)
class TabulatedAnswer:
    """A TruncatedAnswer with every value at hand.

    Attributes:
      values: (G, L) int64 units of 2^-30, in [0, MAX_UNITS], non-decreasing along the ladder.
      ladder: the L thresholds.
      gap: eta that the values were made with.
      exceedances: (G, L) int64, how many units have more than each threshold, of tuples of one owner; None: unknown.
    """

    values: NDArray[np.int64]
    ladder: Ladder
    gap: float = 0.0
    exceedances: NDArray[np.int64] | None = None

    @property
    def n_groups(self) -> int:
        """Number of public groups."""
        return len(self.values)

    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The values twice: nothing is unknown."""
        return self.values, self.values

    def sharpen(self, group: int, index: int) -> None:
        """Tighten the bounds of one cell: nothing is left to learn, as every value is known."""

    def solve(self, group: int, index: int) -> int:
        """The value of one cell."""
        return int(self.values[group, index])

    def __repr__(self) -> str:
        return "TabulatedAnswer(<private>)"
