"""What the planner takes for one value is one: every condition that fixes or equates columns, on both databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import duckdb
import psycopg
import pytest
from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.errors import PlannerError
from planner.policy.policy import parse_policy
from planner.rewriting.dialects.duckdb import duckdb_sql
from planner.rewriting.rewrite import to_sql
from planner.schema import Column, Schema, Table
from planner.sensitivity.column_equalities import equal_columns, fixed_columns
from planner.sql.trees import ColumnRef, bound_column, copied, table_sql
from server.backends.embedded import EmbeddedPostgres
from tests.support.planning import bound
from tests.support.seeds import sampled

# Per type, values that a comparison as another type takes for one another.
_WHOLE = [str(base + step) for base in (0, 2**53, 2**62) for step in (-2, -1, 0, 1, 2)]
_DOUBLES = ["0", "-0", "0.1", "0.3", "0.30000000000000004", "9007199254740992", "9007199254740994", "16777216",
            "16777217", "4611686018427387904", "4611686018427388928", "1e38", "9" * 38, "NaN"]  # fmt: skip
VALUES: dict[str, tuple[str, list[str]]] = {
    "i": ("bigint", _WHOLE),
    "j": ("integer", ["16777215", "16777216", "16777217", "0", "1", "-1", "2147483647"]),
    "n": ("numeric(38,0)", [*_WHOLE, "9" * 38, "1" + "0" * 37]),
    "m": ("numeric(30,12)", ["0.1", "0.100000000001", "0.099999999999", "4611686018427387.904000000000",
                             "4611686018427387.904000000001", "1.000000000000", "9007199254740993"]),
    "f": ("double precision", _DOUBLES),
    "r": ("real", [value for value in _DOUBLES if len(value) < 30]),
    "t": ("text", ["a", "a ", "A", "", "2024-01-01", "1", "1.0"]),
    "c": ("char(5)", ["a", "A", "", "1", "1.0"]),
    "d": ("date", ["2024-01-01", "2024-01-02", "infinity", "0001-01-01"]),
    "s": ("timestamp", ["2024-01-01", "2024-01-01 00:00:00.000001", "2024-01-01 12:00", "infinity"]),
    "z": ("timestamptz", ["2024-01-01 00:00+00", "2024-01-01 00:00+02", "2024-01-01 12:00+00"]),
    "b": ("boolean", ["true", "false"]),
    "u": ("uuid", ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"]),
}  # fmt: skip
TABLE = Table("h", "main", tuple(Column(name, kind, True) for name, (kind, _) in VALUES.items()), (("i",),), ())
SCHEMA = Schema({"h": TABLE})
POLICY = parse_policy(
    'name = "x"\ndatabase = { url = "env:DB" }\nledger = { path = "l" }\nprivacy = { epsilon = 1 }\n'
    'privacy_units = { h = "i" }\n[tables.h]\n'
)
ROWS = max(len(values) for _, values in VALUES.values())

LITERALS = ("0", "1", "0.1", "0.30000000000000004", "9007199254740993", "4611686018427387904", "1e0", "1e38", "1e40",
            "4611686018427387904.0", "4611686018427387904." + "0" * 40, "9007199254740993e0", "16777217",
            "99999999999999999999999999999999999999", "'4611686018427387904'", "'a'", "'a '", "TRUE", "'2024-01-01'",
            "DATE '2024-01-01'", "TIMESTAMP '2024-01-01'", "DATE '2024-01-01' + INTERVAL '12' HOUR",
            "'00000000-0000-0000-0000-000000000001'")  # fmt: skip
SHAPES = ("{}", "({})", "-({})", "-(-({}))", "({})::float8", "({})::numeric", "({})::bigint", "({})::numeric(38, 0)",
          "({})::text", "({})::date", "({})::timestamp", "ceil({})", "floor({})", "round({})", "trunc({})", "abs({})",
          "sign(3) * ({})", "greatest(ceil({}), 1)", "greatest({}, 1)", "coalesce({}, 1.5)", "sqrt({})",
          "power({}, 1)", "({}) + 0", "({}) / 1", "mod({}, 4611686018427387905)", "nullif({}, 7)",
          "CASE WHEN TRUE THEN {} ELSE 1::float8 END", "lower({})", "date_trunc('day', {})")  # fmt: skip

PLAIN = {"i": "1", "j": "1", "n": "1", "m": "0.1", "f": "0.1", "r": "0.1", "t": "'a'", "c": "'a'", "b": "TRUE",
         "d": "DATE '2024-01-01'", "s": "TIMESTAMP '2024-01-01'",
         "u": "'00000000-0000-0000-0000-000000000001'"}  # fmt: skip
"""By type, a constant that fixes a column."""

BETWEEN_DOUBLES = ("9007199254740993", "4611686018427387904.0", "16777217", "0.30000000000000004")
AS_DOUBLES = ("({})::float8", "({})::real", "greatest({}, 1e0)", "ceil(({})::float8)")
"""Where a comparison rounds, one constant equals several values."""

EXACTLY_COMPARED = ({"i", "j"}, {"n", "m"}, {"f", "r"})
"""Types that are compared as one which holds the values of both; others are compared as doubles, or as texts."""

Ask = Callable[[exp.Select], Sequence[Any]]


def _filled(execute: Callable[[str], object]) -> None:
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in VALUES.items())
    execute(f"CREATE TEMPORARY TABLE h ({columns})")
    for row in range(ROWS):
        cells = (f"'{values[row % len(values)]}'::text::{kind}" for kind, values in VALUES.values())
        execute(f"INSERT INTO h VALUES ({', '.join(cells)})")


def _as_text(statement: str, name: str) -> str:
    """The pairs as text, in which 0 and -0 are one: moments may be beyond a driver's calendar."""
    cells = (
        f"CASE WHEN {side}::text IN ('-0', '-0.0', '0.0') THEN '0' ELSE {side}::text END" for side in ("one", "other")
    )
    inner = statement.replace('"main"."h"', name)
    return f"SELECT DISTINCT {', '.join(cells)} FROM ({inner}) AS found"


@pytest.fixture(scope="module")
def postgres(embedded_postgres: EmbeddedPostgres) -> Iterator[Ask]:
    """The values in PostgreSQL."""
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        _filled(lambda text: connection.execute(text.encode()))
        yield lambda select: connection.execute(_as_text(to_sql(select), "pg_temp.h").encode()).fetchall()


@pytest.fixture(scope="module")
def file() -> Iterator[Ask]:
    """The values in DuckDB."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        _filled(lambda text: connection.execute(text))

        def ask(select: exp.Select) -> Sequence[Any]:
            try:
                statement = duckdb_sql(select, SCHEMA)
            except PlannerError:  # a question that DuckDB is never asked
                return []
            return connection.execute(_as_text(statement, "h")).fetchall()

        yield ask


def _bound(clause: str) -> BoundQuery | None:
    try:
        return bound(f"SELECT count(*) FROM {clause}", SCHEMA, POLICY)
    except PlannerError:
        return None


def _matched(query: BoundQuery | None, one: ColumnRef, other: ColumnRef) -> exp.Select:
    """Two columns of the tuples that pass."""
    assert query is not None
    tables = [table_sql(entry.table, entry.alias) for entry in query.tables]
    select = exp.select(exp.alias_(bound_column(*one), "one"), exp.alias_(bound_column(*other), "other")).from_(
        tables[0]
    )
    for table in tables[1:]:
        select = select.join(table, join_type="cross")
    return select.where(*map(copied, query.predicates))


def test_a_constant_that_fixes_a_column_equals_one_value(postgres: Ask, file: Ask) -> None:
    every = [(name, shape.format(literal)) for name, literal, shape in product(VALUES, LITERALS, SHAPES)]
    rounded = [(name, shape.format(literal)) for name, literal, shape in product("ijnm", BETWEEN_DOUBLES, AS_DOUBLES)]
    accepted = set()
    for name, constant in [*PLAIN.items(), *rounded, *sampled(every, 600)]:
        query = _bound(f"h WHERE {name} = {constant}")
        for column, _ in () if query is None else fixed_columns(query):
            accepted.add((name, constant))
            for ask in (postgres, file):
                assert len(ask(_matched(query, column, column))) <= 1, (name, constant)
    assert accepted >= set(PLAIN.items())
    assert not any(name == "z" for name, _ in accepted), "of no constant is the zone the column's own"


def test_an_equality_that_counts_pairs_each_value_with_one(postgres: Ask, file: Ask) -> None:
    for left, right in product(VALUES, VALUES):
        query = _bound(f"h x CROSS JOIN h y WHERE x.{left} = y.{right}")
        equated = [] if query is None else list(equal_columns(query.predicates, query))
        assert bool(equated) == (left == right or {left, right} in EXACTLY_COMPARED), (left, right)
        for one, other in equated:
            for ask in (postgres, file):
                found = ask(_matched(query, one, other))
                assert found or ask is file, (left, right)  # DuckDB is not asked for some
                assert len({a for a, _ in found}) == len({b for _, b in found}) == len(found), found
