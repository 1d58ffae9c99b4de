"""TPC-H in every database that questions are asked of, loaded once: scale 1 takes two minutes, scale 4 ten."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import psycopg
from rich.progress import Progress

from planner.policy.policy import DeclaredForeignKey, Policy
from planner.schema import Schema
from server.backends import embedded
from server.backends.backend import Backend
from server.backends.duckdb import DuckdbBackend, DuckdbLimits
from server.backends.postgres import PostgresBackend, ReadLimits
from server.backends.postgres_catalog import read_schema
from server.demo.database import load_once
from tests.support.planning import demo_policy
from tests.support.tpch_duckdb import NAMESPACE, load_tpch

FOLDER = Path(".noisegate") / "benchmarks"

LONGEST_S = 600
"""The most that one statement may take here, in seconds: at scale 4 some take longer than a proxy lets them."""

POSTGRES_LIMITS = ReadLimits(statement_ms=LONGEST_S * 1_000)
_LIMITS = DuckdbLimits(statement_ms=LONGEST_S * 1_000)

Plain = Callable[[str], object]


@dataclass(frozen=True)
class Engine:
    """A database with the rows, a way past the proxy, the proxy's, and its contract.

    Attributes:
      as_proxy: past the proxy, under the limits that its own statements have; None: as `plain`.
    """

    name: str
    backend: Backend
    plain: Plain
    policy: Policy = field(default_factory=demo_policy)
    as_proxy: Plain | None = None


@contextmanager
def postgres_server() -> Iterator[embedded.EmbeddedPostgres]:
    """A server of its own, which keeps what was loaded."""
    server = embedded.start(FOLDER / "postgres")
    try:
        yield server
    finally:
        server.stop()


def loaded_tpch(server: embedded.EmbeddedPostgres, scale: float) -> str:
    """TPC-H in a server, loaded once. Returns: the URL for the proxy's own SELECT-only role."""
    with Progress(disable=bool(os.environ.get("CI"))) as progress:
        return load_once(server, _database(scale), scale, progress)


def _database(scale: float) -> str:
    return f"tpch_{scale:g}".replace(".", "_")


@contextmanager
def postgres(scale: float) -> Iterator[Engine]:
    """TPC-H in PostgreSQL."""
    with postgres_server() as server:
        backend = PostgresBackend(loaded_tpch(server, scale), POSTGRES_LIMITS)
        url = server.url(database=_database(scale))
        with psycopg.connect(url, autocommit=True) as connection, psycopg.connect(url, autocommit=True) as limited:
            connection.execute("VACUUM ANALYZE")
            connection.execute("SET jit = off")
            for name, value in {"jit": "off", **POSTGRES_LIMITS.session}.items():
                limited.execute("SELECT set_config(%s, %s, false)", (name, value))
            yield Engine(
                "PostgreSQL",
                backend,
                lambda sql: connection.execute(sql.encode()).fetchall(),
                as_proxy=lambda sql: limited.execute(sql.encode()).fetchall(),
            )


@contextmanager
def duckdb_file(scale: float) -> Iterator[Engine]:
    """One file with its constraints."""
    file = FOLDER / f"tpch-{scale:g}.duckdb"
    if not file.exists():
        load_tpch(file, scale)
    with duckdb.connect(file, read_only=True, config={"threads": 2}) as connection:
        connection.execute(f"USE {NAMESPACE}")
        yield Engine(
            "DuckDB",
            DuckdbBackend(file, NAMESPACE, _LIMITS).at_this_version(),
            lambda sql: connection.execute(sql).fetchall(),
        )


@contextmanager
def parquet(scale: float) -> Iterator[Engine]:
    """The DuckDB file's tables, one Parquet file each, whose keys are declared as that file has them."""
    file, folder = FOLDER / f"tpch-{scale:g}.duckdb", FOLDER / f"tpch-{scale:g}-parquet"
    known = DuckdbBackend(file, NAMESPACE).schema()
    if not folder.exists():
        folder.mkdir(parents=True)
        with duckdb.connect(file, read_only=True) as connection:
            for name in known.tables:
                connection.execute(f'COPY "{NAMESPACE}"."{name}" TO \'{folder / name}.parquet\'')
    policy = demo_policy()
    settled = {(key.table, key.columns) for key in policy.foreign_keys}
    references = [
        DeclaredForeignKey(name, key.columns, key.references, key.key)
        for name, table in known.tables.items()
        for key in table.foreign_keys
        if name in policy.tables and key.references in policy.tables and (name, key.columns) not in settled
    ]
    tables = {name: replace(table, keys=known.tables[name].unique_keys) for name, table in policy.tables.items()}
    policy = replace(policy, foreign_keys=(*policy.foreign_keys, *references), tables=tables)
    with duckdb.connect(config={"threads": 2}) as connection:
        for name in known.tables:
            connection.execute(f"CREATE VIEW \"{name}\" AS SELECT * FROM read_parquet('{folder / name}.parquet')")
        backend = DuckdbBackend(folder, limits=_LIMITS).at_this_version()
        yield Engine("Parquet", backend, lambda sql: connection.execute(sql).fetchall(), policy)


def schema_of(backend: Backend) -> Schema:
    """The catalog of either engine."""
    if isinstance(backend, PostgresBackend):
        with psycopg.connect(backend.url) as connection:
            return read_schema(connection)
    assert isinstance(backend, DuckdbBackend)
    return backend.schema()
