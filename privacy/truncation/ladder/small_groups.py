"""Many groups of few tuples: most are settled by filling their tuples one after the other, all groups in one go."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.kernel import kernel
from privacy.truncation.ladder.ladder_instance import LadderInstance
from privacy.truncation.starting_bounds import StartingBounds
from privacy.units import MAX_UNITS

_FEW = 64
"""Groups of more tuples have a program of their own anyway, and filling would be a pass over them per threshold."""


def settle_small_groups(instance: LadderInstance, bounds: StartingBounds) -> StartingBounds:
    """Make the bounds equal where filling the tuples in their order attains the upper bound.

    What is filled is feasible, so it is the optimum then, whatever the order. Where it is not attained nothing is
    learnt: a bound that depends on the order of rows could enter a value. Where people hardly share tuples
    within a group, as with 100,000 groups of ten tuples, nearly every cell is settled.

    Returns: the bounds given, changed in place.
    Cost: one pass over the tuples of small groups for each threshold that is open.
    """
    _fill(
        instance.row_start,
        instance.member_start,
        instance.members,
        instance.weights,
        instance.capacities.kind,
        instance.capacities.table,
        bounds.lower,
        bounds.upper,
    )
    return bounds


@kernel
def _fill(
    row_start: NDArray[np.int64],
    member_start: NDArray[np.int64],
    members: NDArray[np.int32],
    weights: NDArray[np.int64],
    kind: NDArray[np.int8],
    capacities: NDArray[np.int64],
    lower: NDArray[np.int64],
    upper: NDArray[np.int64],
) -> None:
    """Raise lower[group, rung] to upper where a greedy filling attains it. Spare caps never fall below 0."""
    spare = np.empty(_FEW * max(1, len(members)), np.int64)
    for group in range(len(row_start) - 1):
        first, end = row_start[group], row_start[group + 1]
        size = member_start[group + 1] - member_start[group]
        if end - first > _FEW or size > len(spare):
            continue
        for rung in range(capacities.shape[1]):
            if lower[group, rung] == upper[group, rung]:
                continue
            for u in range(size):
                spare[u] = capacities[kind[member_start[group] + u], rung]
            total = np.int64(0)
            for t in range(first, end):
                amount = weights[t]
                for position in range(len(members)):
                    if members[position, t] >= 0:
                        amount = min(amount, spare[members[position, t] - member_start[group]])
                for position in range(len(members)):
                    if members[position, t] >= 0:
                        spare[members[position, t] - member_start[group]] -= amount
                total = min(total, MAX_UNITS - amount) + amount
            if total == upper[group, rung]:
                lower[group, rung] = total
