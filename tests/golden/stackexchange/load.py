"""The site's data into PostgreSQL and DuckDB, once: parquet outside of the checkout, read through DuckDB."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import duckdb
import psycopg

from server.backends.embedded import EmbeddedPostgres
from tests.golden.stackexchange import tables
from tests.support.shared_data import shared_data

_VERSION = "noisegate stackexchange_travel 1"  # of what is loaded: raise it when tables change
_NAME = "stackexchange"
_BLOCK = 1 << 20

NAMESPACE = "public"


def folder() -> Path:
    """Where the parquet files are: beside the checkout, or in $NOISEGATE_SHARED_DATA."""
    return shared_data("stackexchange_travel")


def load_file(path: Path) -> None:
    """Write a DuckDB file with the same tables, without foreign keys; a half-written one has another name.

    Cost: a second.
    """
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(unfinished) as connection:
        connection.execute(f"CREATE SCHEMA {NAMESPACE}; USE {NAMESPACE}")
        for name in tables.COLUMNS:
            connection.execute(tables.create_table(name))
            if name in tables.LOOKUPS:
                rows = [list(row) for row in tables.LOOKUPS[name].items()]
                connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
            else:
                source = folder() / f"{name}.parquet"
                connection.execute(f"INSERT INTO {name} SELECT {_columns(name)} FROM '{source}'")
    unfinished.rename(path)


def load_once(server: EmbeddedPostgres) -> str:
    """Load every table of the catalog unless that is done; returns the URL. Cost: three seconds."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        query = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"
        if connection.execute(query, [_NAME]).fetchone() != (_VERSION,):
            connection.execute(f"DROP DATABASE IF EXISTS {_NAME} WITH (FORCE)".encode())
            connection.execute(f"CREATE DATABASE {_NAME}".encode())
            _load(server.url(database=_NAME))
            connection.execute(f"COMMENT ON DATABASE {_NAME} IS '{_VERSION}'".encode())
    return server.url(database=_NAME)


def _load(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for name in tables.COLUMNS:
            connection.execute(tables.create_table(name).encode())
            if name in tables.LOOKUPS:
                with connection.cursor() as cursor:
                    cursor.executemany(f"INSERT INTO {name} VALUES (%s, %s)".encode(), tables.LOOKUPS[name].items())
            else:
                _copy(connection, name)
        for name in tables.COLUMNS:
            for statement in tables.add_foreign_keys(name):
                connection.execute(statement.encode())
        connection.execute("VACUUM ANALYZE")


def _copy(connection: psycopg.Connection[Any], name: str) -> None:
    """One parquet file by way of CSV."""
    columns = _columns(name)
    with tempfile.TemporaryDirectory(prefix="noisegate-") as temporary:
        path = Path(temporary) / f"{name}.csv"
        source = folder() / f"{name}.parquet"
        with duckdb.connect() as reader:
            reader.execute(f"COPY (SELECT {columns} FROM '{source}') TO '{path}' (FORMAT csv, HEADER)")
        command = f"COPY {name} ({columns}) FROM STDIN (FORMAT csv, HEADER)".encode()
        with path.open("rb") as file, connection.cursor() as cursor, cursor.copy(command) as copy:
            while block := file.read(_BLOCK):
                copy.write(block)


def _columns(name: str) -> str:
    return ", ".join(words.split(" ", 1)[0] for words in tables.COLUMNS[name].split(", "))
