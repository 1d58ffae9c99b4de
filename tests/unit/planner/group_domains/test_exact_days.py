"""Days apart from other conditions: both together say what the conjunction did, whatever was taken for days."""

from __future__ import annotations

import itertools
from datetime import date, datetime, timedelta
from functools import cache

import duckdb
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from planner.group_domains.day_conditions import ALL_DAYS, DayColumn, Run, common_runs, split_days, without_runs

_MOMENT, _DATE = DayColumn("a", "at", False, False), DayColumn("a", "at", True, False)

_FIRST = date(2024, 2, 25)
_DAYS = [_FIRST + timedelta(days=place) for place in range(12)]


def _conditions(sql: str) -> list[exp.Expr]:
    tree = parse_one(sql, dialect="postgres")
    for column in tree.find_all(exp.Column):
        column.set("table", exp.to_identifier("a", quoted=True))
        column.set("this", exp.to_identifier(column.name, quoted=True))
    return list(tree.flatten()) if isinstance(tree, exp.And) else [tree]


def _told(sql: str, column: DayColumn) -> tuple[list[tuple[str, str]], int] | None:
    found = split_days(_conditions(sql), column)
    return None if found is None else ([(str(first), str(last)) for first, last in found[0]], len(found[1]))


def test_comparisons_of_moments_that_are_nothing_but_days() -> None:
    for sql, days, others in [
        ("at >= CAST('2024-03-01' AS TIMESTAMP) AND at < CAST('2024-04-01' AS TIMESTAMP)", ("2024-03-01",
         "2024-03-31"), 0),
        ("at BETWEEN CAST('2024-03-01' AS TIMESTAMP) AND CAST('2024-03-31 23:59:59.999999' AS TIMESTAMP)",
         ("2024-03-01", "2024-03-31"), 0),
        ("at <= CAST('2024-03-31 23:59:59.999999' AS TIMESTAMP) AND x = 1", ("None", "2024-03-31"), 1),
        ("at > CAST('2024-03-31 23:59:59.999999' AS TIMESTAMP)", ("2024-04-01", "None"), 0),
        ("at < CAST('2024-03-31 12:00:00' AS TIMESTAMP) AND at >= CAST('2024-03-01' AS TIMESTAMP)", ("2024-03-01",
         "None"), 1),
        ("at <= CAST('2024-03-31 00:00:00' AS TIMESTAMP)", ("None", "None"), 1),
        ("at = CAST('2024-03-31 00:00:00' AS TIMESTAMP)", ("None", "None"), 1),
        ("at > CAST('2024-03-31 00:00:00' AS TIMESTAMP)", ("None", "None"), 1), ("x < 3", ("None", "None"), 1),
    ]:  # fmt: skip
        assert _told(sql, _MOMENT) == ([days], others)


def test_comparisons_of_dates_are_nothing_but_days() -> None:
    for sql, days in [
        ("at <= CAST('2024-03-31' AS DATE)", ("None", "2024-03-31")),
        ("at > CAST('2024-03-31' AS DATE)", ("2024-04-01", "None")),
        ("at = CAST('2024-03-31' AS DATE)", ("2024-03-31", "2024-03-31")),
        ("at BETWEEN CAST('2024-03-01' AS DATE) AND CAST('2024-03-31' AS DATE)", ("2024-03-01", "2024-03-31")),
    ]:  # fmt: skip
        assert _told(sql, _DATE) == ([days], 0)


def test_stretches_that_are_joined_by_or() -> None:
    sql = "(at >= CAST('2024-01-01' AS DATE) AND at < CAST('2024-02-01' AS DATE)) OR at = CAST('2024-03-09' AS DATE)"
    assert _told(f"({sql}) AND x = 1", _DATE) == ([("2024-01-01", "2024-01-31"), ("2024-03-09", "2024-03-09")], 1)
    assert _told(f"({sql} OR x = 1)", _DATE) == ([("None", "None")], 1)


def test_rows_of_no_day_are_not_taken_for_rows_of_days() -> None:
    nullable = DayColumn("a", "at", True, True)
    assert _told("x = 1", nullable) is None
    assert _told("at >= CAST('2024-03-31' AS DATE)", nullable) == ([("2024-03-31", "None")], 0)
    assert _told("at > CAST('2024-03-31' AS DATE) AND at < CAST('2024-03-31' AS DATE)", _DATE) is None


_MOMENTS = [datetime.combine(day, hour) for day in _DAYS for hour in (datetime.min.time(), datetime.max.time())]
_MOMENTS += [datetime.combine(day, datetime.min.time()) + timedelta(hours=7) for day in _DAYS]
_COMPARED = st.tuples(st.sampled_from([">=", ">", "<", "<=", "="]), st.sampled_from(_MOMENTS))
_LITERAL = "CAST('{}' AS TIMESTAMP)"


@given(st.lists(_COMPARED, min_size=1, max_size=3), st.lists(_COMPARED, max_size=2))
def test_days_and_the_rest_leave_the_rows_that_the_database_leaves(
    conjunction: list[tuple[str, datetime]], alternatives: list[tuple[str, datetime]]
) -> None:
    parts = [f'"at" {operator} {_LITERAL.format(moment)}' for operator, moment in conjunction]
    if alternatives:
        parts.append("(" + " OR ".join(f'"at" {one} {_LITERAL.format(moment)}' for one, moment in alternatives) + ")")
    found = split_days(_conditions(" AND ".join(parts)), _MOMENT)
    kept = _rows(" AND ".join(parts))
    if found is None:
        assert kept == []
        return
    rest = " AND ".join(f"({one.sql('duckdb')})" for one in found[1]) or "TRUE"
    assert [row for row in _rows(rest) if _within(row[0].date(), found[0])] == kept


@cache
def _database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute('CREATE TABLE a ("at" TIMESTAMP)')
    connection.executemany("INSERT INTO a VALUES (?)", [[moment] for moment in _MOMENTS])
    return connection


def _rows(condition: str) -> list[tuple[datetime]]:
    return _database().execute(f'SELECT "at" FROM a WHERE {condition} ORDER BY 1').fetchall()


def _within(day: date, runs: tuple[Run, ...]) -> bool:
    return any((first is None or first <= day) and (last is None or day <= last) for first, last in runs)


_END = st.sampled_from([None, *_DAYS])
_RUN = st.tuples(_END, _END).filter(lambda run: run[0] is None or run[1] is None or run[0] <= run[1])
_RUNS = st.lists(_RUN, max_size=4).map(lambda runs: common_runs(runs, ALL_DAYS))


@given(_RUNS, _RUNS)
def test_days_in_both_and_days_not_taken(left: tuple[Run, ...], right: tuple[Run, ...]) -> None:
    for day in (_FIRST - timedelta(days=3), *_DAYS, _DAYS[-1] + timedelta(days=3)):
        one, other = _within(day, left), _within(day, right)
        assert _within(day, common_runs(left, right)) == (one and other)
        assert _within(day, without_runs(left, right)) == (one and not other)
    ordered = without_runs(left, right)
    for before, after in itertools.pairwise(ordered):
        assert before[1] is not None and after[0] is not None and before[1] < after[0] - timedelta(days=1)
