"""Which questions no permitted epsilon answers to 5%: decided before anything is asked, by public numbers.

A typical cell has the fact's rows, times the public share of the window and the filter, divided by the groups. With
the most epsilon that one question may ask for, the noise is at least that of the threshold 1: of people who add one
row each. Where 5% of the cell is less than half of the 95% interval then, the question is left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.errors import PlannerError
from server.backends.columns import Domain
from server.pipeline import Pipeline
from server.query import QueryRequest
from tests.benchmarks.budget.typical_error import TARGET


def out_of_reach(pipeline: Pipeline, request: QueryRequest, rows: float) -> bool:
    """Can no column of the answer come to 5%?

    Args:
      pipeline: plans, and reads public groups.
      request: the question; its epsilon does not count.
      rows: how many rows the question is about, by public numbers.
    Returns: False also where nothing is known beforehand: of statements around answers, and of groups that are found.
    """
    try:
        question = pipeline.planning.question(replace(request, epsilon=pipeline.policy.max_epsilon))
    except PlannerError:
        return False
    plan = question.plan
    if question.query.discovered or not plan.releases:
        return False
    domain = pipeline.planning.groups(question.query, request.analyst) if plan.group_keys else Domain(())
    groups = max(1, len(domain))
    halves = [_least_half(one.expected_noise(groups)) for one in question.measuring.of_groups(domain).releases]
    return min(halves) > TARGET * rows / groups


def _least_half(expected: object) -> float:
    """Of (tau, half-width) pairs the half-width at the first threshold from 1 on, in full weights."""
    table = np.array(expected, np.float64).reshape(-1, 2)
    return float(table[min(int(np.searchsorted(table[:, 0], 1.0)), len(table) - 1), 1])
