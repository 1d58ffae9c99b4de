"""Queries over public tables before real databases, a real ledger and real workers: exact, nothing is charged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import psycopg
import pytest

from planner.errors import StatementTooComplex, UnsupportedSQL
from planner.limits import MAX_PUBLIC_ROWS
from planner.plan import BackendQuery
from planner.policy.policy import parse_policy
from planner.postprocessing.write_outer import OuterStatement
from planner.public.relation import PublicStatement
from planner.schema import Dialect
from server.backends.backend import Backend
from server.backends.columns import Domain
from server.backends.duckdb import DuckdbBackend, DuckdbLimits
from server.backends.postgres import PostgresBackend, ReadLimits
from server.backends.postgres_catalog import read_schema
from server.backends.public_rows import Computed, Rows
from server.backends.query_tuples import QueryTuples
from server.error_table import problem
from server.errors import (
    BackendConnectionLost,
    BackendFailed,
    BackendUnavailable,
    ComputationFailed,
    PublicQueryFailed,
    ServerError,
    UnknownAnalyst,
)
from server.http.answer_body import AnswerBody, json_pieces
from server.ledger.ledger import Ledger
from server.pgwire.wire_values import encode_cell, field_of
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.results.flat_table import csv_text
from server.workers.pool import WorkerPool
from tests.support.asking import ask
from tests.support.peak_memory import measured
from tests.support.planning import demo_policy
from tests.support.proxies import POLICY
from tests.support.tpch_duckdb import NAMESPACE
from tests.support.tpch_schema import tpch_schema

REGIONS = (
    "SELECT r_name, count(*) AS n FROM nation JOIN region ON n_regionkey = r_regionkey GROUP BY r_name ORDER BY 1"
)
OVERFLOW = f"SELECT sum({' * '.join(['power(p_retailprice, 16)'] * 7)}) FROM part"
LONG = "SELECT count(*) FROM part a, part b, part c, part d WHERE a.p_size + b.p_size = c.p_size * d.p_size"


ANALYSTS = {"ada": (2.0, 0.0)}


@pytest.fixture
def ledger(ledger: Ledger) -> Iterator[Ledger]:
    """Nobody is charged by any test here."""
    yield ledger
    assert ledger.charges() == ()


@pytest.fixture(params=["postgres", pytest.param("duckdb", marks=pytest.mark.slow)])
def pipeline(
    request: pytest.FixtureRequest, ledger: Ledger, workers: WorkerPool, tpch_url: str, tpch_duckdb: Path
) -> Pipeline:
    if request.param == "duckdb":
        file = DuckdbBackend(tpch_duckdb, NAMESPACE)
        return Pipeline(demo_policy(), file.schema(), file, ledger, workers)
    with psycopg.connect(tpch_url) as connection:
        schema = read_schema(connection)
    return Pipeline(demo_policy(), schema, PostgresBackend(tpch_url), ledger, workers)


ON_BOTH = pytest.mark.parametrize("pipeline", ["postgres", "duckdb"], indirect=True)


def _ask(sql: str, **settings: Any) -> QueryRequest:
    return QueryRequest("ada", sql, request_id="request-1", **settings)


@ON_BOTH
def test_an_answer_is_exact_and_free(pipeline: Pipeline, ledger: Ledger) -> None:
    answer = ask(pipeline, _ask(REGIONS, epsilon=1.0))
    assert answer.rows == tuple((name, 5) for name in ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"))
    assert (answer.covers, answer.mechanism, answer.epsilon, answer.delta) == ("exact", "none", 0.0, 0.0)
    assert answer.intervals == ((None, None),) * 5
    assert answer.taus == ((None, None),) * 5
    assert answer.budget.epsilon_left == ledger.budget("ada").epsilon_left == 2.0
    body = AnswerBody.of(answer).model_dump()
    assert (body["charge"], body["covers"]) == ({"epsilon": 0.0, "delta": 0.0}, "exact")
    assert "exact and free" in body["details"][0]


def test_values_come_with_the_statement_and_a_constant_needs_no_table(pipeline: Pipeline) -> None:
    answer = ask(pipeline, _ask("SELECT n_name FROM nation WHERE n_nationkey = $1", parameters=(3,)))
    assert answer.rows == (("CANADA",),)
    answer = ask(pipeline, _ask("SELECT 1 AS one, 0.1 + 0.2, 12345678901234567.89"))
    assert answer.rows == ((1, 0.3, "12345678901234567.89"),)
    assert [column.type for column in answer.columns] == ["int8", "numeric", "numeric"]


@ON_BOTH
def test_a_moment_of_a_time_zone_says_utc_in_every_form(pipeline: Pipeline) -> None:
    moments = "TIMESTAMPTZ '2024-05-17 12:30:00+02' AS z, TIMESTAMP '2024-05-17 12:30:00' AS t"
    answer = ask(pipeline, _ask(f"SELECT {moments}, NULLIF(TIMESTAMPTZ '2024-05-17', TIMESTAMPTZ '2024-05-17')"))
    assert answer.rows == (("2024-05-17 10:30:00+00", "2024-05-17 12:30:00", None),)
    assert AnswerBody.of(answer).rows == (answer.rows[0],)
    assert encode_cell(answer.rows[0][0], field_of("z", "timestamptz"), 0) == b"2024-05-17 10:30:00+00"
    assert csv_text(answer).splitlines()[1] == "2024-05-17 10:30:00+00,2024-05-17 12:30:00,"


def test_a_quotient_by_zero_is_null(pipeline: Pipeline) -> None:
    outputs = "5 / n_regionkey, 1.5 / n_regionkey, sqrt(n_regionkey - 1), ln(n_regionkey), 5 % n_regionkey"
    answer = ask(pipeline, _ask(f"SELECT {outputs} FROM nation WHERE n_nationkey = 0"))
    assert answer.rows == ((None,) * 5,)


def test_explain_says_that_it_is_free(pipeline: Pipeline) -> None:
    explained = pipeline.explain(_ask(REGIONS))
    assert (explained.epsilon, explained.mechanism, explained.privacy_units) == (0.0, "none", ())
    assert "public tables only (nation, region)" in explained.reason
    lines = [str(line) for (line,) in ask(pipeline, _ask(f"EXPLAIN {REGIONS}")).rows]
    assert "would charge: epsilon 0" in lines
    assert any("exact and free" in line for line in lines)


def test_what_has_no_value_is_a_clean_problem(pipeline: Pipeline) -> None:
    with pytest.raises(ComputationFailed) as failed:
        ask(pipeline, _ask("SELECT (SELECT n_name FROM nation)"))
    found = problem(failed.value)
    assert (found.code, found.status) == ("22000", 422)
    assert found.message == "an expression of the query has no value"


@ON_BOTH
def test_an_overflow_is_a_clean_problem_or_no_number(pipeline: Pipeline) -> None:
    """PostgreSQL refuses to go beyond the doubles, DuckDB goes to infinity, which JSON has not."""
    if pipeline.backend.dialect == "duckdb":
        assert b'"rows":[[null]]' in b"".join(json_pieces(ask(pipeline, _ask(OVERFLOW))))
        return
    with pytest.raises(ComputationFailed):
        ask(pipeline, _ask(OVERFLOW))


def test_more_rows_than_the_limit_are_refused(pipeline: Pipeline) -> None:
    with pytest.raises(StatementTooComplex, match=str(MAX_PUBLIC_ROWS)):
        ask(pipeline, _ask("SELECT a.n_name FROM nation a, nation b, nation c, nation d"))
    cut = "SELECT a.n_name FROM nation a, nation b, nation c, nation d ORDER BY 1 LIMIT 2"
    assert len(ask(pipeline, _ask(cut)).rows) == 2


@ON_BOTH
def test_a_query_over_its_limit_says_that_it_was_free(pipeline: Pipeline) -> None:
    backend = pipeline.backend
    assert isinstance(backend, PostgresBackend | DuckdbBackend)
    hurried: Backend = (
        replace(backend, limits=ReadLimits(public_ms=300))
        if isinstance(backend, PostgresBackend)
        else replace(backend, limits=DuckdbLimits(public_ms=300))
    )
    with pytest.raises(PublicQueryFailed) as failed:
        ask(replace(pipeline, backend=hurried), _ask(LONG))
    assert "nothing was charged" in str(failed.value.hint)


def _connect(url: str) -> PostgresBackend:
    backend = PostgresBackend(url)
    with psycopg.connect(url) as connection:
        fingerprint = read_schema(connection).fingerprint
    backend.check_schema(fingerprint)
    return backend


def _ask_for_two_gigabytes(backend: PostgresBackend) -> None:
    with psycopg.connect(backend.url) as connection:
        fingerprint = read_schema(connection).fingerprint
    wide = PublicStatement("SELECT repeat('x', 1000000) FROM generate_series(1, 2000)", (("x", "text"),), fingerprint)
    with pytest.raises(StatementTooComplex, match="MiB"):
        backend.public(wide)


@pytest.mark.slow
def test_no_more_is_held_in_memory_than_may_be_answered(tpch_url: str) -> None:
    work = measured(partial(_connect, tpch_url), partial(_connect, tpch_url), _ask_for_two_gigabytes)
    assert work.peak_bytes < 256 << 20


def test_a_private_table_behind_a_public_one_stays_private_and_a_stranger_is_not_answered(pipeline: Pipeline) -> None:
    with pytest.raises(UnsupportedSQL):
        ask(pipeline, _ask("SELECT c_name FROM customer"))
    with pytest.raises(UnsupportedSQL):
        ask(pipeline, _ask("SELECT n_name FROM nation WHERE EXISTS (SELECT 1 FROM customer)"))
    with pytest.raises(UnknownAnalyst):
        ask(pipeline, QueryRequest("eve", "SELECT 1"))


@dataclass(frozen=True)
class BreakingBackend:
    """Raises each error of a list in turn, then answers with one row; there is nothing private in it."""

    dialect: ClassVar[Dialect] = "postgres"

    log: Path
    failures: tuple[ServerError, ...]

    def check_schema(self, fingerprint: str) -> None:
        pass

    def domain(self, query: BackendQuery) -> Domain:
        raise AssertionError("nothing private is asked for")

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        raise AssertionError("nothing private is asked for")

    def compute(self, statement: OuterStatement, *, rows: bool) -> Computed:
        raise AssertionError("nothing surrounds these answers")

    def public(self, statement: PublicStatement) -> Rows:
        reads = len(self.log.read_text().splitlines()) if self.log.exists() else 0
        with self.log.open("a") as log:
            log.write("read\n")
        if reads < len(self.failures):
            raise self.failures[reads]
        return ((1,),)


def _breaking(folder: Path, ledger: Ledger, workers: WorkerPool, *failures: ServerError) -> Pipeline:
    backend = BreakingBackend(folder / "reads", failures)
    return Pipeline(parse_policy(POLICY.read_text()), tpch_schema(), backend, ledger, workers)


def test_a_lost_connection_is_tried_again_once(tmp_path: Path, ledger: Ledger, workers: WorkerPool) -> None:
    lost = BackendConnectionLost("lost")
    assert ask(_breaking(tmp_path, ledger, workers, lost), _ask("SELECT 1")).rows == ((1,),)
    (tmp_path / "reads").unlink()
    with pytest.raises(BackendUnavailable, match="lost"):
        ask(_breaking(tmp_path, ledger, workers, lost, lost), _ask("SELECT 1"))


def test_failures_do_not_count_against_the_analyst(tmp_path: Path, ledger: Ledger, workers: WorkerPool) -> None:
    broken = _breaking(tmp_path, ledger, workers, *[BackendFailed("secret zebra")] * 100)
    for _ in range(30):
        with pytest.raises(BackendFailed) as failed:
            ask(broken, _ask("SELECT 1"))
    assert "zebra" not in problem(failed.value).message
    assert not [entry for entry in ledger.entries() if entry.kind in ("reserved", "failed")]


EVERY_TYPE = """
    CREATE TYPE mood AS ENUM ('bad', 'ok', 'good');
    CREATE TABLE part (id int PRIMARY KEY, d date, ts timestamp, tz timestamptz, m numeric, f float8, u uuid, i inet,
        iv interval, a int[], j jsonb, b bytea, cash money, e mood);
    CREATE TABLE customer (c_custkey bigint PRIMARY KEY);
    INSERT INTO part VALUES (1, 'infinity', 'infinity', 'infinity', 123456789012345678901234567890.125, 'NaN',
        '00000000-0000-0000-0000-000000000001', '10.0.0.1', '1 day', '{1,2}', '{"a": 1}', '\\x00ff', '12.3', 'ok'),
        (2, '0044-03-15 BC', '0044-03-15 BC', '2020-01-01 12:00+00', 2.5, 1e300, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, 'bad')
"""


@pytest.fixture
def every_type(scratch_url: str, ledger: Ledger, workers: WorkerPool) -> Pipeline:
    with psycopg.connect(scratch_url) as connection:
        connection.execute(EVERY_TYPE.encode())
        connection.commit()
        schema = read_schema(connection)
    head = (
        'name = "types"\n[database]\nurl = "env:UNUSED"\n[ledger]\npath = "ledger.sqlite"\n[privacy]\nepsilon = 1.0\n'
    )
    policy = parse_policy(
        f'{head}max_epsilon = 1.0\ndelta = 0.0\n[privacy_units]\ncustomer = "c_custkey"\n'
        "[tables.customer]\n[tables.part]\npublic = true\n"
    )
    return Pipeline(policy, schema, PostgresBackend(scratch_url), ledger, workers)


def test_columns_of_every_type_are_shown_as_postgresql_writes_them(every_type: Pipeline) -> None:
    def asked(sql: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in ask(every_type, QueryRequest("ada", sql, epsilon=None, request_id="r")).rows]

    assert len(asked("SELECT * FROM part")[0]) == 14
    assert asked("SELECT u, i, iv, a, j, b, cash, e FROM part WHERE id = 1") == [
        (
            "00000000-0000-0000-0000-000000000001",
            "10.0.0.1/32",
            "1 day",
            "{1,2}",
            '{"a": 1}',
            "\\x00ff",
            "$12.30",
            "ok",
        )
    ]
    assert asked("SELECT d::text, ts::text, tz::text FROM part ORDER BY id") == [
        ("infinity", "infinity", "infinity"),
        ("0044-03-15 BC", "0044-03-15 00:00:00 BC", "2020-01-01 12:00:00+00"),
    ]
    assert asked("SELECT round(m, 2) FROM part WHERE id = 1") == [("123456789012345678901234567890.13",)]
    assert asked("SELECT id, rank() OVER (ORDER BY e) FROM part ORDER BY id") == [(1, 2), (2, 1)]


def test_what_has_no_value_is_said_to_have_none(every_type: Pipeline) -> None:
    """A limit of PostgreSQL was taken for a connection that is lost."""
    for sql in ("SELECT chr(0)", "SELECT lpad('a', 1000000000)", "SELECT f::int FROM part", "SELECT 10^400"):
        with pytest.raises((UnsupportedSQL, ComputationFailed)) as refused:
            ask(every_type, QueryRequest("ada", sql, epsilon=None, request_id="r"))
        assert problem(refused.value).status == 422, sql
