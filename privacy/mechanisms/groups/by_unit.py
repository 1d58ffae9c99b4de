"""The members of groups, laid side by side by whose they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel


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
