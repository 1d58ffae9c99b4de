"""The tables of the collected statements on PostgreSQL and on DuckDB, and what PostgreSQL itself says."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

import duckdb
import psycopg
import pytest

from server.backends.backend import Backend
from server.backends.duckdb import DuckdbBackend
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres import PostgresBackend
from server.pipeline import Pipeline
from tests.golden.collected.outcomes import NAMESPACE, pipeline, write_file
from tests.golden.collected.world import OF_SOMEBODY, ROWS, TABLES
from tests.golden.databases import on_server
from tests.golden.untruncated import Rows, Run


@dataclass(frozen=True)
class Database:
    """One of the two: how a text is looked up for it, and how its statements run."""

    run: Run
    backend: Backend
    pipeline: Pipeline


@pytest.fixture(scope="package")
def urls(embedded_postgres: EmbeddedPostgres) -> Iterator[tuple[str, str]]:
    """The tables as the proxy reads them, and as answers are of them: without nobody's rows, within ranges."""
    name = f"collected_{uuid4().hex}"  # two packages of tests may hold them at once
    with (
        on_server(embedded_postgres, name, (*TABLES, *ROWS)) as all_rows,
        on_server(embedded_postgres, f"{name}_of_somebody", (*TABLES, *ROWS, *OF_SOMEBODY)) as of_somebody,
    ):
        yield all_rows, of_somebody


@pytest.fixture(scope="package")
def truth(urls: tuple[str, str]) -> Iterator[Callable[[str], Rows]]:
    """What PostgreSQL itself says."""
    with psycopg.connect(urls[1], autocommit=True) as connection:
        yield partial(_postgres_rows, connection)


@pytest.fixture(scope="package")
def on_postgres(urls: tuple[str, str]) -> Iterator[Database]:
    backend = PostgresBackend(urls[0])
    with psycopg.connect(urls[0], autocommit=True) as connection:
        yield Database(partial(_postgres_rows, connection), backend, pipeline(backend))


@pytest.fixture(scope="package")
def on_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The proxy's backend opens a file for each question; the test keeps a copy open."""
    path = tmp_path_factory.mktemp("collected") / "collected.duckdb"
    write_file(path)
    copy = shutil.copy(path, path.with_suffix(".copy"))
    backend = DuckdbBackend(path, NAMESPACE)
    with duckdb.connect(copy, read_only=True) as connection:
        connection.execute(f"USE {NAMESPACE}; SET TimeZone = 'UTC'")
        yield Database(lambda sql: connection.execute(sql).fetchall(), backend, pipeline(backend))


def _postgres_rows(connection: psycopg.Connection[tuple[object, ...]], sql: str) -> Rows:
    return connection.execute(sql.encode()).fetchall()
