"""Tables of a grid from those of it that were measured, by weighted least squares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.marginals.grid import Grid
from privacy.mechanisms.noise.noise_sums import NoiseSum


@dataclass(frozen=True)
class Reconstruction:
    """The best linear unbiased estimate of every marginal, from independent noisy ones.

    Post-processing of releases: nothing here can cost privacy. Unbiased where all measured tables are of one and the
    same grid of counts, each with nothing cut away and no row left out: the sums of one table's cells are then the
    cells of another, and their noises are all that parts them. Proof and sources in `Grid.variances`.

    Attributes:
      grid: the axes.
      scales: by mask, the scale of the Laplace noise of each cell of a measured marginal, > 0.
    """

    grid: Grid
    scales: Mapping[int, float]

    def __post_init__(self) -> None:
        if not all(mask in self.grid.masks and 0 < scale < np.inf for mask, scale in self.scales.items()):
            raise InvalidParameter("measured marginals are of the grid, and have noise")

    @cached_property
    def _noise(self) -> NDArray[np.float64]:
        """(masks,) variances of a cell."""
        noise = np.full(len(self.grid.masks), np.inf)
        for mask, scale in self.scales.items():
            noise[mask] = 2 * scale**2
        return noise

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """(masks,) of a cell of each marginal; infinite where it does not follow."""
        return self.grid.variances(self._noise)

    def follows(self, mask: int) -> bool:
        """Does a marginal follow from the measured ones?"""
        return bool(np.isfinite(self.variances[mask]))

    def weight(self, mask: int, part: int) -> float:
        """What a measured marginal counts for in the estimate of an interaction: its share of the precision."""
        told = self.grid.information[part] / self._noise
        return float(told[mask] / told.sum())

    def table(self, wished: int, measured: Mapping[int, NDArray[np.float64]]) -> NDArray[np.float64]:
        """A marginal.

        Args:
          wished: its mask.
          measured: by mask, each marginal that has a scale, as an array with one axis per axis of it, rising.
        Returns: an array of the wished marginal's shape.
        Raises: InvalidParameter for tables of other shapes, or where it does not follow.
        Cost: linear in the measured cells, times the subsets of the wished axes.
        """
        grid = self.grid
        if {mask: table.shape for mask, table in measured.items()} != {m: grid.shape(m) for m in self.scales}:
            raise InvalidParameter("every measured marginal has its table")
        if not self.follows(wished):
            raise InvalidParameter("the marginal does not follow from what is measured")
        total = np.zeros(grid.shape(wished))
        for part in grid.parts(wished):
            if grid.interaction(part) <= 0 and part:
                continue  # an axis of one value: what is by it is what is without it
            inside = np.zeros(grid.shape(part))
            for mask, table in measured.items():
                if part & mask == part:
                    inside = inside + self.weight(mask, part) * _interaction(grid, part, mask, table)
            axes = grid.axes(wished)
            spread = inside.reshape([grid.sizes[axis] if part >> axis & 1 else 1 for axis in axes])
            total = total + spread * (grid.cells(part) / grid.cells(wished))
        return total

    def noise(self, wished: int) -> NoiseSum:
        """The noise of a cell of a marginal, the same for all of them: of which law it is, but for steps.

        A measured cell enters with a weight that depends only on which axes it shares the cell's values on: there are
        so many kinds of cells, each with its number.
        """
        found = [(self._of(wished, mask), scale) for mask, scale in self.scales.items()]
        scales = np.concatenate([weights * scale for (weights, _), scale in found])
        return NoiseSum.counted(scales, np.concatenate([times for (_, times), _ in found]))

    def rounding(self, wished: int, step: float) -> float:
        """By how much a cell may be off where every measured one is off by a step at most."""
        found = (self._of(wished, mask) for mask in self.scales)
        return step * sum(float((np.abs(weights) * times).sum()) for weights, times in found)

    def _of(self, wished: int, mask: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights of a measured table's cells in a cell of the wished one, and how many cells have each."""
        grid = self.grid
        common = wished & mask
        weights, times = [], []
        for alike in grid.parts(common):
            weight = 0.0
            for part in grid.parts(common):
                if grid.interaction(part) <= 0 and part:
                    continue
                sign = np.prod([(alike >> axis & 1) - 1 / grid.sizes[axis] for axis in grid.axes(part)])
                weight += float(sign) * self.weight(mask, part) * grid.cells(part) / grid.cells(wished)
            others = np.prod([grid.sizes[axis] - 1.0 for axis in grid.axes(common & ~alike)])
            weights.append(weight)
            times.append(float(others) * grid.cells(mask & ~common))
        return np.array(weights), np.array(times)


def _interaction(grid: Grid, part: int, mask: int, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a table says of an interaction: added up to its axes, less the mean along each of them."""
    axes = grid.axes(mask)
    over = tuple(place for place, axis in enumerate(axes) if not part >> axis & 1)
    inside = np.asarray(table.sum(axis=over))
    for place in range(inside.ndim):
        inside = inside - inside.mean(axis=place, keepdims=True)
    return inside
