"""The group keys of a declared range: few enough to list, and counted without listing them."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from planner.errors import PlannerError, PolicyInvalid
from planner.limits import MAX_GROUPS
from planner.policy.declared import declared_domain, whole_numbers, whole_steps
from planner.policy.policy import ColumnPolicy, Policy
from planner.policy.validate import validate
from planner.sql.sql_types import sql_type
from tests.support.planning import demo_policy, planned
from tests.support.tpch_schema import tpch_schema

WIDEST = (-9e18, 9e18)
"""More whole numbers than a length can say."""


def test_whole_numbers_step_from_the_low_end_of_their_range() -> None:
    for declared, values in [
        (ColumnPolicy(range=(0, 3)), (0, 1, 2, 3)), (ColumnPolicy(range=(-7, 8), step=5), (-7, -2, 3, 8)),
        (ColumnPolicy(range=(-7, 7), step=5), (-7, -2, 3)), (ColumnPolicy(range=(0, MAX_GROUPS)), None),
        (ColumnPolicy(range=WIDEST), None),
        (ColumnPolicy(range=(0.0, 9e15), step=3 * 10**15), (0, 3 * 10**15, 6 * 10**15, 9 * 10**15)),
    ]:  # fmt: skip
        assert declared_domain(declared, sql_type("bigint")) == values


def test_a_narrowed_range_keeps_the_grid_of_the_whole_one() -> None:
    for low, values in ((3, (5, 10, 15, 20)), (5, (5, 10, 15, 20)), (21, ())):
        first, count = whole_steps(0, low, 20, 5)
        assert whole_numbers(first, count, 5) == values


def test_a_range_of_more_values_than_a_length_can_say_is_checked() -> None:
    cases: list[tuple[dict[str, Any], str | None]] = [({"other": -1}, "`other` needs"), ({"discover": True}, None)]
    for settings, problem in cases:
        policy = replace(_with_custkey(ColumnPolicy(range=WIDEST, **settings)), delta=1e-6)
        with nullcontext() if problem is None else pytest.raises(PolicyInvalid, match=problem):
            validate(policy, tpch_schema())


def test_a_key_over_more_values_than_a_length_can_say_is_refused_or_listed() -> None:
    for key in ("o_custkey", "o_custkey + 1", "o_custkey % 7", "o_custkey > 5"):
        policy = _with_custkey(ColumnPolicy(range=WIDEST))
        listed = key in ("o_custkey % 7", "o_custkey > 5")
        with nullcontext() if listed else pytest.raises(PlannerError):
            planned(f"SELECT {key}, count(*) FROM orders GROUP BY 1", policy=policy)


def _with_custkey(declared: ColumnPolicy) -> Policy:
    policy = demo_policy()
    orders = policy.tables["orders"]
    wide = replace(orders, columns={**orders.columns, "o_custkey": declared})
    return replace(policy, tables={**policy.tables, "orders": wide})
