"""Memory of a question, in a real worker of small memory: rows are refused before it ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

from planner.plan import BackendQuery
from server.backends.backend import Backend
from server.backends.duckdb import DuckdbBackend, DuckdbLimits
from server.backends.postgres import PostgresBackend, ReadLimits
from server.backends.postgres_catalog import read_schema
from server.errors import QueryCancelled
from server.workers.pool import WorkerLimits, WorkerPool

MEMORY = 3 << 30
CALL_S = 240.0
MANY, FEW = 15_000_000, 1_000


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    pool = WorkerPool(WorkerLimits(workers=1, call_s=CALL_S, memory_bytes=MEMORY), preload="server.workers.measure")
    pool.warm()
    yield pool
    pool.close()


def rows_read(backend: Backend, query: BackendQuery) -> int:
    """How many rows a question has; called in the worker."""
    _, tuples = backend.read(query)
    assert tuples.join is not None
    return len(tuples.join.group)


def _query(statement: str, fingerprint: str) -> BackendQuery:
    return BackendQuery(
        join=statement,
        distinct=(),
        relations=("person",),
        domains=(),
        values=(),
        n_releases=1,
        fingerprint=fingerprint,
    )


def _check(pool: WorkerPool, backend: Backend, statement: str, fingerprint: str) -> None:
    """Few rows, too many, and few again. A worker whose memory ended would say so, or die without a word."""
    few = _query(statement.format(rows=FEW), fingerprint)
    many = _query(statement.format(rows=MANY), fingerprint)
    assert pool.call(rows_read, backend, few) == FEW
    with pytest.raises(QueryCancelled, match="more join rows than the proxy accepts"):
        pool.call(rows_read, backend, many)
    assert pool.call(rows_read, backend, few) == FEW


@pytest.mark.slow
def test_arrays_of_postgresql(pool: WorkerPool, scratch_url: str) -> None:
    with psycopg.connect(scratch_url) as connection:
        fingerprint = read_schema(connection).fingerprint
    backend = PostgresBackend(scratch_url, ReadLimits(rows=2 * MANY))
    statement = "SELECT i AS o0, i AS w0 FROM generate_series(1::bigint, {rows}) i"
    _check(pool, backend, statement, fingerprint)


@pytest.mark.slow
def test_objects_of_postgresql(pool: WorkerPool, scratch_url: str) -> None:
    with psycopg.connect(scratch_url) as connection:
        fingerprint = read_schema(connection).fingerprint
    statement = "SELECT i::text AS o0, 1::bigint AS w0 FROM generate_series(1::bigint, {rows}) i"
    _check(pool, PostgresBackend(scratch_url, ReadLimits(rows=2 * MANY)), statement, fingerprint)


@pytest.mark.slow
def test_arrays_of_duckdb(pool: WorkerPool, tmp_path: Path) -> None:
    file = tmp_path / "empty.duckdb"
    duckdb.connect(file).close()
    backend = DuckdbBackend(file, limits=DuckdbLimits(rows=2 * MANY, memory_mb=512))
    statement = "SELECT range AS o0, range AS w0 FROM range({rows})"
    _check(pool, backend, statement, backend.schema().fingerprint)
