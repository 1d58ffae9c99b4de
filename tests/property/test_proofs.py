"""Every proof about a number holds of every hostile row, on both databases; and nothing raises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Context, Decimal, localcontext
from typing import Any

import duckdb
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from planner.errors import PlannerError, UnsupportedSQL
from planner.expressions.bind_scalar import bind_measure, bind_scalar
from planner.expressions.scalar import Digits
from planner.rewriting.dialects.duckdb import duckdb_sql
from planner.rewriting.guard_weight import guard_weight
from planner.rewriting.rewrite import to_sql
from planner.schema import Column, Schema, Table
from planner.sql.trees import nodes, table_sql
from server.backends.embedded import EmbeddedPostgres
from tests.property.denominators import OF_ONE, constant, number
from tests.support import hostile
from tests.support.hostile import HostileNames
from tests.support.proofs import Proof, broken, recorded
from tests.support.seeds import examples, sampled

TYPES = hostile.TYPES | {"k": "numeric(30,12)", "w": "numeric(9,0)", "q": "numeric(3,5)"}
VALUES = {
    **hostile.VALUES,
    "i": [*hostile.VALUES["i"], "50", "49", "-7", "14", "57", "9007199254740993", "1000", "-100"],
    "j": [*hostile.VALUES["j"], "50", "43", "-7", "10"],
    "n": [*hostile.VALUES["n"], "50", "49.99", "7", "-7", "0.07", "999.995"],
    "m": [*hostile.VALUES["m"], "1.00", "1.0", "1e-100", "0.00000000001", "50", "7e-50", "-7", "1.5e-90"],
    "f": [*hostile.VALUES["f"], "1e-11", "0.29", "1e-100", "-1e-60", "1.5e-90", "50", "7", "4503599627370497"],
    "r": [*hostile.VALUES["r"], "1e-45", "-0", "50", "7"],
    "t": [*hostile.VALUES["t"], "abc", "x" * 1_100_000],
    "k": ["NaN", "123456789012345678.123456789012", "0.000000000001", "-0.000000000001", "0", "0.5", "7", "50", None],
    "w": ["NaN", "999999999", "-999999999", "0", "7", "50", "-1", None],
    "q": ["NaN", "0.00999", "-0.00999", "0.00001", "0", None],
}  # fmt: skip
ROWS = 120

# What DuckDB can hold: no NaN among decimals, no more than 38 digits.
DUCKDB_TYPES = TYPES | {"m": "numeric(30,12)", "q": "numeric(5,5)", "c": "text"}
DUCKDB_VALUES = {
    name: [value for value in values if value != "NaN" or not DUCKDB_TYPES[name].startswith("numeric")]
    for name, values in VALUES.items()
} | {
    "m": ["123456789012345678.123456789012", "0.000000000001", "-0.5", "7", "0", "50", None],
    "d": ["infinity", "-infinity", "0001-01-08", "9999-12-31", "2024-02-29", None],
    "s": ["infinity", "-infinity", "2024-02-29 23:59:59.999999", "4001-01-01", None],
    "z": ["infinity", "-infinity", "4001-01-01", None],
}  # fmt: skip
TABLE_H = Table("h", "main", tuple(Column(name, kind, True) for name, kind in DUCKDB_TYPES.items()), (), ())
SCHEMA = Schema({"h": TABLE_H})

RANGES = [
    (-100.0, 1000.0), (0.0, 10.0), (-7.0, -3.0), (0.5, 100.0), (1e-11, 1e-11), (-1e90, 1e90), (-1e-80, 1e-70),
    (0.2, 0.8), (1.0, 1.0), (1e-90, 2e-90),
]  # fmt: skip


def _created(types: dict[str, str]) -> str:
    return f"CREATE TEMPORARY TABLE h ({', '.join(f'{name} {kind}' for name, kind in types.items())})"


def _rows(values: dict[str, list[str | None]]) -> Iterator[list[str | None]]:
    for row in range(ROWS):
        yield [options[row * (place + 1) % len(options)] for place, options in enumerate(values.values())]


@pytest.fixture(scope="module")
def postgres(embedded_postgres: EmbeddedPostgres) -> Iterator[psycopg.Connection[Any]]:
    """Hostile rows in PostgreSQL."""
    holes = ", ".join(f"%s::text::{kind}" for kind in TYPES.values())
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(_created(TYPES).encode())
        for row in _rows({name: VALUES[name] for name in TYPES}):
            connection.execute(f"INSERT INTO h VALUES ({holes})".encode(), row)
        yield connection


@pytest.fixture
def asked() -> Iterator[Counter[str]]:
    """How many statements a test asks: more than one of each example."""
    asked: Counter[str] = Counter()
    yield asked
    assert asked["statements"] > examples(25, 6_000)


@pytest.fixture(scope="module")
def file() -> Iterator[duckdb.DuckDBPyConnection]:
    """Hostile rows in DuckDB."""
    holes = ", ".join(f"?::text::{kind}" for kind in DUCKDB_TYPES.values())
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(_created(DUCKDB_TYPES))
        for row in _rows({name: DUCKDB_VALUES[name] for name in DUCKDB_TYPES}):
            connection.execute(f"INSERT INTO h VALUES ({holes})", row)
        yield connection


def _proved(text: str, names: HostileNames) -> tuple[list[Proof], list[exp.Expr]]:
    """The proofs about every part of an expression, and SQL of it that may do anything but fail."""
    select = parse_one(f"SELECT {text}", dialect="postgres")
    assert isinstance(select, exp.Select)
    node: exp.Expr = select.expressions[0]
    total = []
    with recorded() as proofs:
        try:
            total.append(bind_scalar(node, names).sql)
            sql, bounds = bind_measure(node, names)
            total.append(guard_weight(sql, bounds.hi or 1.0, bounds.digits).sql)
        except PlannerError:
            pass
    return list({proof.sql: proof for proof in proofs}.values()), total


def _exact_parts(text: str, names: HostileNames) -> dict[exp.Expr, Digits]:
    """SQL of every part that the planner computes exactly, and the digits that it proves."""
    found = {}
    for part in nodes(parse_one(f"SELECT {text}", dialect="postgres"))[1:]:
        try:
            scalar = bind_scalar(part, names)
        except PlannerError:  # no expression, or one that is refused
            continue
        if scalar.plain is not None and scalar.digits is not None:
            found[scalar.plain] = scalar.digits
    return found


def _fits(value: Decimal | int | None, digits: Digits) -> bool:
    """Has a number no more digits than were proved?"""
    if value is None or not Decimal(value).is_finite():
        return True
    with localcontext(Context(prec=2000)):
        scaled = Decimal(value).scaleb(digits.scale)
        return abs(Decimal(value)) < Decimal(10) ** digits.whole and scaled == scaled.to_integral_value()


def _exact_on_postgres(text: str, names: HostileNames, connection: psycopg.Connection[Any]) -> int:
    """Is every part that counts as exact a whole number or a numeric, of the digits that are proved?"""
    parts = _exact_parts(text, names)
    if not parts:
        return 0
    columns = [column for part in parts for column in (to_sql(part), f"pg_typeof({to_sql(part)})::text")]
    for row in connection.execute(f"SELECT DISTINCT {', '.join(columns)} FROM pg_temp.h".encode()).fetchall():
        for place, (part, digits) in enumerate(parts.items()):
            value, kind = row[2 * place : 2 * place + 2]
            assert kind in ("integer", "bigint", "smallint", "numeric"), (to_sql(part), kind)
            assert _fits(value, digits), (to_sql(part), value, digits)
    return len(parts)


def _on_postgres(text: str, span: tuple[float, float], connection: psycopg.Connection[Any]) -> int:
    proofs, total = _proved(text, HostileNames(*span, types=TYPES))
    columns = [to_sql(proof.sql) for proof in proofs] + [to_sql(sql) for sql in total]
    if columns:
        rows = connection.execute(f"SELECT {', '.join(columns)} FROM pg_temp.h".encode()).fetchall()
        assert not broken(proofs, rows), text
    return len(columns)


def _on_duckdb(text: str, span: tuple[float, float], connection: duckdb.DuckDBPyConnection) -> int:
    proofs, total = _proved(text, HostileNames(*span, types=DUCKDB_TYPES))
    asked = 0
    for place, sql in enumerate([*(proof.sql for proof in proofs), *total]):
        try:
            statement = duckdb_sql(exp.select(sql).from_(table_sql(TABLE_H, "h")), SCHEMA)
        except UnsupportedSQL:
            continue
        asked += 1
        rows = connection.execute(statement.replace('"main"."h"', "h")).fetchall()
        assert not broken(proofs[place : place + 1], rows), text
    return asked


_TRIED = settings(max_examples=examples(25, 6_000), suppress_health_check=list(HealthCheck))


@_TRIED
@given(text=number(3), span=st.sampled_from(RANGES))
def test_proofs_hold_on_postgresql(
    text: str, span: tuple[float, float], postgres: psycopg.Connection[Any], asked: Counter[str]
) -> None:
    asked["statements"] += _on_postgres(text, span, postgres)


@_TRIED
@given(text=number(3), span=st.sampled_from(RANGES))
def test_proofs_hold_on_duckdb(
    text: str, span: tuple[float, float], file: duckdb.DuckDBPyConnection, asked: Counter[str]
) -> None:
    asked["statements"] += _on_duckdb(text, span, file)


@_TRIED
@given(text=st.one_of(number(2), constant(3)))
def test_what_counts_as_exact_is_exact_on_postgresql(
    text: str, postgres: psycopg.Connection[Any], asked: Counter[str]
) -> None:
    asked["statements"] += _exact_on_postgres(text, HostileNames(types=TYPES), postgres)


def test_functions_of_literals_are_exact_on_postgresql(postgres: psycopg.Connection[Any]) -> None:
    """ceil(2) is a double to PostgreSQL, whose largest is far below the products that its digits allow."""
    large = " * ".join(["1000000000000000000000000000000"] * 11)
    for example in sampled([one.format(value) for one in OF_ONE for value in ("2", "-3", "1e0", "1.5")], 30):
        for text in (example, f"({example}) * i * {large}", f"mod({example}, 7) * k"):
            _exact_on_postgres(text, HostileNames(types=TYPES), postgres)
        _on_postgres(f"({example}) * i * {large} >= 0", RANGES[0], postgres)
