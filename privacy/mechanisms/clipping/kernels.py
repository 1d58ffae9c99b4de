"""Loops over privacy units and their members: how long each unit's vector is, and the sums of what is kept of it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.units import MAX_UNITS


@kernel
def lengths(start: NDArray[np.int64], loads: NDArray[np.int64], euclidean: bool) -> NDArray[np.int64]:
    """(n_units,) how long each unit's vector is, in units of weight, saturating: of its entries' absolute values the
    sum, or the Euclidean length.

    Args:
      start: (n_units + 1,) where each unit's members begin.
      loads: (n,) the weight of each member, in units, in [-MAX_UNITS, MAX_UNITS].
      euclidean: rounded down; else the sum.
    """
    found = np.zeros(len(start) - 1, np.int64)
    for unit in range(len(start) - 1):
        total = np.int64(0)
        square = 0.0
        for place in range(start[unit], start[unit + 1]):
            total += min(abs(loads[place]), MAX_UNITS - total)
            square += float(loads[place]) * float(loads[place])
        found[unit] = np.int64(min(math.sqrt(square), float(total))) if euclidean else total
    return found


@kernel
def scaled_sums(
    start: NDArray[np.int64],
    group: NDArray[np.int32],
    loads: NDArray[np.int64],
    step: int,
    steps: int,
    n_groups: int,
    euclidean: bool,
) -> NDArray[np.int64]:
    """(G,) the sum over units of x min(1, T / |x|) in whole steps, each entry rounded towards 0; T the length of
    `steps`.

    Whatever floats round, a unit's entries are whole numbers whose sizes add up to at most T, or have at most the
    Euclidean length T: of the sum what is left of T bounds each entry; of the length, the factor is less by more
      than n
    squares, a root and a quotient are off by. 2^31 units of at most 2^25 steps do not wrap.
    """
    totals = np.zeros(n_groups, np.int64)
    for unit in range(len(start) - 1):
        first, last = start[unit], start[unit + 1]
        length = 0.0
        for place in range(first, last):
            part = abs(loads[place]) / step
            length += part * part if euclidean else part
        factor = 1.0
        if euclidean:
            length = math.sqrt(length) * (1 + (last - first + 8) * 2.0**-51)
        if length > steps:
            factor = steps / length
        left = np.int64(steps)
        for place in range(first, last):
            size = abs(loads[place])
            kept = min(size // step if factor == 1.0 else np.int64(size / step * factor), left)
            totals[group[place]] += kept if loads[place] > 0 else -kept
            if not euclidean:
                left -= kept
    return totals
