"""TPC-DS in both databases, loaded once for a test process and kept for the next run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

from server.backends.duckdb import DuckdbBackend
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres_catalog import read_schema
from server.demo.database import load_labelled
from tests.golden.executed import Database
from tests.support.tpcds_data import VERSION
from tests.support.tpcds_databases import load_tpcds_duckdb, load_tpcds_postgres

_NAMESPACE = "public"


@pytest.fixture(scope="session")
def on_postgres(embedded_postgres: EmbeddedPostgres) -> Iterator[Database]:
    """TPC-DS, as its owner."""
    load_labelled(embedded_postgres, "tpcds", f"TPC-DS {VERSION}", load_tpcds_postgres)
    with psycopg.connect(embedded_postgres.url(database="tpcds"), autocommit=True) as connection:
        yield Database(
            read_schema(connection),
            "postgres",
            lambda statement: connection.execute(statement.encode()).fetchall(),
            lambda statement: len(connection.execute(statement.encode()).description or ()),
        )


@pytest.fixture(scope="session")
def on_duckdb() -> Iterator[Database]:
    """The same rows in a file."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    path = Path(".noisegate") / "tests" / worker / f"tpcds-{VERSION}.duckdb"
    if not path.exists():
        load_tpcds_duckdb(path, _NAMESPACE)
    schema = DuckdbBackend(path, _NAMESPACE).schema()
    with duckdb.connect(path, read_only=True) as connection:
        connection.execute(f"SET search_path = '{_NAMESPACE}'")
        yield Database(
            schema,
            "duckdb",
            lambda statement: connection.execute(statement).fetchall(),
            lambda statement: len(connection.execute(statement).description or ()),
        )
