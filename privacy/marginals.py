"""Counts of one grid by every subset of its keys: which tables to measure, and all tables from the measured ones.

A grid has axes, and a table for every subset of them. Before noise is drawn: the shares of one epsilon with which the
wished tables are known best. Afterwards: all tables by weighted least squares. No private value enters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from privacy.errors import InvalidParameter
from privacy.mechanisms.noise_sums import NoiseSum
from privacy.units import Bools, Floats


@dataclass(frozen=True)
class Reconstruction:
    """The best linear unbiased estimate of every marginal, from independent noisy ones.

    It is post-processing of releases. It is unbiased if all measured tables are of the same grid of counts, without
    clipping and left-out rows: sums of one table's cells are then the cells of another, but for noise. Proof and
    sources in `Grid.variances`.

    Attributes:
      grid: the axes.
      scales: by mask, the scale of the Laplace noise of each cell of a measured marginal, > 0.
    """

    grid: Grid
    scales: Mapping[int, float]

    def __post_init__(self) -> None:
        if not all(mask in self.grid.masks and 0 < scale < np.inf for mask, scale in self.scales.items()):
            raise InvalidParameter("measured marginals must belong to the grid, with a noise above 0")

    @cached_property
    def _noise(self) -> Floats:
        """(masks,) the variance of a cell."""
        noise = np.full(len(self.grid.masks), np.inf)
        for mask, scale in self.scales.items():
            noise[mask] = 2 * scale**2
        return noise

    @cached_property
    def variances(self) -> Floats:
        """(masks,) the variance of a cell of each marginal; infinite if it cannot be derived."""
        return self.grid.variances(self._noise)

    def follows(self, mask: int) -> bool:
        """Whether a marginal can be derived from the measured ones."""
        return bool(np.isfinite(self.variances[mask]))

    def weight(self, mask: int, part: int) -> float:
        """A measured marginal's share of the precision in the estimate of an interaction."""
        precision = self.grid.information[part] / self._noise
        return float(precision[mask] / precision.sum())

    def table(self, wished: int, measured: Mapping[int, Floats]) -> Floats:
        """A marginal.

        Args:
          wished: its mask.
          measured: by mask, each measured marginal as an array with one axis per axis of it, rising.
        Returns: an array of the wished marginal's shape.
        Raises: InvalidParameter for tables of other shapes, or if it cannot be derived.
        Cost: linear in the measured cells, times the subsets of the wished axes.
        """
        grid = self.grid
        if {mask: table.shape for mask, table in measured.items()} != {m: grid.shape(m) for m in self.scales}:
            raise InvalidParameter("a table is missing for a measured marginal")
        if not self.follows(wished):
            raise InvalidParameter("the marginal cannot be derived from the measured ones")
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
        """The noise of a cell of a marginal, the same for all of them, without the rounding to steps.

        A measured cell's weight depends only on the axes on which it shares the cell's values. So there are few kinds
        of cells, each with its number.
        """
        found = [(self._of(wished, mask), scale) for mask, scale in self.scales.items()]
        scales = np.concatenate([weights * scale for (weights, _), scale in found])
        return NoiseSum.counted(scales, np.concatenate([times for (_, times), _ in found]))

    def rounding(self, wished: int, step: float) -> float:
        """By how much a cell may be off if every measured one is off by a step at most."""
        found = (self._of(wished, mask) for mask in self.scales)
        return step * sum(float((np.abs(weights) * times).sum()) for weights, times in found)

    def _of(self, wished: int, mask: int) -> tuple[Floats, Floats]:
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


def _interaction(grid: Grid, part: int, mask: int, table: Floats) -> Floats:
    """A table's estimate of an interaction: added up to its axes, less the mean along each of them."""
    axes = grid.axes(mask)
    over = tuple(place for place, axis in enumerate(axes) if not part >> axis & 1)
    inside = np.asarray(table.sum(axis=over))
    for place in range(inside.ndim):
        inside = inside - inside.mean(axis=place, keepdims=True)
    return inside


MOST_AXES = 6
"""The most axes of a grid: `best_shares` then looks at 64 tables."""


@dataclass(frozen=True)
class Grid:
    """All combinations of the values of some axes.

    A marginal is the table of one subset of the axes, a bit mask: bit k stands for axis k, 0 for the total, and
    `whole` for the grid itself. Each of its cells is the sum of the grid's cells over the other axes.

    Attributes:
      sizes: how many values each axis has, each at least 1.
    """

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) > MOST_AXES or any(size < 1 for size in self.sizes):
            raise InvalidParameter(f"a grid must have at most {MOST_AXES} columns, each with a value")

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
        """prod (1 - 1 / n): the squared length of a cell's own share in the pure interaction of some axes.

        The interaction is what no table by fewer of these axes tells; it sums to 0 along each. 0 if an axis has one
        value.
        """
        return math.prod(1 - 1 / size for size in self.shape(part))

    @cached_property
    def information(self) -> Floats:
        """(parts, masks): the precision that a marginal measured with variance 1 per cell gives to an interaction.

        Entry (S, A) is cells(S) / cells(A) for S within A: added up to the axes S, each cell has the noise of
        cells(A) / cells(S) cells. 0 elsewhere.
        """
        table = np.zeros((len(self.masks), len(self.masks)))
        for mask in self.masks:
            for part in self.parts(mask):
                table[part, mask] = self.cells(part) / self.cells(mask)
        return table

    @cached_property
    def needs(self) -> Floats:
        """(masks, parts): how much of an interaction's variance enters a cell of a marginal.

        Entry (B, S) is interaction(S) (cells(S) / cells(B))^2 for S within B.
        """
        table = np.zeros((len(self.masks), len(self.masks)))
        for mask in self.masks:
            for part in self.parts(mask):
                table[mask, part] = self.interaction(part) * (self.cells(part) / self.cells(mask)) ** 2
        return table

    def variances(self, noise: Floats) -> Floats:
        """The variance of each marginal's cells, reconstructed by least squares from the measured ones.

        A table is a sum of interactions, each in the space of one subset of the axes. These spaces are orthogonal,
        and independent equal noise in all cells of a table has uncorrelated parts in them. So the best linear
        unbiased estimate of an interaction is the mean of the measured tables' estimates, weighted by inverse
        variances. Errors of a table's interactions add up.
        Source: McKenna et al., HDMM (VLDB 2018), section 5.3; Xiao et al., ResidualPlanner (NeurIPS 2023).

        Args:
          noise: (masks,) the variance of a cell of each measured marginal; infinite if it is not measured.
        Returns: (masks,) variances; infinite if no table measures an interaction.
        """
        with np.errstate(divide="ignore"):
            spread = 1 / (self.information @ (1 / noise))
        needs = self.needs
        return np.asarray((needs * np.where(needs > 0, spread[None, :], 0.0)).sum(axis=1))


PARTS = 1000
"""Shares are whole multiples of 1 / PARTS, so that the same workload has the same shares on every machine."""

_LEAST = 0.005
"""A smaller share is given to the others, as it gains next to nothing."""

_STEPS = 200
_TINY = 1e-12
_SPARE = 0.01
"""By how much a variance may exceed its limit, since shares are rounded."""


@dataclass(frozen=True)
class Strategy:
    """Shares of epsilon by marginal.

    Attributes:
      shares: by mask, of the measured ones, > 0; together at most 1.
      mean, worst: of the wished marginals' variances in multiples of their limits: the mean over all cells, and the
        largest.
      variances: (masks,) of a cell of each marginal by least squares, at an epsilon of 1 for all of them.
    """

    shares: Mapping[int, float]
    mean: float
    worst: float
    variances: Floats


def best_shares(grid: Grid, scales: Floats, wished: Mapping[int, float], most: float | None = 1.0) -> Strategy:
    """The shares with which the wished marginals are known best, each compared with its own limit.

    Every marginal is released with Laplace noise for what one unit adds to it, so epsilons add up. Marginal A with
    epsilon e has noise of scale scales[A] / e in all its cells. The goal is the least mean of the compared variances
    over all cells, as in HDMM's marginals strategies (OPT_M) under pure privacy. But no marginal may exceed `most`:
    otherwise a total of a thousand groups, which counts for one cell, would be sacrificed for the others. The problem
    is not convex. Several starts are tried, among them each wished marginal alone.

    Args:
      grid: the axes.
      scales: (masks,) > 0; infinite for what cannot be measured.
      wished: by mask, the limit of each variance at epsilon 1, > 0.
      most: the most that a wished marginal's variance may be, in multiples of its limit, but for rounding; None: make
        the largest as small as possible.
    Returns: the best strategy found. Public, like all that enters.
    Raises: InvalidParameter without wishes, or if a wished one cannot be derived from what can be measured.
    Cost: some ten milliseconds for three axes, a second for six; cached.
    """
    if not wished or not all(0 < limit < np.inf for limit in wished.values()):
        raise InvalidParameter("give at least one marginal, each with a variance")
    return _best(grid, tuple(scales.tolist()), tuple(sorted(wished.items())), most)


@lru_cache(maxsize=256)
def _best(
    grid: Grid, scales: tuple[float, ...], wished: tuple[tuple[int, float], ...], most: float | None
) -> Strategy:
    problem = _Problem.of(grid, np.array(scales), dict(wished))
    if not np.isfinite(problem.ratios(problem.everything)).all():
        raise InvalidParameter("a requested marginal cannot be derived from any marginal that can be measured")
    found = [
        problem.rounded(shares) for start in problem.starts() for shares in (start, problem.improved(start, most))
    ]

    def rank(shares: Floats) -> tuple[bool, float]:
        ratios = problem.ratios(shares)
        above = most is None or bool(ratios.max() > most * (1 + _SPARE))
        return above, float(ratios.max() if above else problem.cells @ ratios)

    best = min(found, key=rank)
    ratios = problem.ratios(best)
    shares = {int(mask): float(best[mask]) for mask in np.flatnonzero(best)}
    return Strategy(shares, float(problem.cells @ ratios), float(ratios.max()), grid.variances(problem.noise(best)))


@dataclass(frozen=True, eq=False)
class _Problem:
    """The variances of requested marginals as functions of the shares (masks,).

    `precision` is (parts, masks): the precision that a share of 1 gives to an interaction. `needs` is (wished,
    parts), in multiples of each limit. `cells` is (wished,), their parts of all cells.
    """

    grid: Grid
    scales: Floats
    wished: tuple[int, ...]
    precision: Floats
    needs: Floats
    cells: Floats

    @classmethod
    def of(cls, grid: Grid, scales: Floats, wished: Mapping[int, float]) -> _Problem:
        places = tuple(sorted(wished))
        limits = np.array([wished[mask] for mask in places])
        precision = grid.information / (2 * scales[None, :] ** 2)
        cells = np.array([float(grid.cells(mask)) for mask in places])
        return cls(grid, scales, places, precision, grid.needs[list(places)] / limits[:, None], cells / cells.sum())

    @property
    def possible(self) -> Bools:
        """(masks,) what can be measured."""
        return np.isfinite(self.scales)

    @property
    def everything(self) -> Floats:
        """Equal shares of all that can be measured."""
        return np.asarray(self.possible / max(1, self.possible.sum()), np.float64)

    def noise(self, shares: Floats) -> Floats:
        """(masks,) the variance of a cell of each measured table."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(shares > 0, 2 * (self.scales / shares) ** 2, np.inf))

    def ratios(self, shares: Floats) -> Floats:
        """(wished,) variances in multiples of their limits."""
        precision = self.precision @ shares**2
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.where(self.needs > 0, self.needs / precision[None, :], 0.0)
        return np.asarray(spread.sum(axis=1))

    def slopes(self, shares: Floats) -> tuple[Floats, Floats]:
        """The ratios, and (wished, masks) their derivatives by the shares."""
        precision = np.maximum(self.precision @ shares**2, _TINY * self.precision.max())
        spread = self.needs / precision[None, :]
        return spread.sum(axis=1), -(spread / precision[None, :]) @ self.precision * (2 * shares)

    def starts(self) -> Iterator[Floats]:
        """First shares: each wished one alone, the finest, both, and all that can be measured."""
        masks = np.arange(len(self.scales))
        asked = np.isin(masks, self.wished) & self.possible
        finest = (masks == int(np.bitwise_or.reduce(self.wished))) & self.possible
        yield self.everything
        if asked.any():
            yield asked / asked.sum()
        if finest.any():
            yield finest * 1.0
        if asked.any() and finest.any():
            yield (asked / asked.sum() + finest) / 2

    def improved(self, start: Floats, most: float | None) -> Floats:
        """Better shares near some, by sequential quadratic programming."""
        from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize  # a fifth of a second of import

        begin = 0.95 * start + 0.05 * self.everything  # from a corner there is no way
        unit = float(self.ratios(begin).max())  # in which variances are near 1
        n = len(begin)

        def value(point: Floats) -> float:
            return float(point[n] if most is None else np.log(self.cells @ self.slopes(point[:n])[0]))

        def slope(point: Floats) -> Floats:
            if most is None:
                return np.append(np.zeros(n), 1.0)
            ratios, slopes = self.slopes(point[:n])
            return np.append(self.cells @ slopes / (self.cells @ ratios), 0.0)

        def within(point: Floats) -> Floats:
            return np.asarray((point[n] if most is None else most / unit) - self.slopes(point[:n])[0] / unit)

        def within_slopes(point: Floats) -> Floats:
            slopes = -self.slopes(point[:n])[1] / unit
            return np.column_stack([slopes, np.full(len(slopes), 1.0 if most is None else 0.0)])

        found = minimize(
            value,
            np.append(begin, 1.0),
            jac=slope,
            method="SLSQP",
            bounds=[*((0.0, 1.0 if possible else 0.0) for possible in self.possible), (0.0, np.inf)],
            constraints=(
                NonlinearConstraint(within, 0.0, np.inf, jac=within_slopes),
                LinearConstraint(np.append(np.ones(n), 0.0)[None, :], 1.0, 1.0),
            ),
            options={"maxiter": _STEPS},
        )
        shares = np.clip(np.nan_to_num(found.x[:n]), 0.0, 1.0) * self.possible
        return np.asarray(shares / shares.sum()) if shares.sum() > 0 else start

    def rounded(self, shares: Floats) -> Floats:
        """The same in whole parts, without shares below `_LEAST`; the rest goes where rounding took most.

        If a wished marginal could then not be derived, no share is dropped.
        """
        for least in (_LEAST, 0.0):
            kept = np.where(shares >= least, shares, 0.0)
            exact = kept / kept.sum() * PARTS
            parts = np.floor(exact + 1e-6)
            left = int(PARTS - parts.sum())
            parts[np.argsort(parts - exact, kind="stable")[:left]] += 1
            whole = parts / PARTS
            if np.isfinite(self.ratios(whole)).all():
                return np.asarray(whole)
        return shares
