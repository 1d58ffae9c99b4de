"""Every golden question over public tables, as PostgreSQL answers it itself: exact on both databases."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from planner.parsing.parse import read
from planner.public.bind import bind_public
from planner.public.relation import PublicQuery
from planner.public.route import check_public, names_private_table
from planner.rewriting.rewrite import write_public
from planner.schema import Schema
from planner.sql.sql_types import ResultType
from server.backends.duckdb import DuckdbBackend
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_schema
from server.backends.public_rows import Rows
from tests.golden.public.cases import CASES
from tests.support.planning import demo_policy
from tests.support.seeds import ALL, sampled
from tests.support.tpch_duckdb import NAMESPACE

Answer = Callable[[str], tuple[PublicQuery, Rows]]
TYPES: dict[ResultType, tuple[type, ...]] = {
    "int8": (int,), "numeric": (int, float, str), "float8": (float,), "text": (str,), "bool": (bool,),
    "date": (str,), "timestamp": (str,), "timestamptz": (str,),
}  # fmt: skip
UNSORTED = {"distinct groups"}


def bound(sql: str, schema: Schema) -> PublicQuery:
    """A question over public tables alone, bound."""
    statement = read(sql)
    assert not names_private_table(statement.tree, schema, demo_policy())
    check_public(statement)
    return bind_public(statement.tree, schema, demo_policy())


@pytest.fixture(scope="module")
def on_postgres(tpch_url: str) -> Answer:
    with psycopg.connect(tpch_url) as connection:
        schema = read_schema(connection)
    backend = PostgresBackend(tpch_url)

    def answer(sql: str) -> tuple[PublicQuery, Rows]:
        query = bound(sql, schema)
        return query, backend.public(write_public(query))

    return answer


@pytest.fixture(scope="module")
def on_duckdb(tpch_duckdb: Path) -> Answer:
    backend = DuckdbBackend(tpch_duckdb, NAMESPACE)
    schema = backend.schema()

    def answer(sql: str) -> tuple[PublicQuery, Rows]:
        query = bound(sql.replace("public.", f"{NAMESPACE}."), schema)
        return query, backend.public(write_public(query, dialect="duckdb"))

    return answer


@pytest.fixture(scope="module")
def plainly(tpch_owner_url: str) -> Callable[[str], tuple[list[str], list[tuple[Any, ...]]]]:
    """What PostgreSQL itself says to the question as it was written."""

    def run(sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        with psycopg.connect(tpch_owner_url) as connection:
            cursor = connection.execute(sql.encode())
            assert cursor.description is not None
            return [column.name for column in cursor.description], cursor.fetchall()

    return run


def test_the_answer_is_the_database_s_own(
    on_postgres: Answer, on_duckdb: Answer, plainly: Callable[[str], tuple[list[str], list[Any]]]
) -> None:
    for place, name in enumerate(sampled(list(CASES), 35)):
        names, expected = plainly(CASES[name])
        for answer in (on_postgres, on_duckdb) if ALL else (on_postgres, on_duckdb)[place % 2 :][:1]:
            query, rows = answer(CASES[name])
            assert [column for column, _ in query.columns] == names
            assert_same(rows, expected, sort=name in UNSORTED)
            for row in rows:
                for value, (_, kind) in zip(row, query.columns, strict=True):
                    assert value is None or type(value) in TYPES[kind]


def test_the_questions_have_answers(plainly: Callable[[str], tuple[list[str], list[Any]]]) -> None:
    empty = [name for name, sql in CASES.items() if not plainly(sql)[1]]
    assert empty == ["a constant where", "having alone"]


def assert_same(rows: Rows, expected: list[tuple[Any, ...]], *, sort: bool) -> None:
    """Cell by cell: numbers by value, doubles to 14 digits."""
    found, wanted = [[_plain(value) for value in row] for row in rows], [[_plain(v) for v in row] for row in expected]
    if sort:
        found, wanted = sorted(found), sorted(wanted)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            if isinstance(one, Decimal) and isinstance(other, Decimal):
                assert abs(one - other) <= abs(other) * Decimal("1e-14"), (ours, theirs)
            else:
                assert one == other, (ours, theirs)


def _plain(value: object) -> Any:
    """Numbers by value, moments as text, char(n) without its padding."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal):
        return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if isinstance(value, date | datetime):
        return str(value)
    return str(value).rstrip(" ")
