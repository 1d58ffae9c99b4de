"""Small counts of distinct values and the oracle that the tests of this folder and the property tests share."""

from __future__ import annotations

from collections.abc import Sequence

import cvxpy
import numpy as np

from privacy.join_tuples import DistinctTuples
from privacy.units import ONE
from tests.unit.privacy.truncation.instances import owner

Pair = tuple[frozenset[int], int]
"""The owners of a join tuple and its value; -1 is no value."""


WORTH = (ONE, ONE // 3, ONE, 7 << 20, ONE >> 6, 3 * (ONE >> 2), ONE)
"""What each value adds to a sum of distinct values, in units."""


def distinct_tuples(
    pairs: Sequence[Pair], group: Sequence[int] | None = None, n_groups: int = 1, worth: Sequence[int] | None = None
) -> DistinctTuples:
    """Tuples of one relation from their owner sets, padded with missing positions; `worth`: by value."""
    width = max((len(owners) for owners, _ in pairs), default=1) or 1
    padded = [sorted(owners) + [None] * (width - len(owners)) for owners, _ in pairs]
    columns = tuple(owner("unit", [row[i] for row in padded], np.int64) for i in range(width))
    groups = np.zeros(len(pairs), np.int64) if group is None else np.array(group, np.int64)
    values = np.array([value for _, value in pairs], np.int64)
    weight = None if worth is None else np.array(worth, np.int64)[values]
    return DistinctTuples(columns, groups, n_groups, values, weight)


def projection_optimum(pairs: Sequence[Pair], tau: int, worth: Sequence[int] | None = None) -> float:
    """fbar in units, by R2T's program for projections as it is written: a v for every value, duplicates kept."""
    counted = [(owners, value) for owners, value in pairs if owners and value >= 0]
    if not counted:
        return 0.0
    units = sorted({unit for owners, _ in counted for unit in owners})
    values = sorted({value for _, value in counted})
    owned = np.array([[float(unit in owners) for owners, _ in counted] for unit in units])
    carries = np.array([[float(value == other) for _, other in counted] for value in values])
    worth = [ONE] * (max(values) + 1) if worth is None else worth
    most, each = (np.array([worth[p] for p in of]) / ONE for of in (values, [value for _, value in counted]))
    share = min(tau / ONE, 1.0)  # the size of a variable, so that small thresholds are solved as accurately
    with np.errstate(all="ignore"):  # cvxpy learns shapes by adding up arrays that nobody has filled
        x, v = cvxpy.Variable(len(counted), nonneg=True), cvxpy.Variable(len(values))
        constraints = [owned @ x <= tau / ONE / share, x <= each / share, v <= carries @ x, v <= most / share]
        problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(v)), constraints)
        problem.solve(solver=cvxpy.HIGHS)
    assert problem.status == cvxpy.OPTIMAL
    return float(problem.value) * share * ONE
