"""The days that conditions leave, and how finely expressions tell times apart."""

from __future__ import annotations

from datetime import date

from sqlglot import exp, parse_one

from planner.binding.bind import bind
from planner.group_domains.column_values import finest_step
from planner.group_domains.day_conditions import days_left
from planner.parsing.parse import parse
from planner.policy.policy import parse_policy
from planner.schema import Column, Schema, Table
from planner.sql.sql_types import Family, SqlType

SPAN = (date(2024, 1, 1), date(2024, 12, 31))
VISITS = Schema(
    {
        "visit": Table(
            "visit",
            "public",
            (Column("id", "bigint", False), Column("came", "timestamp with time zone", True)),
            (("id",),),
            (),
        )
    }
)
POLICY = parse_policy(
    """
name = "x"
database = { url = "env:DB" }
ledger = { path = "l" }
privacy = { epsilon = 1, max_epsilon = 1 }
privacy_units = { visit = "id" }
tables = { visit = { columns = { came = { range = [2024-01-01, 2024-12-31] } } } }
"""
)


def test_conditions_leave_the_days_between_their_bounds() -> None:
    for condition, first, last in [
        ("v.came < CAST('2024-03-01' AS DATE)", "2024-01-01", "2024-02-29"),
        ("v.came < CAST('2024-03-01 00:00:01' AS TIMESTAMP)", "2024-01-01", "2024-03-01"),
        ("v.came <= CAST('2024-03-01' AS DATE)", "2024-01-01", "2024-03-01"),
        ("v.came > CAST('2024-03-01' AS DATE)", "2024-03-01", "2024-12-31"),
        ("v.came = CAST('2024-03-01' AS DATE)", "2024-03-01", "2024-03-01"),
        ("v.came BETWEEN CAST('2023-03-01' AS DATE) AND CAST('2024-02-01' AS DATE)", "2024-01-01", "2024-02-01"),
        ("v.came <> CAST('2024-03-01' AS DATE)", "2024-01-01", "2024-12-31"),
        ("v.left_at < CAST('2024-03-01' AS DATE)", "2024-01-01", "2024-12-31"),
        ("v.came < v.left_at", "2024-01-01", "2024-12-31"),
    ]:  # fmt: skip
        left = days_left([parse_one(condition, dialect="postgres")], ("v", "came"), SPAN)
        assert tuple(map(str, left)) == (first, last)


def test_contradictions_leave_no_day() -> None:
    conditions = [parse_one(f"v.came {sign} CAST('2024-03-01' AS DATE)", dialect="postgres") for sign in "<>"]
    first, last = days_left(conditions, ("v", "came"), SPAN)
    assert last < first


def test_a_key_of_times_has_the_finest_step_that_it_tells_apart() -> None:
    """A time between two of a series must not make a value of its own."""
    for key, step in [
        ("extract(year FROM came)", "day"), ("date_trunc('month', came)::date", "day"), ("came::date + 1", "day"),
        ("extract(hour FROM came) * 100 + extract(month FROM came)", "hour"),
        ("date_trunc('minute', came)", "minute"), ("date_trunc('second', came)", None),
        ("date_trunc('month', came + INTERVAL '3' HOUR)", None),
        ("CASE WHEN came > '2024-05-05 12:00' THEN 1 ELSE 0 END", None),
        ("extract(year FROM CASE WHEN came > '2024-12-31 12:00' THEN came END)", None),
    ]:  # fmt: skip
        query = bind(parse(f"SELECT {key}, count(*) FROM visit GROUP BY 1"), VISITS, POLICY)
        value: exp.Expr = query.keys[0].value
        assert finest_step([value], ("visit_0", "came"), SqlType(Family.TIMESTAMPTZ), SPAN) == step
