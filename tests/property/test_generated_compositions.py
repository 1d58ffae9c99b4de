"""Random statements around answers: computed from exact answers they are what the database says of the whole."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from sqlglot import parse_one

from planner.parsing.parse import read
from planner.postprocessing.allowed_sql import check_allowed
from planner.postprocessing.decompose import decompose
from planner.postprocessing.interval_ends import name_columns
from planner.postprocessing.lineage import NoisyColumns
from planner.postprocessing.write_outer import Relation, guard_divisions, write_outer
from planner.schema import Dialect
from planner.sql.sql_types import ResultType
from server.backends.public_rows import computed_type
from tests.golden.tpch.queries import policy
from tests.property.composed_statements import composed_statement
from tests.support.seeds import SEED, examples
from tests.support.tpch_duckdb import NAMESPACE
from tests.support.tpch_schema import tpch_schema

Run = Callable[[str], tuple[list[tuple[str, ResultType]], list[tuple[Any, ...]]]]


@pytest.fixture(scope="module")
def on_postgres(tpch_url: str) -> Iterator[Run]:
    with psycopg.connect(tpch_url) as connection:
        yield _postgres(connection)


@pytest.fixture(scope="module")
def on_duckdb(tpch_duckdb: Path) -> Iterator[Run]:
    with duckdb.connect(str(tpch_duckdb), read_only=True) as connection:
        connection.execute(f"SET search_path = '{NAMESPACE}'")
        yield _duckdb(connection)


def test_random_statements_on_postgres(on_postgres: Run) -> None:
    rng = random.Random(SEED)
    for _ in range(examples(20, 1_500)):
        _check_one(on_postgres, "postgres", composed_statement(rng))


def test_random_statements_on_duckdb(on_duckdb: Run) -> None:
    rng = random.Random(1_000 + SEED)
    for _ in range(examples(20, 1_500)):
        _check_one(on_duckdb, "duckdb", composed_statement(rng))


SHADOWED = (
    "WITH t AS (SELECT o_custkey AS k FROM orders WHERE o_orderkey < 1000), u AS (SELECT k FROM t), s AS ("
    "WITH t AS (SELECT o_custkey AS k FROM orders) SELECT (SELECT count(*) FROM u) AS a, "
    "(SELECT count(*) FROM t) AS b) SELECT a, b FROM s",
    "WITH customer AS (SELECT * FROM customer WHERE c_custkey < 500) SELECT c_mktsegment, count(*), "
    "rank() OVER (ORDER BY c_mktsegment) FROM customer GROUP BY c_mktsegment",
    "WITH orders AS (SELECT o_custkey, count(*) AS n FROM orders GROUP BY o_custkey) "
    "SELECT (SELECT count(*) FROM orders WHERE n > 9) AS a, (SELECT count(*) FROM orders) AS b",
    "WITH t AS (SELECT c_custkey FROM customer WHERE c_custkey < 500) SELECT s.c + 1 FROM "
    "(WITH t AS (SELECT c_custkey FROM t WHERE c_custkey > 100) SELECT count(*) AS c FROM t) AS s",
    "SELECT s.c, s.d FROM (WITH customer AS (SELECT * FROM customer v WHERE v.c_custkey < 300) "
    "SELECT count(*) AS c, count(*) + 1 AS d FROM customer) AS s",
)
"""Names of WITH that mean a table, or another query, in another place."""


def test_a_name_of_with_means_what_it_means_where_it_stands(on_postgres: Run) -> None:
    """DuckDB takes no query in WITH that reads a table of its own name, so it has nothing to compare with."""
    for sql in SHADOWED:
        _check_one(on_postgres, "postgres", sql)


def test_spreads_are_computed_from_sums_of_squares(on_postgres: Run, on_duckdb: Run) -> None:
    """Of one value there is a variance, zero, but none of a sample."""
    for sql in (
        "SELECT stddev(c_acctbal), count(*) FROM customer",
        "SELECT c_mktsegment, stddev_samp(c_acctbal), var_pop(c_acctbal) FROM customer GROUP BY c_mktsegment",
        "SELECT stddev_pop(c_acctbal) FILTER (WHERE c_acctbal > 0), variance(c_acctbal * 0.5) FROM customer",
        "SELECT c_mktsegment, var_samp(c_acctbal) FROM customer GROUP BY ROLLUP (c_mktsegment)",
        "SELECT stddev(c_acctbal), var_pop(c_acctbal) FROM customer WHERE c_custkey = 1",
        "SELECT stddev(c_acctbal), var_pop(c_acctbal), var_samp(c_acctbal) FROM customer WHERE c_custkey = 0",
    ):
        _check_one(on_postgres, "postgres", sql)
        _check_one(on_duckdb, "duckdb", sql)


def _postgres(connection: psycopg.Connection[Any]) -> Run:
    def run(sql: str) -> tuple[list[tuple[str, ResultType]], list[tuple[Any, ...]]]:
        cursor = connection.execute(sql.encode())
        types = connection.adapters.types
        found = [(one.name, computed_type(types[one.type_code].name)) for one in cursor.description or ()]
        return found, cursor.fetchall()

    return run


def _duckdb(connection: duckdb.DuckDBPyConnection) -> Run:
    def run(sql: str) -> tuple[list[tuple[str, ResultType]], list[tuple[Any, ...]]]:
        cursor = connection.execute(sql)
        return [(one[0], computed_type(str(one[1]))) for one in cursor.description or ()], cursor.fetchall()

    return run


def _check_one(run: Run, dialect: Dialect, sql: str) -> None:
    _, expected = run(parse_one(sql, dialect="postgres").sql(dialect))
    try:
        columns, rows = run(_composed(sql, run, dialect))
    except (psycopg.Error, duckdb.Error) as error:
        raise AssertionError(sql) from error
    assert not expected or len(columns) == len(expected[0]), sql
    ordered = "ORDER BY n DESC" in sql
    assert len(rows) == len(expected), sql
    for row, wanted in zip(_sorted(rows, ordered), _sorted(expected, ordered), strict=True):
        assert all(map(_same, row, wanted)), (sql, row, wanted)


def _composed(sql: str, run: Run, dialect: Dialect) -> str:
    """The statement over exact answers."""
    statement, schema = read(sql), tpch_schema()
    split = decompose(statement.tree, schema, policy())
    assert split is not None and split.parts, sql
    check_allowed(split.outer, statement.tokens, dialect)
    guard_divisions(split.outer)
    name_columns(split.outer, NoisyColumns({}, {}))
    relations, answers = [], {}
    for part in split.parts:
        columns, rows = run(part.select.sql(dialect))
        relations.append(Relation(part.relation, tuple((name, _wide(kind)) for name, kind in columns)))
        answers[part.relation] = [tuple(map(_cell, row)) for row in rows]
    written = write_outer(split.outer, relations, schema, policy(), dialect)
    assert not {"customer", "orders"} & {name for _, name in written.reads}, sql
    filled = written.with_rows(answers)
    columns, _ = run(filled.columns_sql())
    return filled.rows_sql([f"c{place}" for place in range(len(columns))], 1_000_000)


def _wide(kind: ResultType) -> ResultType:
    return "numeric" if kind == "float8" else kind


def _cell(value: object) -> str | int | float | bool | None:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return str(value).rstrip()  # as keys of type char are shown


def _sorted(rows: Sequence[tuple[Any, ...]], ordered: bool) -> list[tuple[object, ...]]:
    found = [tuple(map(_value, row)) for row in rows]
    return found if ordered else sorted(found, key=lambda row: [_rounded(value) for value in row])


def _value(value: object) -> object:
    if isinstance(value, (Decimal, float, int)) and not isinstance(value, bool):
        return float(value)
    return value.rstrip() if isinstance(value, str) else value


def _rounded(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else repr(value)


def _same(left: object, right: object) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-6)
    return left == right
