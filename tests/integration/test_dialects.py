"""Every function of the table, value by value: DuckDB gives what PostgreSQL gives, or the dialect refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from itertools import product
from typing import Any

import duckdb
import psycopg
import pytest
from sqlglot import exp

from planner.errors import PlannerError, UnsupportedSQL
from planner.expressions.bind_scalar import bind_measure, bind_scalar
from planner.parsing.parse import read
from planner.rewriting.dialects.duckdb import duckdb_sql
from planner.rewriting.rewrite import to_sql
from planner.schema import Column, Schema, Table
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import table_sql
from server.backends.embedded import EmbeddedPostgres
from tests.support import hostile
from tests.support.function_examples import EXAMPLES
from tests.support.hostile import HostileNames
from tests.support.seeds import ALL, examples, sampled

# What both databases can hold: no NaN among decimals, 38 digits, no year before 1 (they write it differently).
TYPES = hostile.TYPES | {"m": "numeric(30,12)", "c": "text"}
LONG = "123456789012345678.123456789012"
VALUES = hostile.VALUES | {
    "n": ["0", "0.01", "-0.01", "9999999999999.99", "-9999999999999.99", "2.5", "-2.5", "1.005", "-7.50", None],
    "m": ["0", "0.5", "-2.5", LONG, f"-{LONG}", "0.000000000001", "0.1", "7", None],
    "t": ["", " ", "a", "A%_\\", "aé 💥💥", "\ufeff\u202e", "x" * 5000, "''--;", None],
    "d": ["infinity", "-infinity", "0001-01-08", "9999-12-31", "2024-02-29", "2023-12-31", "2021-01-03", None],
    "s": ["infinity", "-infinity", "2024-02-29 23:59:59.999999", "4001-01-01", "9999-12-31 23:59:59.999999",
          "2021-01-03 12:30:00", None],
    "z": ["infinity", "-infinity", "2024-02-29 12:00+14", "4001-01-01", "2020-06-30 10:20:30.5", None],
}  # fmt: skip
ROWS = examples(50, 150)
NAMES = [
    HostileNames(),
    HostileNames(0.0, 10.0, (date(2000, 1, 1), date(2024, 12, 31))),
    HostileNames(-7.0, -3.0, (date(2, 1, 1), date(2, 1, 1))),
    HostileNames(-1e90, 1e90),
]
TABLE_H = Table("h", "main", tuple(Column(name, kind, True) for name, kind in TYPES.items()), (), ())
SCHEMA = Schema({"h": TABLE_H})

# Each case of a letter is the database's own business: PostgreSQL's depends on its locale.
CASED = ("lower(", "upper(", "ILIKE")
REFUSED = 80
"""No more than this many uses are refused for what DuckDB cannot say: long decimals, their quotients, reals."""


@pytest.fixture(scope="module")
def databases(embedded_postgres: EmbeddedPostgres) -> Iterator[tuple[psycopg.Connection[Any], Any]]:
    """The same hostile rows in a temporary table of each."""
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as server, duckdb.connect() as file:
        server.execute("SET TimeZone = 'UTC'")
        file.execute("SET TimeZone = 'UTC'")
        server.execute(f"CREATE TEMPORARY TABLE h ({columns})".encode())
        file.execute(f"CREATE TABLE h ({columns})")
        for row in range(ROWS):
            values = [VALUES[name][row * (place + 1) % len(VALUES[name])] for place, name in enumerate(TYPES)]
            holes = [f"%s::text::{kind}" for kind in TYPES.values()]
            server.execute(f"INSERT INTO h VALUES ({', '.join(holes)})".encode(), values)
            file.execute(f"INSERT INTO h VALUES ({', '.join(holes).replace('%s', '?')})", values)
        yield server, file


def _filled(example: str) -> list[str]:
    holes, pieces = re.findall(r"\{(\w)\}", example), re.split(r"\{\w\}", example)
    choices = product(*(hostile.COLUMNS[hole] for hole in holes))
    return [pieces[0] + "".join(a + b for a, b in zip(choice, pieces[1:], strict=True)) for choice in choices]


def _forms(text: str) -> Iterator[exp.Expr]:
    """The exact and the clamped form of an expression, under each policy that lets it be, as something to fetch."""
    for names in NAMES if ALL else NAMES[1:2]:
        try:
            scalar = bind_scalar(_parsed(text), names)
            yield _fetched(scalar.sql, scalar.type)
            yield bind_measure(_parsed(text), names)[0]
        except PlannerError:
            continue


def _parsed(text: str) -> exp.Expr:
    parsed: exp.Expr = read(f"SELECT {text}").tree.selects[0]
    return parsed


def _fetched(form: exp.Expr, kind: SqlType | None) -> exp.Expr:
    """Moments as text, since drivers cannot hold list the values in WHERE; reals as doubles."""
    if kind is None or not (kind.is_moment or kind.family is Family.FLOAT):
        return form
    if kind.family is Family.TIMESTAMPTZ:
        form = exp.AtTimeZone(this=exp.Paren(this=form), zone=exp.Literal.string("UTC"))
    return exp.Cast(this=form, to=exp.DataType.build("TEXT" if kind.is_moment else "DOUBLE PRECISION"))


def _plain(value: object) -> object:
    """Numbers by value; a real or a double by its digits, since every NaN is one."""
    if isinstance(value, float):
        return repr(value + 0.0)
    if isinstance(value, str):
        return re.sub(r" \(BC\)(.*)", r"\1 BC", value)
    return Decimal(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else value


def _select(*forms: exp.Expr) -> exp.Select:
    return exp.select(*forms).from_(table_sql(TABLE_H, "h"))


def test_both_databases_agree(databases: tuple[psycopg.Connection[Any], Any]) -> None:
    """In one statement for each example."""
    server, file = databases
    for example in sampled(EXAMPLES, 110):
        if any(name in example for name in CASED):
            continue
        forms: dict[str, exp.Expr] = {}
        refused = 0
        for text in _filled(example):
            for form in _forms(text):
                try:
                    duckdb_sql(_select(form), SCHEMA)
                    forms[to_sql(form)] = form
                except UnsupportedSQL:
                    refused += 1
        assert forms or refused, example
        assert refused <= REFUSED, example
        if forms:
            ours = duckdb_sql(_select(*forms.values()), SCHEMA)
            theirs = to_sql(_select(*forms.values())).replace('"main"."h"', "h")
            expected = zip(*server.execute(theirs.encode()).fetchall(), strict=True)
            found = zip(*file.execute(ours).fetchall(), strict=True)
            for written, left, right in zip(forms, expected, found, strict=True):
                assert list(map(_plain, right)) == list(map(_plain, left)), written
