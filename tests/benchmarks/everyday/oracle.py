"""The best thresholds in hindsight: what a mechanism would do that knew the data.

One fixed threshold for all groups together, to which the values of a person are scaled, and Laplace noise for the
whole of epsilon. For averages, a sum and a count with half of epsilon each, both with their own threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

_PER_DOUBLING, _DOUBLINGS = 8, 14
_PAIRS_PER_DOUBLING, _PAIRS = 2, 21
_DRAWS = 60_000
_SEED = 11


@dataclass(frozen=True)
class Entries:
    """What units add to groups: entry k adds value[k] of unit[k] to group[k].

    Attributes:
      unit, group, value: (m,) each; a unit is in a group once at most.
      n_groups: G, how many groups there are.
    """

    unit: NDArray[np.int64]
    group: NDArray[np.int64]
    value: Values
    n_groups: int

    @cached_property
    def _lengths(self) -> Values:
        """(m,) the sum of the absolute values of the entry's unit."""
        lengths: Values = np.bincount(self.unit, np.abs(self.value)).astype(np.float64)
        found: Values = lengths[self.unit]
        return found

    @property
    def longest(self) -> float:
        """The largest length of a unit."""
        return float(self._lengths.max())

    def scaled(self, tau: float) -> Values:
        """(G,) the sums when every unit is scaled to a length of tau at most."""
        share = tau / np.maximum(self._lengths, tau)
        sums: Values = np.bincount(self.group, self.value * share, self.n_groups).astype(np.float64)
        return sums

    @cached_property
    def truth(self) -> Values:
        """(G,) the sums as they are."""
        return self.scaled(self.longest)

    @cached_property
    def by_tau(self) -> dict[float, Values]:
        """What is released at each threshold of the grid, before noise."""
        taus = self.longest * 2.0 ** (-np.arange(_PER_DOUBLING * _DOUBLINGS) / _PER_DOUBLING)
        return {float(tau): self.scaled(tau) for tau in taus}


def best_sum(entries: Entries, epsilon: float) -> tuple[float, float]:
    """(tau, its error) of the best threshold: the median of the mean absolute error over groups."""
    noise = _noise(entries.n_groups)[0]
    errors = {
        tau: float(np.median(np.abs(sums - entries.truth + noise * tau / epsilon).mean(axis=1)))
        for tau, sums in entries.by_tau.items()
    }
    return min(errors.items(), key=lambda one: one[1])


def best_average(sums: Entries, counts: Entries, epsilon: float, low: float, high: float) -> tuple[float, float]:
    """(tau of the sum, error of the quotient) of the best pair of thresholds; in the declared range."""
    taus, others = (tuple(one.by_tau)[:: _PER_DOUBLING // _PAIRS_PER_DOUBLING][:_PAIRS] for one in (sums, counts))
    errors = {pair: _error_of_average(sums, counts, pair, epsilon, (low, high)) for pair in product(taus, others)}
    (tau, _), error = min(errors.items(), key=lambda one: one[1])
    return tau, error


def average_of_best(sums: Entries, counts: Entries, epsilon: float, low: float, high: float) -> float:
    """The error where each threshold is the best for its own sum: the two biases do not cancel by hindsight."""
    pair = best_sum(sums, epsilon / 2)[0], best_sum(counts, epsilon / 2)[0]
    return _error_of_average(sums, counts, pair, epsilon, (low, high))


def _error_of_average(
    sums: Entries, counts: Entries, taus: tuple[float, float], epsilon: float, bounds: tuple[float, float]
) -> float:
    """As of a sum, with half of epsilon for each, between the ends of the range and of one row at least."""
    above, below = (
        one.by_tau[tau] + noise * tau / (epsilon / 2)
        for one, tau, noise in zip((sums, counts), taus, _noise(sums.n_groups), strict=True)
    )
    found = np.clip(above / np.maximum(1.0, below), *bounds)
    return float(np.median(np.abs(found - sums.truth / counts.truth).mean(axis=1)))


@cache
def _noise(n_groups: int) -> Values:
    """(2, R, G) Laplace noise of scale 1, the same for every threshold that is tried."""
    runs = max(120, min(2_000, _DRAWS // n_groups))
    drawn: Values = np.random.default_rng(_SEED).laplace(0, 1, (2, runs, n_groups))
    return drawn
