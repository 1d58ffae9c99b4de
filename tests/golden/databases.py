"""The same tables on the tests' PostgreSQL and in a DuckDB file, in the schema `public` and at UTC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb as duckdb_driver
import psycopg

from planner.schema import Dialect, Schema
from server.backends.duckdb import DuckdbBackend
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres_catalog import read_schema
from tests.golden.untruncated import Run, postgres


class Engine(NamedTuple):
    """One of the two: its catalog, how a statement runs, and how it is written."""

    schema: Schema
    run: Run
    dialect: Dialect


@contextmanager
def on_server(server: EmbeddedPostgres, name: str, statements: Iterable[str]) -> Iterator[str]:
    """The URL of a new database that the statements have made, as its owner; dropped afterwards."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
        connection.execute(f"CREATE DATABASE {name}".encode())
        connection.execute(f"ALTER DATABASE {name} SET timezone = 'UTC'".encode())
        with psycopg.connect(server.url(database=name)) as loading:
            for statement in statements:
                loading.execute(statement.encode())
        yield server.url(database=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def in_file(path: Path, statements: Iterable[str]) -> Path:
    """A DuckDB file that the statements have made."""
    with duckdb_driver.connect(path) as connection:
        connection.execute("CREATE SCHEMA public; USE public; SET TimeZone = 'UTC'")
        for statement in statements:
            connection.execute(statement)
    return path


def engines(url: str, path: Path) -> tuple[Engine, Engine]:
    """PostgreSQL, and the file, which stays open."""
    with psycopg.connect(url) as connection:
        schema = read_schema(connection)
    file_schema = DuckdbBackend(path, "public").schema()
    file = duckdb_driver.connect(path, read_only=True)
    file.execute("USE public; SET TimeZone = 'UTC'")
    on_file = Engine(file_schema, lambda statement: file.execute(statement).fetchall(), "duckdb")
    return Engine(schema, postgres(url), "postgres"), on_file
