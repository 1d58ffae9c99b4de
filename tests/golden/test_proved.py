"""Questions that could once fail for some row, or meant another question: executed on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb as duckdb_driver
import psycopg
import pytest

from planner.errors import SensitivityUnbounded
from planner.plan import BackendQuery, Plan
from planner.policy.policy import parse_policy
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from server.backends.duckdb import DuckdbBackend
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres_catalog import read_schema
from tests.golden.databases import in_file, on_server
from tests.golden.untruncated import Rows, Run, assert_same, duckdb, postgres, untruncated
from tests.support.planning import planned
from tests.support.seeds import sampled

POLICY = parse_policy("""
name = "visits"
[database]
url = "env:UNUSED"
[ledger]
path = "x"
[privacy]
epsilon = 1.0
[privacy_units]
person = "id"
[tables.person]
[tables.visit]
[tables.person.columns]
name = { domain = ["Ada", "Bob"] }
[tables.visit.columns]
i = { range = [0, 100] }
j = { range = [10, 100] }
n = { range = [0, 100] }
f = { range = [0, 100] }
""")
TABLES = (
    "CREATE TABLE person (id bigint PRIMARY KEY, name varchar NOT NULL)",
    "CREATE TABLE visit (person bigint NOT NULL REFERENCES person, i integer, j integer, n numeric(9,2),"
    " f double precision, t varchar, r real)",
    "INSERT INTO person VALUES (1, 'Ada'), (2, 'Bob')",
    "INSERT INTO visit (person, i, j, n, f, t) VALUES"
    " (1, 57, 11, 2.5, 0, 'a'), (2, 58, 18, 0.01, 4, 'A'), (2, 42, 100, 3, 7.5, NULL),"
    " (1, 64, 10, 99.99, 0.25, ' b '), (1, 50, 31, 7, NULL, '')",
)
HOSTILE = (
    "INSERT INTO visit (person, i, j, n, f, t) VALUES"
    " (1, 2147483647, -2147483648, -9999999.99, '-Infinity', repeat('x', 1100000)),"
    " (2, -2147483648, 0, 0, 'NaN', repeat(' ', 1100000)), (2, NULL, NULL, 9999999.99, 'Infinity', ''),"
    " (1, 0, 7, 0.005, 1e-300, 'a'), (1, 57, 17, 0, -0.0, 'a'), (2, 7, 3, 50, 1e-11, 'b'),"
    " (1, 7, 3, 50, 1e-70, 'b'), (2, 43, 3, 5, 5e-324, 'b')"
)
JOIN = "FROM visit JOIN person ON person = id"

SAME = {
    "remainders of what is not zero": "SELECT sum(mod(NULLIF(i - 50, 0), 7)) FROM visit",
    "remainders as keys": "SELECT j % 7, count(*) FROM visit GROUP BY 1",
    "remainders of long numbers": "SELECT sum(mod(j * j + 1, 0.3)), sum(trunc(i * j * 0.7, 1)) FROM visit",
    "negative remainders": "SELECT sum((i - 50) % 7), sum(mod(-i, 7)), sum(mod(j, 500)) FROM visit",
    "remainders of literals": "SELECT sum(mod(1, -3)), sum(mod(-7, 3)) FROM visit",
    "functions of literals": "SELECT sum(mod(abs(0) + 7, 3) * i), sum(mod(floor(8.5), 3) * i), sum((1e1 / 4) * i) "
    "FROM visit WHERE i < 5 / abs(-2.0) + 100",
    "promoted by NULLIF": "SELECT sum(NULLIF(i, 2.5) + trunc(NULLIF(i, 5), -1)) FROM visit",
    "roundings to digits": "SELECT sum(trunc(n, 1)), sum(round(n, -1)), sum(trunc(i, -1)) FROM visit",
    "whole numbers of numerics": "SELECT n::int, count(*), sum(n::int / 7) FROM visit GROUP BY 1",
    "their distinct values": "SELECT count(DISTINCT n::int), count(DISTINCT floor(n)) FROM visit",
    "negated": "SELECT (-n)::smallint, count(*) FROM visit GROUP BY 1",
    "of a sign": "SELECT sign(n::int), count(*) FROM visit GROUP BY 1",
    "of a choice": "SELECT coalesce(n::int, 7), count(*) FROM visit GROUP BY 1",
    "quotients of rounded doubles": "SELECT sum(floor(f) / 2), sum(round(f) / 4), sum(sign(f) / 2) FROM visit",
    "quotients of rounded integers": "SELECT sum(ceil(i) / 4), sum(power(i, 2) / 7), sum(i / 7) FROM visit",
    "quotients of cast integers": "SELECT sum(i::numeric / 7.0), sum(i::float8 / 7), sum(n::int / 7) FROM visit",
    "trimmed texts": "SELECT count(*) FROM visit WHERE trim(t) = 'b' OR t ILIKE 'A%'",
}
TOTAL = {
    "functions of whole literals": "SELECT sum(mod(floor(8), 3) * i), sum(mod(sign(-5) + round(7), 4) * i), "
    "sum(mod(abs(2147483647) + 1, 7) * i) FROM visit",
    "rounded, promoted by NULLIF": "SELECT sum(trunc(greatest(NULLIF(i, f), 0.5), -2)), sum(NULLIF(i, n) % 7), "
    "sum(NULLIF(i, n) / 7) FROM visit",
    "reals beside other numbers": "SELECT count(*) FROM visit WHERE coalesce(r, i) > 1e50 "
    "OR least(CASE WHEN t = 'a' THEN r ELSE n END, f) > 5 OR greatest(r, 1e-30) < 0",
    "sums of literals": "SELECT sum(-2147483647 - i), sum(CASE WHEN t = 'a' THEN 9223372036854775807 ELSE i END + 1) "
    "FROM visit WHERE CASE WHEN t = 'a' THEN 9223372036854775807 ELSE i END + 1 > 0",
    "choices of literals": "SELECT count(*) FROM visit WHERE coalesce(i, 1e18) * 10 + nullif(i, 0) > "
    "abs(nullif(i, 0)) AND coalesce(i, 1e18)::int > 0",
    "long texts": "SELECT count(*) FROM visit WHERE trim(left(t, 999999999)) ILIKE '%X'",
    "a denominator next to zero": "SELECT sum(CASE WHEN f > 1e-100 THEN 1 / f END) FROM visit",
    "a logarithm next to zero": "SELECT sum(ln(f)) FROM visit WHERE f > 1e-100",
    "a root of nothing": "SELECT sum(sqrt(NULLIF(mod(abs(i), 7), 0))) FROM visit",
}


@dataclass(frozen=True)
class Database:
    """One of the two.

    Attributes:
      schema: its catalog.
      run: a statement over gentle rows, in which the analyst's own words fail for none.
      meant: what PostgreSQL makes of the analyst's words over the same rows.
      hostile: a statement over more rows, which keep to no declared range.
      duckdb: which one it is.
    """

    schema: Schema
    run: Run
    meant: Run
    hostile: Run
    duckdb: bool

    def planned(self, sql: str) -> tuple[Plan, BackendQuery]:
        plan = planned(sql, self.schema, POLICY)
        return plan, rewrite(plan, dialect="duckdb", schema=self.schema) if self.duckdb else rewrite(
            plan, schema=self.schema
        )


@pytest.fixture(scope="module")
def server_url(embedded_postgres: EmbeddedPostgres) -> Iterator[str]:
    with on_server(embedded_postgres, "proved", TABLES) as url:
        yield url


@pytest.fixture(scope="module", params=["postgres", "duckdb"])
def database(request: pytest.FixtureRequest, server_url: str, tmp_path_factory: pytest.TempPathFactory) -> Database:
    """The same rows in each; NaN among numerics only where they can be NaN."""
    meant = postgres(server_url)
    if request.param == "duckdb":
        path = in_file(tmp_path_factory.mktemp("proved") / "rows.duckdb", TABLES)
        schema = DuckdbBackend(path, "public").schema()
        return Database(schema, duckdb(path, "public"), meant, _hostile_duckdb(path), duckdb=True)
    with psycopg.connect(server_url) as connection:
        schema = read_schema(connection)
    return Database(schema, meant, meant, _hostile_postgres(server_url), duckdb=False)


def _hostile_duckdb(path: Path) -> Run:
    def run(statement: str) -> Rows:
        with duckdb_driver.connect(path) as file:
            file.execute(f"USE public; BEGIN; {HOSTILE}")
            rows: Rows = file.execute(statement).fetchall()
            file.execute("ROLLBACK")
            return rows

    return run


def _hostile_postgres(url: str) -> Run:
    def run(statement: str) -> Rows:
        with psycopg.connect(url) as connection:
            connection.execute(f"{HOSTILE}, (2, 1, 10, 'NaN', 'NaN', 'nan')".encode())
            rows = connection.execute(statement.encode()).fetchall()
            connection.rollback()
            return rows

    return run


def test_the_rewriting_is_the_plain_aggregate(database: Database) -> None:
    for sql in SAME.values():
        plan, query = database.planned(sql)
        assert_same(untruncated(plan, database.run, query), plan, database.meant(sql))


def test_no_row_makes_it_fail(database: Database) -> None:
    for sql in sampled((*SAME.values(), *TOTAL.values()), 10):
        plan, query = database.planned(sql)
        untruncated(plan, database.hostile, query)


def test_a_double_below_the_last_digit_could_be_zero(database: Database) -> None:
    """0.00000000001 * 10^11 is less than 1, so it has no whole part to divide by."""
    divisor = "CASE WHEN name = 'Bob' THEN least(greatest(f, 0.00000000001), 0.00000000001) ELSE greatest(f, 1) END"
    with pytest.raises(SensitivityUnbounded, match="so small"):
        database.planned(f"SELECT sum(1 / trunc({divisor}, 11)) {JOIN}")
    plan, query = database.planned("SELECT sum(1.0 / mod(NULLIF(i - 50, 0), 7)) FROM visit")
    assert "NULLIF" in str(query.join)
    untruncated(plan, database.hostile, query)


def test_a_quotient_has_digits_that_its_powers_cannot_hold(database: Database) -> None:
    """n / 1e50 is 2e-52 at least, of which no double holds the fourteenth power."""
    small = "mod(CASE WHEN name = 'Bob' THEN n ELSE 0 END / 1e50 + (i - 50), 1)"
    with pytest.raises(SensitivityUnbounded, match="bounds of the sum are too large"):
        database.planned(f"SELECT sum(power({small}, 14)) {JOIN}")
    if not database.duckdb:  # which divides no decimals exactly
        plan, query = database.planned(f"SELECT sum(power({small}, 3)) {JOIN}")
        untruncated(plan, database.hostile, query)
