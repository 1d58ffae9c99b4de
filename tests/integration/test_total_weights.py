"""No value that a column can hold makes a weight fail, leave [0, 2^30] or be NULL; asked of a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from sqlglot import exp

from planner.expressions import intervals
from planner.expressions.column_ranges import clamp_column
from planner.expressions.intervals import Bounds
from planner.rewriting.guard_weight import UNITS, guard_weight
from planner.rewriting.rewrite import to_sql
from planner.sql.sql_types import Family, sql_type
from planner.sql.trees import bound_column

VALUES = {
    "numeric": ["NaN", "Infinity", "-Infinity", "1e-400", "1e400", "-1e300", "1.5e-90", "0.5", "3", None],
    "numeric(15,2)": ["NaN", "0.01", "9999999999999.99", "-0.01", None],
    "double precision": ["NaN", "Infinity", "-Infinity", "1e-308", "-5e-324", "1e308", "1.5e-90", "0.5", "-0", None],
    "real": ["NaN", "Infinity", "1e38", "1e-38", "0.5", "-3", None],
    "bigint": ["9223372036854775807", "-9223372036854775808", "0", "3", None],
    "smallint": ["32767", "-32768", "1", None],
}
RANGES = [(0.0, 1.0), (-3.0, 2.0), (5.0, 7.0), (0.0, 0.0), (0.0, 1e90), (-1e90, 1e90)]
SMALL_RANGES = [(-1e-90, 1e-90), (1e-90, 2e-90)]


@pytest.fixture
def connection(scratch_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(scratch_url, autocommit=True) as connection:
        yield connection


def test_weights_are_total(connection: psycopg.Connection) -> None:
    for kind in VALUES:
        _check_kind(kind, connection)
        connection.execute(b"DROP TABLE t")


def _check_kind(kind: str, connection: psycopg.Connection) -> None:
    connection.execute(f"CREATE TEMP TABLE t (x {kind})".encode())
    connection.execute(b"INSERT INTO t SELECT unnest(%s::text[])::text::" + kind.encode(), [VALUES[kind]])
    declared = RANGES if sql_type(kind).family is Family.INTEGER else RANGES + SMALL_RANGES
    checked = 0
    for low, high in declared:
        clamped, bounds = clamp_column(bound_column("t", "x"), sql_type(kind), low, high)
        cube = exp.Mul(this=exp.Mul(this=clamped.copy(), expression=clamped.copy()), expression=clamped.copy())
        for number, proved in (
            (clamped, bounds),
            (cube, intervals.product(intervals.product(bounds, bounds), bounds)),
        ):
            if proved.weighable:
                checked += _check(number, proved, connection)
    assert checked >= 2 * len(VALUES[kind]), kind


def _check(number: exp.Expr, proved: Bounds, connection: psycopg.Connection) -> int:
    negated = exp.Neg(this=exp.Paren(this=number.copy()))
    columns = [
        number,
        *(guard_weight(*of, proved.digits).sql for of in ((number, proved.hi or 1.0), (negated, -proved.lo or 1.0))),
    ]
    if proved.hi < 0 or proved.lo > 0:
        columns[1:] = [guard_weight(number, proved.size, proved.digits).sql]
    known = "x IS NOT NULL AND x::text <> 'NaN'"
    rows = connection.execute(f"SELECT {known}, {', '.join(map(to_sql, columns))} FROM t".encode()).fetchall()
    for present, value, *weights in rows:
        assert (value is not None) == present
        assert value is None or proved.lo <= value <= proved.hi
        assert all(0 <= weight <= UNITS for weight in weights)
        assert present or not any(weights)
    return len(rows)
