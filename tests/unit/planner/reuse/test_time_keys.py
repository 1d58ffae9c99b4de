"""Which group keys say when, and that they say it as the database does, day by day."""

from __future__ import annotations

from datetime import date, timedelta

import duckdb

from planner.binding.bound_query import BoundQuery
from planner.policy.policy import Policy, parse_policy
from planner.reuse.period_scope import TimeKey, time_key
from planner.schema import Column, ForeignKey, Schema, Table
from planner.sql.sql_types import sql_type
from tests.support.growing_clinic import POLICY
from tests.support.planning import bound

DAYS = [date(2026, 1, 1) + timedelta(days=number) for number in range(365)]


def clinic(moment: str) -> tuple[Schema, Policy]:
    """The clinic's catalog, whose visits have a date or moment of one type."""
    names = Table(
        "ward", "public", (Column("name", "text", False), Column("floor", "integer", True)), (("name",),), ()
    )
    people = Table("patient", "public", (Column("id", "bigint", False), Column("town", "text", True)), (("id",),), ())
    columns = (
        Column("id", "bigint", False), Column("patient_id", "bigint", True), Column("ward", "text", True),
        Column("admitted_at", moment, True), Column("cost", "integer", True),
    )  # fmt: skip
    keys = (ForeignKey(("patient_id",), "patient", ("id",)),)
    visits = Table("visit", "public", columns, (), keys)
    holidays = Table("holiday", "public", (Column("day", "date", True),), (), ())
    tables = {table.name: table for table in (names, people, visits, holidays)}
    return Schema(tables), parse_policy(POLICY.format(url="env:UNUSED", privacy=""))


KEYS = [
    *(f"date_trunc('{unit}', admitted_at)" for unit in ("day", "week", "month", "quarter", "year")),
    *(f"extract({field} from admitted_at)" for field in ("year", "quarter", "month", "week", "day", "dow", "isodow",
     "doy", "isoyear")),
    "date_trunc('month', admitted_at)::date", "extract(month from date_trunc('quarter', admitted_at))",
    "date_trunc('year', date_trunc('week', admitted_at))", "admitted_at::date", "date_part('week', admitted_at)",
]  # fmt: skip


def test_a_key_has_on_each_day_what_the_database_says() -> None:
    kinds = {"date": "date", "timestamp without time zone": "timestamp", "timestamp with time zone": "timestamptz"}
    for moment, kind in kinds.items():
        hour = "" if moment == "date" else " + INTERVAL '23' HOUR"
        with duckdb.connect() as connection:
            connection.execute(f"""SET TimeZone = 'UTC'; CREATE TABLE visit_0 AS SELECT
                CAST(DATE '2026-01-01' + CAST(d AS integer){hour} AS {kind}) AS admitted_at FROM range(365) t(d)""")
            for key in KEYS:
                asked, said = _said(key, moment)
                assert said is not None, key
                text = "VARCHAR" if isinstance(said.of_day(DAYS[0]), str) else "BIGINT"
                value = f"CAST({asked.keys[0].value.sql('duckdb')} AS {text})"
                rows = connection.execute(f"SELECT {value} FROM visit_0 ORDER BY admitted_at").fetchall()
                assert [row for (row,) in rows] == [said.of_day(day) for day in DAYS], (key, moment)


def test_what_another_thing_decides_is_no_such_key() -> None:
    for key in [
        "extract(hour from admitted_at)", "date_trunc('hour', admitted_at)",
        "date_trunc('month', admitted_at + INTERVAL '1' DAY)", "extract(month from admitted_at - INTERVAL '6' HOUR)",
        "CASE WHEN admitted_at < DATE '2026-03-01' THEN 'a' ELSE 'b' END", "ward",
    ]:  # fmt: skip
        assert _said(key, "timestamp without time zone")[1] is None


def _said(key: str, moment: str) -> tuple[BoundQuery, TimeKey | None]:
    schema, policy = clinic(moment)
    asked = bound(f"SELECT {key}, count(*) FROM visit GROUP BY 1", schema, policy)
    (alias,) = (entry.alias for entry in asked.tables)
    declared = policy.column("visit", "admitted_at").dates
    return asked, time_key(0, asked.keys[0], (alias, "admitted_at"), sql_type(moment), declared)
