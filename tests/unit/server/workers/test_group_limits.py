"""Too many groups are refused before the charge, and public tables are read for it only where it matters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.errors import InvalidSetting, StatementTooComplex
from planner.limits import MAX_CELLS, MIN_EPSILON, check_cells, most_groups
from planner.plan import BackendQuery, Plan
from planner.released_expression import Display
from privacy.mechanisms.partition_selection import VoteThreshold
from privacy.mechanisms.sums import Sum
from privacy.registry import AllGroups, group_measurements
from privacy.thresholds import Thresholds
from server.backends.columns import Domain
from server.workers.group_limits import check_explained, check_groups, is_in_range
from server.workers.measure import Measuring
from tests.support.extreme_budgets import MANY_SUMS, QUESTIONS, Budget, prepared

_MANY = 100_000
_PER_PERSON, _MEETINGS, _FOUND = QUESTIONS[2], QUESTIONS[5], QUESTIONS[6]


class Groups:
    """So many public groups, and how often they were read."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.reads = 0

    def __call__(self, query: BackendQuery) -> Domain:
        self.reads += 1
        check_cells(self.count, query.columns)
        return Domain((tuple(range(self.count)),))


def question(sql: str, epsilon: float, delta: float = 0.0) -> tuple[Plan, BackendQuery, Measuring]:
    """A question whose groups a public table names."""
    asked = prepared(sql, 40, Budget(epsilon, delta))
    query = asked.question.query
    if not query.discovered:
        query = replace(query, domains=("SELECT a FROM public",), values=(None,))
    return asked.plan, query, asked.question.measuring


def test_usual_questions_read_nothing_for_it() -> None:
    for sql, epsilon in [(_PER_PERSON, MIN_EPSILON), (_MEETINGS, 1.0), (QUESTIONS[0], 1e-4)]:
        groups = Groups(_MANY)
        plan, query, measuring = question(sql, epsilon)
        if not plan.group_keys:
            query = replace(query, domains=(), values=())
        check_groups(plan, query, measuring, groups)
        assert groups.reads == 0, sql


def test_an_epsilon_that_may_be_too_small_asks_how_many_groups_there_are() -> None:
    asked = question(_MEETINGS, MIN_EPSILON)
    few, many = Groups(5_000), Groups(_MANY)
    check_groups(*asked, few)
    check_explained(*asked, 5_000)
    with pytest.raises(InvalidSetting, match=r"epsilon 0\.0001 is too small for 100,000 groups of 1 noisy column"):
        check_groups(*asked, many)
    with pytest.raises(InvalidSetting):
        check_explained(*asked, _MANY)
    assert few.reads == many.reads == 1
    assert is_in_range(*asked, 5_000) and not is_in_range(*asked, _MANY)


def test_so_do_columns_whose_cells_may_be_too_many() -> None:
    plan, query, measuring = question(MANY_SUMS, 1.0)
    columns = 25
    wide = (
        replace(plan, display=Display(plan.display.outputs[:1] * columns)),
        replace(query, columns=columns),
        measuring,
    )
    assert most_groups(columns) == MAX_CELLS // columns
    groups, more = Groups(most_groups(columns)), Groups(most_groups(columns) + 1)
    check_groups(*wide, groups)
    with pytest.raises(StatementTooComplex, match="cells"):
        check_groups(*wide, more)
    assert groups.reads == more.reads == 1


def test_where_the_number_of_groups_is_private_the_largest_decides() -> None:
    """Nothing is read. All groups that may be found share epsilon, unless a unit is bounded in all at once."""
    plan, query, measuring = question(_FOUND, MIN_EPSILON, delta=1e-7)
    groups = Groups(1)
    check_groups(plan, query, measuring, groups)
    assert isinstance(measuring.threshold, VoteThreshold)
    shared = group_measurements("group_lp", AllGroups([Sum(plan.releases[0].epsilon, 0.0, Thresholds())], 0.0))
    everywhere = replace(measuring, releases=shared)
    with pytest.raises(InvalidSetting, match="100,000 groups"):
        check_groups(plan, query, everywhere, groups)
    with pytest.raises(InvalidSetting, match="100,000 groups"):
        check_explained(plan, query, everywhere, 1)
    assert groups.reads == 0
