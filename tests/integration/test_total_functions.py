"""No value makes an expression of the table fail, and no sum leaves its bounds; asked of a real PostgreSQL."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import product

import duckdb
import psycopg
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from planner.errors import PlannerError, SensitivityUnbounded, UnsupportedSQL
from planner.expressions import casts, datetimes
from planner.expressions.bind_scalar import bind_measure, bind_scalar
from planner.expressions.intervals import Bounds
from planner.expressions.numeric_functions import near
from planner.parsing.parse import read
from planner.policy.policy import TablePolicy
from planner.public.relation import PublicQuery
from planner.rewriting.rewrite import to_sql, write_public
from planner.schema import Column, Schema, Table
from planner.sql.sql_types import Family, sql_type
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres import connected
from tests.support.function_examples import EXAMPLES, FAILING
from tests.support.hostile import COLUMNS, TYPES, VALUES, HostileNames, create_table, insert_row
from tests.support.planning import demo_policy
from tests.support.public import public
from tests.support.seeds import examples

NAMES = [
    HostileNames(),
    HostileNames(0.0, 10.0, (date(2000, 1, 1), date(2024, 12, 31))),
    HostileNames(-7.0, -3.0, (date(1, 1, 1), date(1, 1, 1))),
    HostileNames(0.0, 0.0),
    HostileNames(-1e90, 1e90, (date(9999, 12, 31), date(9999, 12, 31))),
]


@pytest.fixture(scope="module")
def hostile_url(embedded_postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database with a table of hostile values: one row per value of each type, the others taken in turn."""
    name = f"hostile_{abs(hash(str(tmp_path_factory.getbasetemp()))) % 10**12}"
    url = embedded_postgres.url
    with psycopg.connect(url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        with psycopg.connect(url(database=name), autocommit=True) as inside:
            inside.execute(create_table().encode())
            for row in range(97):
                values = [VALUES[kind][row * (place + 1) % len(VALUES[kind])] for place, kind in enumerate(TYPES)]
                inside.execute(insert_row().encode(), values)
            inside.execute(create_table().replace("TABLE h", "TABLE gentle").encode())
            for row in range(31):
                values = [_GENTLE[kind][row * (place + 1) % len(_GENTLE[kind])] for place, kind in enumerate(TYPES)]
                inside.execute(insert_row().replace("INTO h", "INTO gentle").encode(), values)
        yield url(database=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(scope="module")
def connection(hostile_url: str) -> Iterator[psycopg.Connection]:
    with connected(hostile_url, 60_000) as connection:
        connection.autocommit = True  # so that one failure stays one
        yield connection


def _filled(example: str) -> list[str]:
    """The example with every hole filled by each column that fits; holes of one kind may differ."""
    holes = re.findall(r"\{(\w)\}", example)
    pieces = re.split(r"\{\w\}", example)
    choices = product(*(COLUMNS[hole] for hole in holes))
    return [pieces[0] + "".join(a + b for a, b in zip(choice, pieces[1:], strict=True)) for choice in choices]


def _parsed(text: str) -> exp.Expr:
    node: exp.Expr = read(f"SELECT {text}").tree.selects[0]
    return node


def test_every_function_is_total(connection: psycopg.Connection) -> None:
    for example in (*EXAMPLES, *FAILING):
        uses = [use for text in _filled(example) for names in NAMES for use in _uses(_parsed(text), names)]
        assert uses, example
        _check(uses, connection)


def test_a_mutant_that_bounds_a_difference_of_times_too_narrowly_is_caught(
    connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datetimes, "_DAY", 80_000)
    with pytest.raises(AssertionError):
        _check([use for text in _filled("{s} - {d}") for use in _uses(_parsed(text), NAMES[0])], connection)


def _uses(node: exp.Expr, names: HostileNames) -> list[tuple[str, Bounds | None]]:
    """Both forms of an expression, the clamped one with its bounds; none where it is refused."""
    uses: list[tuple[str, Bounds | None]] = []
    with suppress(UnsupportedSQL, SensitivityUnbounded):
        scalar = bind_scalar(node, names)
        uses.append((to_sql(scalar.sql), None))
        if scalar.is_number or scalar.is_interval:
            sql, bounds = bind_measure(node, names)
            uses.append((to_sql(sql), bounds))
    return uses


def _check(uses: list[tuple[str, Bounds | None]], connection: psycopg.Connection) -> None:
    """Every use over every row, in one statement."""
    columns, clamped = (
        list(dict.fromkeys(sql for sql, _ in uses)),
        {sql for sql, bounds in uses if bounds is not None},
    )
    with connection.transaction():  # so that a failure leaves the connection usable
        shown = (sql if sql in clamped else f"num_nulls({sql})" for sql in columns)  # what Python has no value for
        rows = connection.execute(f"SELECT {', '.join(shown)} FROM public.h".encode()).fetchall()
    values = dict(zip(columns, zip(*rows, strict=True), strict=True))
    for sql, bounds in uses:
        if bounds is None:
            continue
        for value in values[sql]:
            assert value is None or isinstance(value, float), sql
            assert value is None or bounds.lo <= value <= bounds.hi, (sql, value, bounds)
            assert not value or abs(value) >= bounds.least, (sql, value, bounds)
            assert value != 0 or not bounds.nonzero, (sql, value, bounds)
            assert value is None or not bounds.integral or math.floor(value) == value, (sql, value, bounds)


_GENTLE: dict[str, list[str | None]] = {
    "i": ["3", "-2", "0", "7", None],
    "j": ["5", "1", "-9"],
    "n": ["2.50", "-2.50", "1.01", "0.00", "33.37", None],
    "m": ["0.125", "-7.5", "12", "0"],
    "f": ["0.25", "-1.5", "3", "0", None, "2.5"],
    "r": ["0.5", "-3"],
    "t": ["abc", "", "A b", "éa_%x", " a!% ", None],
    "v": ["ab", "xyz"],
    "c": ["ab", "b", "a", None],
    "d": ["2024-02-29", "1999-12-31", "2020-01-31", None],
    "s": ["2024-02-29 23:59:59.5", "2020-01-01", None],
    "z": ["2024-02-29 12:00+00", "1999-12-31 23:59:59+00"],
    "b": ["true", "false", None],
}


def test_every_function_means_what_postgresql_means(connection: psycopg.Connection) -> None:
    names = HostileNames(-1000.0, 1000.0)
    for example in EXAMPLES:
        compared = 0
        for text in [*_filled(example), *(f"({text}) / 2" for text in _filled(example))]:
            node = _parsed(text)
            try:
                scalar = bind_scalar(node, names)
                columns = [to_sql(scalar.sql)] + ([to_sql(bind_measure(node, names)[0])] if scalar.is_number else [])
            except (UnsupportedSQL, SensitivityUnbounded):
                continue
            if scalar.type is not None and scalar.type.is_moment:  # as text, since Python has no years before 1
                text, *columns = (f"CAST(CAST({sql} AS TIMESTAMP) AS TEXT)" for sql in (f"({text})", *columns))
            statement = f"SELECT {text}, {', '.join(columns)} FROM public.gentle AS h"
            for original, *ours in connection.execute(statement.encode()):
                assert all(_same(original, value) for value in ours), (text, columns, original, ours)
                compared += 1
        assert compared, example


def test_a_mutant_whose_cast_drops_the_fraction_is_caught(
    connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(casts, "near", lambda node, part: near(exp.Trunc(this=node.this), part))
    monkeypatch.setitem(globals(), "EXAMPLES", ("{f}::int",))
    with pytest.raises(AssertionError):
        test_every_function_means_what_postgresql_means(connection)


_OTHERWISE = {
    Family.INTEGER: frozenset({Family.NUMERIC, Family.FLOAT}),  # whole numbers that cannot overflow
    Family.NUMERIC: frozenset({Family.FLOAT}),  # of digits that nobody can count
    Family.FLOAT: frozenset({Family.NUMERIC}),  # sign(bigint)
    Family.TIMESTAMPTZ: frozenset({Family.TIMESTAMP}),  # at UTC
    Family.OTHER: frozenset({Family.INTERVAL}),  # as seconds
}
"""Where PostgreSQL has another type for the same values, ours."""


def test_every_function_has_the_type_that_postgresql_gives(connection: psycopg.Connection) -> None:
    """And drops the fraction of a quotient exactly where PostgreSQL does."""
    for example in EXAMPLES:
        bound = {}
        for text in _filled(example):
            with suppress(UnsupportedSQL, SensitivityUnbounded):
                bound[text] = bind_scalar(_parsed(text), HostileNames(-1000.0, 1000.0))
        assert bound, example
        types = ", ".join(f"pg_typeof({text})::text" for text in bound)
        (row,) = connection.execute(f"SELECT {types} FROM public.gentle AS h LIMIT 1".encode()).fetchall()
        for (text, scalar), kind in zip(bound.items(), row, strict=True):
            given = sql_type(kind).family
            assert scalar.type is not None, text
            family = scalar.type.family
            assert family is given or family in _OTHERWISE.get(given, ()), (text, kind, scalar.type)
            if scalar.is_number:
                assert scalar.drops_fractions is (given is Family.INTEGER), (text, kind, scalar)


GENTLE = Table("gentle", "public", tuple(Column(name, kind, True) for name, kind in TYPES.items()), (), ())
MOMENTS = Table("gentle", "main", tuple(Column(name, TYPES[name], True) for name in "dsz"), (), ())
PUBLIC = replace(demo_policy(), privacy_units={}, tables={"gentle": TablePolicy(public=True)})


@pytest.mark.slow
def test_every_function_of_public_rows_means_what_postgresql_means(connection: psycopg.Connection) -> None:
    schema = Schema({"gentle": GENTLE})
    for example in EXAMPLES:
        compared = 0
        for text in [*_filled(example), *(f"({text}) / 2" for text in _filled(example))]:
            query = _shown(text, schema)
            if query is None:
                continue
            ((_, kind),) = query.columns
            original = f"CAST(CAST({text} AS TIMESTAMP) AS TEXT)" if kind == "timestamp" else text
            original = f"CAST({text} AS TEXT)" if kind == "date" else original
            try:
                theirs = connection.execute(f"SELECT {original} FROM public.gentle AS h".encode()).fetchall()
            except psycopg.DataError:  # the root of what is negative: NULL here
                continue
            ours = connection.execute(write_public(query).sql.encode()).fetchall()
            for (expected,), (found,) in zip(theirs, ours, strict=True):
                assert _same(expected, found), (text, expected, found)
            compared += 1
        assert compared, example


def test_fields_of_public_moments_on_both_databases(connection: psycopg.Connection) -> None:
    """As numbers, whole or not, and as texts; there is no remainder of a double, as in PostgreSQL."""
    uses = ("{} / 2", "{}", "{} % 2", "floor({} / 10)", "-{} / 4", "{}::int / 2", "{}::text")
    calls = ("extract({} FROM {})", "date_part('{}', {})")
    with duckdb.connect() as file:
        file.execute("SET TimeZone = 'UTC'")
        file.execute("CREATE TABLE gentle (d date, s timestamp, z timestamptz)")
        for row in range(31):
            values = [_GENTLE[kind][row * (place + 1) % len(_GENTLE[kind])] for place, kind in enumerate(TYPES)]
            file.execute("INSERT INTO gentle VALUES (?, ?, ?)", [values[list(TYPES).index(kind)] for kind in "dsz"])
        for call, use, field, column in product(calls, uses, ("month", "dow", "year"), "dsz"):
            text = use.format(call.format(field, column))
            if "%" in text and "date_part" in text:
                with pytest.raises(PlannerError):
                    public(f"SELECT {text} FROM gentle", Schema({"gentle": MOMENTS}), PUBLIC)
                continue
            query = public(f"SELECT {text} FROM gentle", Schema({"gentle": MOMENTS}), PUBLIC)
            theirs = connection.execute(f"SELECT {text} FROM public.gentle ORDER BY 1".encode()).fetchall()
            ours = file.execute(write_public(query, dialect="duckdb").sql).fetchall()
            ours.sort(key=lambda row: (row[0] is None, row[0]))
            for (expected,), (found,) in zip(theirs, ours, strict=True):
                assert _same(expected, found), (text, expected, found)


def _shown(text: str, schema: Schema) -> PublicQuery | None:
    """The question for an expression of public rows, or for the seconds of an interval; None if it is refused."""
    for column in (text, f"extract(epoch FROM {text})"):
        with suppress(PlannerError):
            return public(f"SELECT {column} FROM gentle AS h", schema, PUBLIC)
    return None


def _same(original: object, ours: object) -> bool:
    original = original.total_seconds() if isinstance(original, timedelta) else original
    if isinstance(original, datetime) and isinstance(ours, str):  # with time zone: a cell is its text at UTC
        return original.astimezone(UTC).replace(tzinfo=None) == datetime.fromisoformat(ours)
    if isinstance(original, time) and isinstance(ours, str):
        return original == time.fromisoformat(ours)
    if isinstance(original, (int, float, Decimal)) and isinstance(ours, (int, float, Decimal)):
        return math.isclose(float(original), float(ours), rel_tol=1e-9, abs_tol=1e-9)
    return original == ours or (isinstance(original, str) and isinstance(ours, str) and original.rstrip() == ours)


_LITERALS = {"i": ["0", "1", "-3"], "n": ["0.5", "1e50"], "f": ["1.5"], "t": ["'a'", "''"], "c": ["'b'"],
             "d": ["DATE '2024-02-29'"], "s": ["TIMESTAMP '1999-12-31 23:59:59'"], "z": ["TIMESTAMP '0001-01-01'"],
             "b": ["true", "NULL"]}  # fmt: skip


@st.composite
def nested(draw: st.DrawFn) -> str:
    """Examples of the table inside one another; types often do not fit, which must be refused and never fail."""
    text = draw(st.sampled_from(EXAMPLES))
    for _ in range(draw(st.integers(0, 6))):
        hole = re.search(r"\{(\w)\}", text)
        if hole is None:
            break
        inner = draw(st.sampled_from(EXAMPLES + _LITERALS[hole.group(1)] + COLUMNS[hole.group(1)]))
        text = text.replace(hole.group(0), f"({inner})", 1)
    return re.sub(r"\{(\w)\}", lambda hole: draw(st.sampled_from(COLUMNS[hole.group(1)])), text)


@pytest.mark.slow
@settings(max_examples=examples(300, 6_000), deadline=None, suppress_health_check=list(HealthCheck))
@given(nested(), st.sampled_from(NAMES))
def test_nested_functions_are_total(connection: psycopg.Connection, text: str, names: HostileNames) -> None:
    try:
        uses = _uses(_parsed(text), names)
    except PlannerError:
        uses = []
    event("answered" if uses else "refused")
    if uses:
        _check(uses, connection)
