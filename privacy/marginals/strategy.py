"""Which marginals of a grid to measure, with which shares of one epsilon, so that the wished ones are known best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize

from privacy.errors import InvalidParameter
from privacy.marginals.grid import Grid

PARTS = 1000
"""Shares are whole multiples of 1 / PARTS: the same workload has the same shares, whatever a float's last bit is."""

_LEAST = 0.005
"""A smaller share says next to nothing, and is given to the others."""

_STEPS = 200
_TINY = 1e-12
_SPARE = 0.01
"""How much above what it should be at most a variance may be, since shares are rounded."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Strategy:
    """Shares of epsilon by marginal.

    Attributes:
      shares: by mask, of those that are measured, > 0; together at most 1.
      mean, worst: of the wished marginals' variances, each in multiples of the one that it was to be compared with:
        the mean over all their cells, and the largest.
      variances: (masks,) of a cell of each marginal by least squares, at an epsilon of 1 for all of them.
    """

    shares: Mapping[int, float]
    mean: float
    worst: float
    variances: Floats


def best_shares(grid: Grid, scales: Floats, wished: Mapping[int, float], most: float | None = 1.0) -> Strategy:
    """The shares with which wished marginals are known best, each compared with a variance of its own.

    Every marginal is released with Laplace noise for what one unit adds to it, so that epsilons of several add up:
    marginal A with epsilon e has noise of scale scales[A] / e, for all its cells. What is sought is the least mean of
    the compared variances over all cells, as in HDMM's marginals strategies (OPT_M) under pure privacy, but with no
    marginal above `most`: a total of a thousand groups counts for one cell, and would be given away for the others.
    It is not convex. Several starts are tried, among them each wished marginal alone, and the best is taken.

    Args:
      grid: the axes.
      scales: (masks,) > 0; infinite for what cannot be measured.
      wished: by mask, the variance at epsilon 1 that each is compared with, > 0.
      most: what no wished marginal may be above, in multiples of that, but for rounding, if it can be helped; None:
        the largest shall be the least possible.
    Returns: the best that was found. Public: everything that is looked at is.
    Raises: InvalidParameter where nothing is wished, or a wished one follows from nothing that can be measured.
    Cost: some ten milliseconds for three axes, a second for six; nothing where it was asked before.
    """
    if not wished or not all(0 < limit < np.inf for limit in wished.values()):
        raise InvalidParameter("at least one marginal is wished, each with a variance to compare")
    return _best(grid, tuple(scales.tolist()), tuple(sorted(wished.items())), most)


@lru_cache(maxsize=256)
def _best(
    grid: Grid, scales: tuple[float, ...], wished: tuple[tuple[int, float], ...], most: float | None
) -> Strategy:
    problem = _Problem.of(grid, np.array(scales), dict(wished))
    if not np.isfinite(problem.ratios(problem.everything)).all():
        raise InvalidParameter("a wished marginal follows from nothing that can be measured")
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
    """The variances of wished marginals as functions of the shares (masks,).

    `told` is (parts, masks): what a share of 1 says of an interaction; `needs` is (wished, parts), in multiples of
    what each wished marginal is compared with; `cells` is (wished,), their parts of all cells.
    """

    grid: Grid
    scales: Floats
    wished: tuple[int, ...]
    told: Floats
    needs: Floats
    cells: Floats

    @classmethod
    def of(cls, grid: Grid, scales: Floats, wished: Mapping[int, float]) -> _Problem:
        places = tuple(sorted(wished))
        limits = np.array([wished[mask] for mask in places])
        told = grid.information / (2 * scales[None, :] ** 2)
        cells = np.array([float(grid.cells(mask)) for mask in places])
        return cls(grid, scales, places, told, grid.needs[list(places)] / limits[:, None], cells / cells.sum())

    @property
    def possible(self) -> NDArray[np.bool_]:
        """(masks,) what can be measured."""
        return np.isfinite(self.scales)

    @property
    def everything(self) -> Floats:
        """Equal shares of whatever can be measured."""
        return np.asarray(self.possible / max(1, self.possible.sum()), np.float64)

    def noise(self, shares: Floats) -> Floats:
        """(masks,) the variance of a cell of each measured table."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(shares > 0, 2 * (self.scales / shares) ** 2, np.inf))

    def ratios(self, shares: Floats) -> Floats:
        """(wished,) variances in multiples of what they are compared with."""
        told = self.told @ shares**2
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.where(self.needs > 0, self.needs / told[None, :], 0.0)
        return np.asarray(spread.sum(axis=1))

    def slopes(self, shares: Floats) -> tuple[Floats, Floats]:
        """The ratios, and (wished, masks) how they change with the shares."""
        told = np.maximum(self.told @ shares**2, _TINY * self.told.max())
        spread = self.needs / told[None, :]
        return spread.sum(axis=1), -(spread / told[None, :]) @ self.told * (2 * shares)

    def starts(self) -> Iterator[Floats]:
        """Shares to begin with: each wished one alone, the finest, both, and whatever can be measured."""
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
        """Shares that lie downhill of some: by sequential quadratic programming."""
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
        """The same in whole parts, without what is hardly measured; what is left over goes where most was lost.

        Where that leaves a wished marginal without what it follows from, nothing is dropped.
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
