"""The outline of a question: what is equal in two of them, and what may not follow at all."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import date
from typing import Any

import pytest
from pydantic import TypeAdapter

from planner.plan import Plan, UnitBounds
from planner.policy.policy import ColumnPolicy, Policy
from planner.reuse.outline import Outline, outline
from tests.support.planning import demo_policy, planned

_JOIN = "FROM lineitem JOIN orders ON l_orderkey = o_orderkey"


def dated() -> Policy:
    """The demonstration's policy, which says from when to when goods are shipped."""
    policy = demo_policy()
    lineitem = policy.tables["lineitem"]
    columns = {**lineitem.columns, "l_shipdate": ColumnPolicy(dates=(date(1995, 1, 17), date(1996, 12, 31)))}
    return replace(policy, tables={**policy.tables, "lineitem": replace(lineitem, columns=columns)})


def outlined(sql: str, **changes: Any) -> Outline | None:
    plan = replace(planned(sql, policy=dated()), **changes)
    return outline(plan, 1, 7, True, [(plan.mechanism, "laplace")] * len(plan.releases))


def known(sql: str) -> Outline:
    found = outlined(sql)
    assert found is not None
    return found


def test_it_is_read_as_it_was_written() -> None:
    one = known(f"SELECT date_trunc('month', l_shipdate), count(*) {_JOIN} WHERE o_orderstatus = 'F' GROUP BY 1")
    written = TypeAdapter(Outline)
    assert written.validate_json(written.dump_json(one)) == one
    period = one.keys[0].period
    assert period is not None and (period.unit, period.whole_days) == ("month", True)
    assert (period.first, period.last) == ("1995-01-17 00:00:00", "1996-12-31 00:00:00")
    assert len(period.of) == 2 and len(period.columns) == 1


def test_nothing_of_the_question_stands_in_it() -> None:
    one = known(
        f"SELECT l_shipdate > date '1995-01-01', sum(l_quantity) {_JOIN} WHERE o_clerk = 'Clerk#000000042' GROUP BY 1"
    )
    text = json.dumps(asdict(one), default=str)
    assert not any(word in text for word in ("status", "quantity", "Clerk", "lineitem", "orders", "shipdate"))


def test_conditions_and_names_do_not_change_which_rows_are_read() -> None:
    one = known("SELECT count(*) FROM orders")
    other = known("SELECT count(*) AS n FROM orders AS x WHERE x.o_orderstatus = 'F'")
    assert one.rows == other.rows and one.releases == other.releases
    assert (one.conditions, len(other.conditions)) == ((), 1)
    assert known("SELECT count(*) FROM lineitem").rows != one.rows
    assert known("SELECT count(*) FROM orders WHERE (o_orderstatus = 'F')").conditions == other.conditions


def test_sums_differ_by_weight_and_bound() -> None:
    one = known("SELECT sum(l_quantity), count(*), sum(l_quantity) FILTER (WHERE l_quantity < 9) FROM lineitem")
    assert len({release.counts for release in one.releases}) == 3
    average = known("SELECT avg(l_quantity), sum(l_quantity) FROM lineitem")
    assert one.releases[0].name in {release.name for release in average.releases}


def test_samples_have_none_and_ranks_stand_for_single_groups() -> None:
    assert outlined("SELECT count(*) FROM orders TABLESAMPLE BERNOULLI (10)") is None
    rank = "SELECT percentile_cont({}) WITHIN GROUP (ORDER BY l_quantity) FROM lineitem"
    (half,), (tenth,) = (known(rank.format(share)).releases for share in (0.5, 0.1))
    assert half.name is not None and half.name != tenth.name and not half.adds_up


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("o_custkey BETWEEN 3 AND 5", "o_custkey >= 3 AND 5 >= o_custkey"),
        ("NOT o_custkey <= 3", "3 < o_custkey"),
        ("NOT (o_custkey = 3 OR NOT o_orderkey = 4)", "o_orderkey = 4 AND o_custkey <> 3"),
        ("o_orderstatus = 'F' OR o_orderstatus = 'O'", "o_orderstatus IN ('O', 'F', 'O')"),
        ("o_orderstatus IN ('F')", "'F' = o_orderstatus"),
        ("o_custkey = o_orderkey", "o_orderkey = o_custkey AND o_orderkey = o_custkey"),
    ],
)
def test_conditions_that_are_spelled_otherwise_have_one_name(one: str, other: str) -> None:
    named = {known(f"SELECT count(*) FROM orders WHERE {spelled}").conditions for spelled in (one, other)}
    assert (
        len(named) == 1 and len(known(f"SELECT count(*) FROM orders WHERE ({one}) AND o_orderkey > 9").conditions) > 1
    )


@pytest.mark.parametrize(
    "condition",
    ["o_custkey > 3", "o_custkey <= 3", "o_custkey < 3", "o_custkey = 3", "o_custkey <> 3", "NOT o_custkey = 3"],
)
def test_other_conditions_have_other_names(condition: str) -> None:
    one, other = (known(f"SELECT count(*) FROM orders WHERE {it}").conditions for it in ("o_custkey >= 3", condition))
    assert one != other


def test_what_filter_counts_is_a_condition() -> None:
    (filtered,) = known("SELECT count(*) FILTER (WHERE o_custkey > 3) FROM orders").releases
    (whole,) = known("SELECT count(*) FROM orders").releases
    assert (filtered.name, whole.where) == (whole.name, ())
    assert filtered.where == known("SELECT count(*) FROM orders WHERE o_custkey > 3").conditions


def test_the_order_of_tables_says_nothing() -> None:
    conditions = "c_custkey = o_custkey AND o_orderkey > 9"
    joined = f"SELECT o_orderdate > date '1995-01-01', count(*) FROM {{}} WHERE {conditions} GROUP BY 1"
    one, other = (known(joined.format(tables)) for tables in ("orders, customer", "customer CROSS JOIN orders"))
    assert (one.rows, one.conditions, one.keys, one.releases) == (
        other.rows,
        other.conditions,
        other.keys,
        other.releases,
    )
    twice = "SELECT count(*) FROM orders a JOIN orders b ON a.o_custkey = b.o_custkey WHERE {}.o_orderkey > 9"
    assert known(twice.format("a")).conditions != known(twice.format("b")).conditions


def test_groups_that_are_left_out_leave_none() -> None:
    sql = "SELECT o_orderdate > date '1995-01-01', count(*) FROM orders GROUP BY 1"
    plan: Plan = planned(sql)
    assert outlined(sql, bounds=UnitBounds(rule=6)) is None and outlined(sql, bounds=UnitBounds(rule=7)) is not None
    assert outline(plan, 1, 7, False, [(plan.mechanism, "laplace")]) is None
    raced = outline(plan, 1, 7, True, [("r2t", "laplace")])
    assert raced is not None and not any(release.adds_up for release in raced.releases)
