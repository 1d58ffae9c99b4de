"""One pass over the tuples as they came: how long everybody is at given shares, and what everybody costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import CompactJoinTuples
from privacy.kernel import kernel
from privacy.truncation.vector.dual_point import relative_rounding
from privacy.truncation.vector.patterns import Patterns


@dataclass(frozen=True, eq=False, repr=False)
class Survey:
    """What a core cannot say about itself.

    Attributes:
      lengths: (n_units,) lengths in multiples of tau, rounded up; 0 where `over` is false.
      prices: (n_units,) a_v of `dual_point`.
    """

    lengths: NDArray[np.float64]
    prices: NDArray[np.float64]

    def __repr__(self) -> str:
        return "Survey(<private>)"


def survey(
    tuples: CompactJoinTuples,
    release: int,
    over: NDArray[np.bool_],
    shares: NDArray[np.float64],
    patterns: Patterns,
    by_pattern: NDArray[np.float64],
    tau: int,
) -> Survey:
    """Measure shares (n_units,) on the grid, and multipliers (P,) of the patterns, on all tuples.

    Cost: one pass over the owners. Memory O(n_units).
    """
    lengths, prices = _survey(
        tuples.indptr,
        tuples.units,
        tuples.group,
        tuples.weights[release],
        over,
        shares,
        patterns.of_tuple,
        by_pattern,
        1.0 / float(tau),
    )
    return Survey(lengths * (1.0 + relative_rounding(len(tuples.group) + tuples.n_groups)), prices)


@kernel
def _survey(
    indptr: NDArray[np.int64],
    units: NDArray[np.int32],
    group: NDArray[np.int64],
    weights: NDArray[np.int64],
    over: NDArray[np.bool_],
    shares: NDArray[np.float64],
    of_tuple: NDArray[np.int32],
    by_pattern: NDArray[np.float64],
    scale: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    square = np.zeros(len(over))
    prices = np.zeros(len(over))
    load = np.zeros(len(over))
    touched = np.empty(len(over), np.int32)
    start = 0
    while start < len(group):
        count, t = 0, start
        while t < len(group) and group[t] == group[start]:
            first, last = indptr[t], indptr[t + 1]
            left = 1.0
            for entry in range(first, last):
                left -= shares[units[entry]]
            weight = weights[t] * scale
            if left > 0.0 and weight > 0.0:
                for entry in range(first, last):
                    u = units[entry]
                    if over[u]:
                        if load[u] == 0.0:
                            touched[count] = u
                            count += 1
                        load[u] += weight * left
            pattern = of_tuple[t]
            if pattern >= 0 and by_pattern[pattern] > 0.0:
                for entry in range(first, last):
                    prices[units[entry]] += weight * by_pattern[pattern]
            t += 1
        for i in range(count):
            square[touched[i]] += load[touched[i]] * load[touched[i]]
            load[touched[i]] = 0.0
        start = t
    return np.sqrt(square), prices
