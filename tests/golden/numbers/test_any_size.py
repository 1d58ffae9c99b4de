"""A numeric without digits beside a double is compared as PostgreSQL does, and no number fails."""

from __future__ import annotations

import psycopg
import pytest

from planner.errors import PlannerError
from planner.policy.policy import parse_policy
from planner.rewriting.rewrite import rewrite
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres_catalog import read_schema
from tests.golden.databases import on_server
from tests.golden.untruncated import assert_same, postgres, untruncated
from tests.support.planning import planned

NUMBERS = {
    "1e400": "1e300", "-1e400": "-1e300", "'Infinity'": "1e300", "'-Infinity'": "-1e300", "1e-400": "0",
    "-1e-400": "0", "'NaN'": "NULL", "NULL": "NULL", "0": "0", "5.25": "5.25", "5": "5", "-3.5": "-3.5",
    "0.1": "0.1", "0.1000000000000000000000000001": "0.1000000000000000000000000001", "1e299": "1e299",
}  # fmt: skip
"""Each numeric, and the one that stands for it: NaN is missing."""

TABLES = (
    "CREATE TABLE person (id bigint PRIMARY KEY)",
    "CREATE TABLE pay (id serial PRIMARY KEY, person bigint NOT NULL REFERENCES person, m numeric, "
    "c numeric, f double precision)",
    "INSERT INTO person SELECT i FROM generate_series(1, 9) AS s(i)",
    *(
        f"INSERT INTO pay (person, m, c, f) SELECT 1 + i % 9, {number}, {stands}, f FROM (VALUES (1, 5.25), (2, 0), "
        "(3, 0.1), (4, -3.5), (5, NULL), (6, 1e301), (7, '-Infinity'), (8, 1e-310)) AS s(i, f)"
        for number, stands in NUMBERS.items()
    ),
)
POLICY = parse_policy("""
name = "pay"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
[privacy_units]
person = "id"
[tables.pay]
""")
CONDITIONS = (
    "{m} > f", "{m} <= f", "f = {m}", "f <> {m}", "{m} BETWEEN f AND 5.25::float8", "{m} IN (5.25::float8, 3)",
    "{m} NOT IN (5.25::float8, 3)",
    "greatest({m}, f) > 2", "coalesce({m}, f) > 2", "CASE WHEN id % 2 = 0 THEN {m} ELSE f END > 1",
    "{m}::float8 > 1e80", "{m} > 0.1::float8", "nullif({m}, f) IS NULL",
)  # fmt: skip


def test_it_is_compared_as_a_double_and_no_number_fails(embedded_postgres: EmbeddedPostgres) -> None:
    with on_server(embedded_postgres, "any_size", TABLES) as url:
        with psycopg.connect(url) as connection:
            schema = read_schema(connection)
        run = postgres(url)
        for condition in CONDITIONS:
            counted = "SELECT count(*) FROM pay WHERE "
            try:
                plan = planned(counted + condition.format(m="m"), schema, POLICY)
            except PlannerError as error:
                raise AssertionError(f"{condition}: {error.message}") from error
            expected = run(counted + condition.format(m="(c::double precision)"))
            assert_same(untruncated(plan, run, rewrite(plan, schema=schema)), plan, expected)
        with pytest.raises(psycopg.errors.NumericValueOutOfRange):
            run("SELECT count(*) FROM pay WHERE m > f")
