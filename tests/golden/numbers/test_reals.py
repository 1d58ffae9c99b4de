"""Numbers of type real behave as in PostgreSQL, on both engines, in private questions and over public tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from planner.errors import UnsupportedSQL
from planner.parsing.parse import read
from planner.policy.policy import parse_policy
from planner.public.bind import bind_public
from planner.rewriting.rewrite import rewrite, write_public
from server.backends.duckdb import DuckdbBackend
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres import PostgresBackend
from server.backends.public_rows import public_rows
from server.pipeline import Pipeline
from server.query import QueryRequest
from tests.golden.collected.before_noise import answered
from tests.golden.databases import Engine, engines, in_file, on_server
from tests.golden.untruncated import assert_same, untruncated
from tests.support.memory_ledger import MemoryLedger
from tests.support.planning import planned

TABLES = (
    "CREATE TABLE patient (id bigint PRIMARY KEY)",
    """CREATE TABLE lab (id bigint PRIMARY KEY, patient bigint NOT NULL REFERENCES patient, r real, s real NOT NULL,
       d double precision NOT NULL, i int NOT NULL, b bigint NOT NULL, n numeric(6,3) NOT NULL)""",
    "CREATE TABLE dose (id bigint PRIMARY KEY, r real, n numeric(6,2))",
    "INSERT INTO patient SELECT i FROM generate_series(1, 9) AS s(i)",
    """INSERT INTO lab SELECT i, 1 + i % 9, CASE WHEN i % 10 > 0 THEN (i % 10) * 0.1 END, (i % 7) * 0.1,
       (i % 10) * 0.1, 16777213 + i % 9, 9007199254740990 + i % 5, (i % 10) * 0.1
       FROM generate_series(1, 90) AS s(i)""",
    "INSERT INTO dose VALUES (1, 0.1, 0.1), (2, 0.3, 0.3), (3, 16777216, 2.5), (4, NULL, NULL), (5, 1e-40, 0.07)",
)
POLICY = parse_policy("""
name = "labs"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 1000.0
[privacy_units]
patient = "id"
[tables.patient]
[tables.lab]
columns.r = { range = [0, 3] }
columns.s = { range = [0, 3] }
columns.d = { range = [0, 3] }
columns.i = { range = [0, 20000000] }
columns.n = { range = [0, 3] }
[tables.dose]
public = true
""")

CONDITIONS = (
    "r = 0.3", "r = 0.3::real", "r = '0.3'", "r > 0.3::real", "r > 0.3", "r <= 0.3::real", "r < '0.3'",
    "r <> 0.3::real", "0.3::float4 = r", "r = REAL '0.3'", "r = 0.3::float8", "r = CAST(0.3 AS real)",
    "r = 0.3::real::float8", "r IN (0.3)", "r IN (0.3, 0.5)", "r IN (0.3::real)", "r IN ('0.3', '0.5')",
    "r NOT IN (0.3, 0.5)", "r IN (0.3, NULL)", "r IN (0.3::float8, 0.5)", "r BETWEEN 0.3 AND 0.5",
    "r BETWEEN 0.3::real AND 0.5::real", "r BETWEEN '0.3' AND '0.5'", "r BETWEEN SYMMETRIC 0.5 AND 0.3",
    "CASE WHEN r > 0.3::real THEN r ELSE 0.3 END = 0.3::real", "CASE WHEN i > 0 THEN 0.3 ELSE r END = 0.3",
    "CASE r WHEN 0.3 THEN TRUE ELSE FALSE END", "CASE r WHEN 0.3::real THEN TRUE ELSE FALSE END",
    "coalesce(r, 0.3) = 0.3::real", "coalesce(r, 0.3) = 0.3", "coalesce(r, d) = 0.3", "coalesce(r, i) = 16777216",
    "coalesce(r, n) = s", "nullif(r, 0.3) IS NULL", "nullif(r, 0.3::real) IS NULL",
    "coalesce(nullif(r, 0.3::real), 0.3) = 0.3", "greatest(r, 0.3) = 0.3::real", "least(r, 0.3) = 0.3",
    "least(r, 0.3::float8) = 0.3", "r::numeric = 0.3", "r::numeric IN (0.3, 0.5)", "r::numeric > 0.3",
    "round(r::numeric, 1) = 0.3", "r::float8 = 0.3", "r::double precision > 0.3", "r::real = 0.3::real", "r = s",
    "r = d", "r = n", "r > s", "r + s = 0.5::real", "r + s = 0.5", "r * s = 0.06::real", "r - s = 0.1::real",
    "r / nullif(s, 0) = 0.75", "r + 0.1 = 0.4", "r + 0.1::real = 0.4::real", "-r = -0.3::real",
    "abs(r) = 0.3::real", "i::real = 16777216", "i::real = i", "b::real = 9007199254740992", "d::real = r",
    "n::real = r", "(n * 2)::real = s", "r IS DISTINCT FROM 0.3::real", "NOT r = 0.3::real",
    "r = 0.1::real + 0.2::real", "d = 0.3::real",
)  # fmt: skip
STATEMENTS = (
    "SELECT sum(r), avg(r), sum(CASE WHEN r = 0.3::real THEN 1 ELSE 0 END), sum(coalesce(r, 0.3)) FROM lab",
    "SELECT sum(d::real), avg(i::real), sum(r::numeric), sum(least(greatest(r, 0.1), 0.5)), sum(r * s) FROM lab",
    "SELECT count(*) FROM (SELECT patient, max(r) AS m FROM lab GROUP BY patient) p WHERE m = 0.9::real",
    "SELECT count(*) FROM lab JOIN dose ON lab.r = dose.r",
    "SELECT count(*) FROM lab JOIN dose ON lab.r = dose.n",
    "SELECT count(*) FROM lab WHERE EXISTS (SELECT 1 FROM dose WHERE dose.r = 0.1::real AND dose.r = lab.r)",
)
PUBLIC = (
    "SELECT r, n FROM dose ORDER BY id",
    "SELECT max(r), min(r), count(r) FROM dose",
    "SELECT r, count(*) FROM dose GROUP BY r ORDER BY r",
    "SELECT id FROM dose WHERE r = 0.3::real OR r IN (0.1, 5) OR r = 1e-40::real ORDER BY id",
    "SELECT r + r, r * 0.3::real, -r, r / 0.3::real, r::float8, coalesce(r, 0.7), n::real FROM dose WHERE id < 5",
    "SELECT x FROM (SELECT r AS x FROM dose) q WHERE coalesce(x, 0.7) = 0.7::real",
    "SELECT r FROM dose UNION SELECT r + r FROM dose ORDER BY 1",
    "SELECT id FROM dose WHERE r::numeric = n ORDER BY id",
)
"""What PostgreSQL shows of a real, by its shortest digits, is what is read."""


@pytest.fixture(scope="module")
def reals_url(embedded_postgres: EmbeddedPostgres) -> Iterator[str]:
    with on_server(embedded_postgres, "labs_of_reals", TABLES) as url:
        yield url


@pytest.fixture(scope="module")
def both(reals_url: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Engine, Engine]:
    return engines(reals_url, in_file(tmp_path_factory.mktemp("labs") / "tables.duckdb", TABLES))


_AT_ONCE = 20


def _asked() -> Iterator[str]:
    for first in range(0, len(CONDITIONS), _AT_ONCE):
        some = CONDITIONS[first : first + _AT_ONCE]
        yield f"SELECT {', '.join(f'count(*) FILTER (WHERE {condition})' for condition in some)} FROM lab"
    yield from STATEMENTS


@pytest.mark.parametrize("place", [0, 1], ids=["postgres", "duckdb"])
def test_a_question_counts_what_postgresql_counts(both: tuple[Engine, Engine], place: int) -> None:
    schema, run, dialect = both[place]
    for sql in _asked():
        plan = planned(sql, schema, POLICY)
        answer = untruncated(plan, run, rewrite(plan, dialect=dialect, schema=schema))
        expected = both[0].run(sql)
        try:
            assert_same(answer, plan, expected)
        except AssertionError as error:
            counted = zip(sql.split(", count(*)"), next(iter(answer.rows.values())), expected[0], strict=False)
            raise AssertionError(f"{error}: {[case for case in counted if case[1] != case[2]]} of {sql}") from error


@pytest.mark.parametrize("place", [0, 1], ids=["postgres", "duckdb"])
def test_public_tables_show_what_postgresql_shows(both: tuple[Engine, Engine], place: int) -> None:
    schema, run, dialect = both[place]
    for sql in PUBLIC:
        query = bind_public(read(sql).tree, schema, POLICY)
        statement = write_public(query, dialect=dialect)
        shown = public_rows(run(statement.sql), [kind for _, kind in statement.columns])
        assert _numbers(shown) == _numbers(both[0].run(sql)), sql


def _numbers(rows: Sequence[tuple[Any, ...]]) -> list[list[float | None]]:
    return [[None if value is None else float(value) for value in row] for row in rows]


def test_a_number_that_is_no_real_is_refused(both: tuple[Engine, Engine]) -> None:
    for number in ("1e39", "1e-46"):
        with pytest.raises(UnsupportedSQL) as refused:
            planned(f"SELECT count(*) FROM lab WHERE r = {number}::real", both[0].schema, POLICY)
        assert refused.value.hint == "write a number between 1e-45 and 3.4e38"


def test_around_answers_reals_are_postgresqls_or_refused(
    both: tuple[Engine, Engine], reals_url: str, tmp_path: Path
) -> None:
    sql = "SELECT d.id, rank() OVER (ORDER BY c) FROM (SELECT count(*) AS c FROM lab) a, dose d WHERE {} ORDER BY 1"
    backends = (PostgresBackend(reals_url), DuckdbBackend(in_file(tmp_path / "tables.duckdb", TABLES), "public"))
    on_server, in_a_file = (
        Pipeline(POLICY, engine.schema, backend, MemoryLedger({"ada": 1e6}), None)  # type: ignore[arg-type]
        for engine, backend in zip(both, backends, strict=True)
    )
    found = on_server.find(QueryRequest("ada", sql.format("r = 0.3::real"), request_id="r"))
    assert answered(found, both[0].run, backends[0]) == [(2, 1)]
    in_a_file.find(QueryRequest("ada", sql.format("d.n = 0.3"), request_id="r"))
    for condition in ("r = 0.3", "d.id IN (SELECT id FROM (SELECT * FROM dose) x)"):
        with pytest.raises(UnsupportedSQL, match="a real, around answers"):
            in_a_file.find(QueryRequest("ada", sql.format(condition), request_id="r"))
