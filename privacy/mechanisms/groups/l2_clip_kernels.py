"""Loops over privacy units and their members: lengths of clipped vectors, and their sums."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.units import MAX_UNITS


@kernel
def by_unit(
    member_start: NDArray[np.int64], units: NDArray[np.int32], loads: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Lay the members of each unit side by side, in the order of their groups.

    Args:
      member_start: (G + 1,) where each group's members begin.
      units: (n,) the unit of each member.
      loads: (n,) its weight.
    Returns: (n_units + 1,) where each unit's members begin; (n,) their groups; (n,) their loads.
    Cost: a counting sort. Units are numbered below n_units, the largest number plus one.
    """
    n_units = 0
    for member in range(len(units)):
        n_units = max(n_units, units[member] + 1)
    start = np.zeros(n_units + 2, np.int64)
    for member in range(len(units)):
        start[units[member] + 2] += 1
    for unit in range(1, n_units + 2):
        start[unit] += start[unit - 1]
    group, load = np.empty(len(units), np.int32), np.empty(len(units), np.int64)
    for own in range(len(member_start) - 1):
        for member in range(member_start[own], member_start[own + 1]):
            place = start[units[member] + 1]
            start[units[member] + 1] = place + 1
            group[place], load[place] = own, loads[member]
    return start[: n_units + 1], group, load


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
