"""HAVING, ORDER BY, LIMIT and OFFSET over released values: which groups the answer shows, and in which order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.plan import Plan
from planner.released_expression import SortKey
from server.results.arithmetic.evaluate import Evaluator


def shown_groups(plan: Plan, evaluate: Evaluator, n_groups: int) -> NDArray[np.int64]:
    """The indices of the groups to show, in order; equal ones stay in the order of the domain."""
    return limited(plan, sorted_groups(plan, evaluate, n_groups))


def limited(plan: Plan, ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    """What OFFSET and LIMIT leave of sorted groups."""
    return ordered[plan.offset : None if plan.limit is None else plan.offset + plan.limit]


def sorted_groups(plan: Plan, evaluate: Evaluator, n_groups: int) -> NDArray[np.int64]:
    """The indices of the groups that HAVING leaves, in order, before OFFSET and LIMIT."""
    groups = np.arange(n_groups)
    if plan.having is not None:
        having = evaluate(plan.having)
        groups = groups[~having.null & (having.value != 0.0)]
    if plan.order:
        parts = [part[groups] for key in plan.order for part in _sorted_by(key, evaluate)]
        groups = groups[np.lexsort(parts[::-1])]
    return groups


def _sorted_by(key: SortKey, evaluate: Evaluator) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Two ascending keys, the first of which puts NULLs where they belong."""
    values = evaluate(key.expression)
    return ~values.null if key.nulls_first else values.null, -values.value if key.descending else values.value
