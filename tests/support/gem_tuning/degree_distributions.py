"""What each privacy unit adds, in synthetic data of many shapes; shipped as formulas, drawn with fixed seeds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Loads = NDArray[np.float64]


def _poisson(mean: float, units: int) -> Loads:
    return np.random.default_rng(11).poisson(mean, units).astype(float)


def _pareto(shape: float, units: int, largest: float) -> Loads:
    """Powers of the tail 1 / x^shape, from 1 to `largest`."""
    drawn = np.random.default_rng(12).random(units) ** (-1 / shape)
    return np.asarray(np.floor(np.minimum(drawn, largest)))


def _lognormal(sigma: float, units: int) -> Loads:
    return np.asarray(np.ceil(np.random.default_rng(13).lognormal(1.0, sigma, units)))


def _hubs(units: int, hubs: int, size: float) -> Loads:
    """Many units with one tuple each, a few with very many."""
    return np.concatenate((np.ones(units), np.full(hubs, size)))


def _paths(units: int) -> Loads:
    """Pairs of neighbours of Pareto degrees."""
    degree = _pareto(1.5, units, 400.0)
    return np.asarray(degree * (degree - 1) / 2 + degree)


DISTRIBUTIONS: dict[str, Callable[[], Loads]] = {
    "constant 10, 20,000 units": lambda: np.full(20_000, 10.0),
    "Poisson 4, 100,000 units": lambda: _poisson(4.0, 100_000),
    "Poisson 40, 2,000 units": lambda: _poisson(40.0, 2_000),
    "Pareto 1.2, 100,000 units": lambda: _pareto(1.2, 100_000, 5_000.0),
    "Pareto 2, 30,000 units": lambda: _pareto(2.0, 30_000, 1_000.0),
    "lognormal 1, 50,000 units": lambda: _lognormal(1.0, 50_000),
    "lognormal 2, 50,000 units": lambda: _lognormal(2.0, 50_000),
    "20 hubs, 30,000 others": lambda: _hubs(30_000, 20, 1_000.0),
    "pairs of neighbours, 50,000 units": lambda: _paths(50_000),
    "pairs of neighbours, 5,000 units": lambda: _paths(5_000),
    "money, 10,000 units": lambda: np.random.default_rng(14).gamma(2.0, 0.1, 10_000),
}
"""By name: (n,) loads >= 0 in normalised weight. Every tuple has one owner, so that truncation is a minimum."""


def heavy_tail(shape: float, units: int) -> Loads:
    """Powers of the tail 1 / x^shape, from 1 to wherever the draws end."""
    drawn = np.random.default_rng([16, units]).random(units)
    return np.asarray(np.ceil(drawn ** (-1 / shape)))


def truncated(loads: Loads, taus: NDArray[np.float64]) -> NDArray[np.float64]:
    """(L,) sum_u min(tau, load_u)."""
    ordered = np.sort(loads)
    below = np.searchsorted(ordered, taus)
    sums = np.concatenate(((0.0,), np.cumsum(ordered)))
    return np.asarray(sums[below] + taus * (len(ordered) - below))
