"""A grid of groups: its axes, and every table of it that adds up over some of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter

MOST_AXES = 6
"""Axes of a grid: 64 tables, among which `best_shares` looks."""


@dataclass(frozen=True)
class Grid:
    """All combinations of the values of some axes.

    A marginal is the table of one subset of the axes, a bit mask: bit k stands for axis k, 0 for the total, and
    `whole` for the grid itself. Each cell of it is the sum of the grid's cells over the other axes.

    Attributes:
      sizes: how many values each axis has, each at least 1.
    """

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) > MOST_AXES or any(size < 1 for size in self.sizes):
            raise InvalidParameter(f"a grid has at most {MOST_AXES} axes, none of them empty")

    @property
    def whole(self) -> int:
        """The mask of all axes."""
        return (1 << len(self.sizes)) - 1

    @property
    def masks(self) -> range:
        """All subsets of the axes."""
        return range(1 << len(self.sizes))

    def axes(self, mask: int) -> list[int]:
        """The axes of a marginal, rising."""
        return [axis for axis in range(len(self.sizes)) if mask >> axis & 1]

    def shape(self, mask: int) -> tuple[int, ...]:
        """How many values each axis of a marginal has."""
        return tuple(self.sizes[axis] for axis in self.axes(mask))

    def cells(self, mask: int) -> int:
        """How many cells a marginal has."""
        return math.prod(self.shape(mask))

    def parts(self, mask: int) -> Iterator[int]:
        """The subsets of a marginal's axes, itself and the total included."""
        return (part for part in self.masks if part & mask == part)

    def interaction(self, part: int) -> float:
        """The squared length of a cell's own share in the pure interaction of some axes: prod (1 - 1 / n).

        What of a table no table by fewer of these axes says: it sums to 0 along each. 0 where an axis has one value.
        """
        return math.prod(1 - 1 / size for size in self.shape(part))

    @cached_property
    def information(self) -> NDArray[np.float64]:
        """(parts, masks): what a marginal measured with variance 1 per cell says of an interaction.

        Entry (S, A) is cells(S) / cells(A) for S within A: added up to the axes S, the noise of cells(A) / cells(S)
        cells lies in each. 0 elsewhere.
        """
        table = np.zeros((len(self.masks), len(self.masks)))
        for mask in self.masks:
            for part in self.parts(mask):
                table[part, mask] = self.cells(part) / self.cells(mask)
        return table

    @cached_property
    def needs(self) -> NDArray[np.float64]:
        """(masks, parts): how much of an interaction's variance ends in a cell of a marginal.

        Entry (B, S) is interaction(S) (cells(S) / cells(B))^2 for S within B.
        """
        table = np.zeros((len(self.masks), len(self.masks)))
        for mask in self.masks:
            for part in self.parts(mask):
                table[mask, part] = self.interaction(part) * (self.cells(part) / self.cells(mask)) ** 2
        return table

    def variances(self, noise: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variance of each marginal's cells, reconstructed by least squares from those that are measured.

        A table falls apart into interactions, each in the space of one subset of the axes; these spaces are
        orthogonal, and noise that is independent and alike in all cells of a table has uncorrelated parts in them.
        So the best linear unbiased estimate of an interaction is the mean of what each measured table says of it,
        weighted by the inverse of the variances, and errors of a table's interactions add up.
        Source: McKenna et al., HDMM (VLDB 2018), section 5.3; Xiao et al., ResidualPlanner (NeurIPS 2023).

        Args:
          noise: (masks,) the variance of a cell of each measured marginal; infinite where it is not measured.
        Returns: (masks,) variances; infinite where an interaction is measured by no table.
        """
        with np.errstate(divide="ignore"):
            spread = 1 / (self.information @ (1 / noise))
        needs = self.needs
        return np.asarray((needs * np.where(needs > 0, spread[None, :], 0.0)).sum(axis=1))
