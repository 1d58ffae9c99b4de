"""SQL around answers has a value for every row: PostgreSQL's own, or NULL where PostgreSQL ends the statement."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal

import duckdb
import psycopg
import pytest

from planner.errors import PlannerError, StatementTooComplex, UnsupportedSQL
from planner.parsing.parse import read
from planner.postprocessing import total_functions
from planner.postprocessing.allowed_sql import check_allowed
from planner.postprocessing.write_outer import Cell, OuterStatement, Relation, guard_divisions, write_outer
from planner.schema import Dialect, Schema
from planner.sql.sql_types import ResultType
from server.backends.duckdb import _SESSION
from server.backends.embedded import EmbeddedPostgres
from tests.golden.tpch.queries import policy
from tests.support.seeds import sampled

COLUMNS: tuple[tuple[str, ResultType], ...] = (
    ("n", "numeric"), ("m", "numeric"), ("k", "int8"), ("t", "text"), ("d", "date"), ("s", "timestamp"),
    ("b", "bool"),
)  # fmt: skip
ROWS: list[tuple[Cell, ...]] = [
    (0, 0, 0, "", None, None, None),
    (1, -1, 1, "a", "2024-02-29", "2024-02-29 23:59:59", True),
    (-3.5, 2.5, -7, "2024-02-29", "0001-01-01", "0001-01-01 00:00:00", False),
    (40, 1e15, 3_000_000_000, "2023-02-29", "9999-12-31", "9999-12-31 23:59:59.999999", True),
    (1e15, -1e15, 9_223_372_036_854_775_807, "12", "1970-01-01", "1970-01-01 00:00:00", True),
    (-1e300, 1e300, -9_223_372_036_854_775_807, "-1.5e3", "2024-01-01", "2024-01-01 00:00:00", None),
    (None, 31, None, "x" * 300, "2000-12-31", None, False),
    (2.4, 12, 13, "true", "2024-01-31", "2024-01-31 12:00:00", None),
    (0.5, 0.25, 65, "\\", None, None, True),
    (1e-9, 700, 55_300, "NaN", None, None, True),
    (3, 5, 1, "24:00:00", None, None, True),
]
EVERYWHERE = (
    "ln(n)", "ln(n - 40)", "log(n)", "log(m, n)", "log10(m)", "sqrt(n)", "sqrt(n * m)", "exp(n)", "exp(-m)",
    "power(n, 2)", "power(n, m)", "n ^ 0.5", "power(m, -1)", "acos(n)", "asin(m)", "sin(n::float)", "n / m", "n % m",
    "n::int", "k::int", "m::bigint", "n::smallint", "n::numeric(5, 2)", "m::numeric(3)", "n::float", "k::smallint",
    "t::int", "t::bigint", "t::numeric", "t::float", "t::date", "t::timestamp", "t::boolean", "t::text", "b::int",
    "d::timestamp", "s::date", "d::text", "n::text", "coalesce(n, m)::int", "round(n)::int", "floor(m)::bigint",
    "(CASE WHEN b THEN n ELSE m END)::int", "n::int * 1000000", "k::int + k::int", "k * k", "k + 1", "k - m::bigint",
    "d + n::int", "d - k::int", "d + round(m)::int", "(d + n::int)::text", "INTERVAL '1 day' * n::int",
    "s + INTERVAL '1 day' * n::int", "d - INTERVAL '1 month' * k::int", "s + k::int * INTERVAL '1 second'",
    "make_date(n::int, m::int, k::int)", "make_date(2023, 2, k::int)", "make_date(2024, m::int, 31)",
    "extract(year FROM d + n::int)", "chr(k::int)", "chr(n::int)", "lpad(t, n::int, '*')", "rpad(t, k::int)",
    "repeat(t, n::int)", "repeat('ab', k::int)",
    "left(t, n::int)", "right(t, m::int)", "substring(t, 1, n::int)", "substring(t FROM n::int FOR m::int)",
    "split_part(t, '-', n::int)", "'a' LIKE t", "t LIKE t", "ntile(k::int) OVER (ORDER BY d)",
    "nth_value(n, k::int) OVER (ORDER BY d)", "to_timestamp(m)::date", "length(t) * k::int", "cbrt(n)",
    "degrees(n)", "atan(m)", "round(n, 2)", "trunc(m)", "n + m", "n - m", "n * m", "t::date::text::date",
    "sqrt(ln(n))", "ln(sqrt(n) - 1)::int", "power(power(n, 0.5), m)", "greatest(n, m)::smallint",
)  # fmt: skip
ON_POSTGRES = (
    "overlay(t PLACING 'x' FROM n::int FOR m::int)", "width_bucket(n, m, 10, k::int)", "to_char(n, '999D99')",
    "to_char(d, 'YYYY-MM')", "t::uuid", "t::interval", "t::time", "make_date(n::int, 2, 30)",
    "to_char(n, 'FM999,999.00')", "regexp_replace(t, '[0-9]+', '#')", "t::real", "m::real", "cot(m)",
)  # fmt: skip


def written(sql: str, dialect: Dialect) -> OuterStatement:
    """The statement over the answer, as the proxy writes it."""
    statement = read(sql)
    check_allowed(read(sql.replace('"noisegate answer 1"', "answer")).tree, statement.tokens[:0], dialect)
    guard_divisions(statement.tree)
    relation = Relation("noisegate answer 1", COLUMNS)
    return write_outer(statement.tree, [relation], Schema({}), policy(), dialect)


@pytest.fixture(scope="module")
def postgres(embedded_postgres: EmbeddedPostgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


@pytest.fixture(scope="module")
def file() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for setting in _SESSION:
            connection.execute(setting)
        yield connection


def _told(statement: OuterStatement) -> str:
    """Values as text, which every value has."""
    shown = ["CAST(c0 AS BIGINT)", "CAST(c1 AS TEXT)"]
    return statement.with_rows({"noisegate answer 1": [(*row,) for row in ROWS]}).rows_sql(shown, 1_000)


def _numbered(expression: str) -> str:
    """With the number of the row, which its values tell."""
    cases = " ".join(
        f"WHEN m {'IS NULL' if row[1] is None else f'= {row[1]}'} THEN {place}" for place, row in enumerate(ROWS)
    )
    return f'SELECT CASE {cases} END AS place, {expression} AS x FROM "noisegate answer 1"'


def _truth(connection: psycopg.Connection, expression: str) -> dict[int, str | None]:
    """What PostgreSQL says of each row alone; NULL where it fails."""
    found: dict[int, str | None] = {}
    for place, row in enumerate(ROWS):
        relation = Relation("noisegate answer 1", COLUMNS, (row,)).sql("postgres")
        try:
            answer = connection.execute(
                f'WITH {relation} SELECT CAST({expression} AS TEXT) FROM "noisegate answer 1"'.encode()
            ).fetchone()
        except psycopg.Error:
            answer = (None,)
        assert answer is not None
        found[place] = answer[0]
    return found


def _alike(one: str | None, other: str | None) -> bool:
    if one == other or one is None or other is None:
        return one == other
    try:
        return math.isclose(float(Decimal(one)), float(Decimal(other)), rel_tol=1e-9, abs_tol=1e-9)
    except ArithmeticError:
        return False


_LONG = 100_000


def _is_extreme(value: str | None) -> bool:
    """A value that a guard leaves out: a number nearly beyond bigint, one as good as 0, and a very long text."""
    if value is not None and len(value) > _LONG:
        return True
    try:
        return value is not None and not 1e-290 < abs(float(value)) < 9.2e18
    except ValueError:
        return False


def test_on_postgres_each_value_is_its_own_or_null(postgres: psycopg.Connection) -> None:
    failing = 0
    for expression in sampled((*EVERYWHERE, *ON_POSTGRES), 40):
        rows: dict[int, str | None] = dict(
            postgres.execute(_told(written(_numbered(expression), "postgres")).encode()).fetchall()
        )
        truth = rows if "OVER" in expression else _truth(postgres, expression)
        for place, value in rows.items():
            expected = truth[place]
            assert _alike(value, expected) or (value is None and _is_extreme(expected)), (expression, ROWS[place])
        failing += any(value is None for value in truth.values())
    assert failing > 10


def test_on_duckdb_each_row_has_a_value(file: duckdb.DuckDBPyConnection) -> None:
    for expression in sampled(EVERYWHERE, 40):
        file.execute(_told(written(_numbered(expression), "duckdb"))).fetchall()


def test_texts_have_bounded_lengths(postgres: psycopg.Connection, file: duckdb.DuckDBPyConnection) -> None:
    """Also those of constants, and of functions in functions: one text could fill the memory."""
    for expression, expected in (
        ("length(repeat(repeat('x', 10000), 10000))", None), ("length(repeat(repeat('x', 100), 100))", "10000"),
        ("length(replace(repeat('x', 50000), 'x', repeat('y', 50000)))", None), ("length(rpad('x', 9000))", "9000"),
    ):  # fmt: skip
        for found in (
            postgres.execute(_told(written(_numbered(expression), "postgres")).encode()).fetchall(),
            file.execute(_told(written(_numbered(expression), "duckdb"))).fetchall(),
        ):
            assert {value for _, value in found} == {expected}, expression
    for expression in ("repeat('x', 10000000)", "lpad('x', 10000000)"):
        with pytest.raises(UnsupportedSQL, match="so long"):
            written(_numbered(expression), "duckdb")


def test_counts_of_rows_may_be_negative(postgres: psycopg.Connection, file: duckdb.DuckDBPyConnection) -> None:
    for count in ("(SELECT min(m) FROM {})", "(SELECT min(n) - 7 FROM {})", "(SELECT max(n) FROM {})"):
        for clause in ("LIMIT", "OFFSET"):
            answer = '"noisegate answer 1"'
            sql = f"SELECT k, t FROM {answer} ORDER BY 1 {clause} {count.format(answer)}"
            assert len(postgres.execute(_told(written(sql, "postgres")).encode()).fetchall()) in (0, len(ROWS))
            assert len(file.execute(_told(written(sql, "duckdb"))).fetchall()) in (0, len(ROWS))


def test_a_value_of_several_rows_is_null(postgres: psycopg.Connection, file: duckdb.DuckDBPyConnection) -> None:
    answer = '"noisegate answer 1"'
    for where, several in (("", True), ("WHERE z.m = a.m", False), ("WHERE z.k > a.k", True)):
        sql = f"SELECT k, (SELECT t FROM {answer} AS z {where}) FROM {answer} AS a"
        found = postgres.execute(_told(written(sql, "postgres")).encode()).fetchall()
        assert (sum(value is None for _, value in found) > 1) is several
        assert sorted(map(str, file.execute(_told(written(sql, "duckdb"))).fetchall())) == sorted(map(str, found))


def test_a_pattern_is_a_constant_and_tried_before_the_charge() -> None:
    for sql in ("to_char(n, t)", "to_date(t, 'YYYY-MM-DD')", "to_number(t, '999')", "regexp_replace(t, t, '')"):
        with pytest.raises(PlannerError):
            written(_numbered(sql), "postgres")
    assert written(_numbered("to_char(n, '9.9.9')"), "postgres").trial
    assert not written(_numbered("ln(n)"), "postgres").trial


def test_guards_in_guards_have_a_bound() -> None:
    nested = "n"
    for _ in range(9):
        nested = f"power({nested}, 0.5)"
    with pytest.raises(StatementTooComplex):
        written(_numbered(nested), "postgres")


def test_a_mutant_without_guards_is_caught(postgres: psycopg.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one function: what has no value ends the statement."""
    monkeypatch.setattr(total_functions, "_ARGUMENTS", {})
    with pytest.raises(psycopg.Error):
        postgres.execute(_told(written(_numbered("sqrt(n)"), "postgres")).encode())
