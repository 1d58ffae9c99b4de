"""Loops over privacy units and their members: what is kept of each unit when its vector is clipped, and the sums."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.units import MAX_UNITS

_HIGHEST = 1 << 25
"""Above the largest number of steps."""


@kernel
def total_lengths(start: NDArray[np.int64], loads: NDArray[np.int64], taus: NDArray[np.int64]) -> NDArray[np.int64]:
    """(L,) the sum over units of |C_tau(x_u)|, each rounded down to a unit of weight; saturating.

    Every unit adds a whole number in [0, tau], whatever is rounded, so adding or removing any of its tuples moves the
    sum by at most tau.
    """
    totals = np.zeros(len(taus), np.int64)
    for unit in range(len(start) - 1):
        for rung in range(len(taus)):
            tau = taus[rung]
            square = 0.0
            for place in range(start[unit], start[unit + 1]):
                part = min(loads[place], tau) / tau
                square += part * part
            length = math.sqrt(square)
            if length > 1.0:
                length = min(1.0, 2.0 / length)
            added = min(np.int64(length * tau), tau)
            totals[rung] = min(totals[rung], MAX_UNITS - added) + added
    return totals


@kernel
def clipped_sums(
    start: NDArray[np.int64], group: NDArray[np.int32], loads: NDArray[np.int64], tau: int, steps: int, n_groups: int
) -> NDArray[np.int64]:
    """(G,) the sum over units of C_tau(x_u), each entry rounded down to a whole number of tau / steps.

    2^31 units of at most steps <= 2^30 do not wrap.
    """
    totals = np.zeros(n_groups, np.int64)
    for unit in range(len(start) - 1):
        square = 0.0
        for place in range(start[unit], start[unit + 1]):
            part = min(loads[place], tau) / tau
            square += part * part
        factor = 1.0
        if square > 1.0:
            factor = min(1.0 / math.sqrt(square), 2.0 / square)
        for place in range(start[unit], start[unit + 1]):
            totals[group[place]] += np.int64(min(loads[place], tau) / tau * factor * steps)
    return totals


@kernel
def truncated_totals(
    start: NDArray[np.int64], loads: NDArray[np.int64], taus: NDArray[np.int64]
) -> NDArray[np.int64]:
    """(L,) the sum over units of min(tau, what the unit adds to all groups); saturating.

    Args:
      start: (n_units + 1,) where each unit's members begin.
      loads: (n,) the weight of each member, in units, saturated at MAX_UNITS.
      taus: (L,) thresholds.
    """
    totals = np.zeros(len(taus), np.int64)
    for unit in range(len(start) - 1):
        total = np.int64(0)
        for place in range(start[unit], start[unit + 1]):
            total += min(loads[place], MAX_UNITS - total)
        for rung in range(len(taus)):
            totals[rung] += min(min(total, taus[rung]), MAX_UNITS - totals[rung])
    return totals


@kernel
def levelled_sums(
    start: NDArray[np.int64], group: NDArray[np.int32], loads: NDArray[np.int64], step: int, steps: int, n_groups: int
) -> NDArray[np.int64]:
    """(G,) the sum over units of min(x_f, c), c the largest level at which a unit's whole steps add up to `steps`.

    The level is found bit by bit, of every unit, cut or not: work depends on how many members there are, and not on
    what they hold. 2^31 units of at most 2^25 steps do not wrap.
    """
    totals = np.zeros(n_groups, np.int64)
    parts = np.empty(len(loads), np.int64)
    for place in range(len(loads)):
        parts[place] = min(loads[place] // step, steps)
    for unit in range(len(start) - 1):
        first, last = start[unit], start[unit + 1]
        level = np.int64(0)
        bit = np.int64(_HIGHEST)
        while bit:
            left = np.int64(0)
            for place in range(first, last):
                left += min(parts[place], level | bit)
            if left <= steps:
                level |= bit
            bit >>= 1
        for place in range(first, last):
            totals[group[place]] += min(parts[place], level)
    return totals
