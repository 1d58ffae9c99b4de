"""TPC-DS in PostgreSQL and in a DuckDB file: the same rows, every key enforced."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import psycopg

from tests.support.tpcds_data import write_rows
from tests.support.tpcds_schema import create_statement, foreign_key_clauses, tpcds_schema


def load_tpcds_postgres(url: str) -> None:
    """Load an empty database. Cost: two seconds."""
    tables = tpcds_schema().tables
    with tempfile.TemporaryDirectory(prefix="noisegate-") as folder, psycopg.connect(url) as connection:
        write_rows(Path(folder))
        for name, table in tables.items():
            connection.execute(create_statement(table, foreign_keys=False).encode())
            with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv, HEADER)".encode()) as copy:
                copy.write((Path(folder) / f"{name}.csv").read_bytes())
        for name, table in tables.items():
            for clause in foreign_key_clauses(table):
                connection.execute(f"ALTER TABLE {name} ADD {clause}".encode())
        connection.execute("ANALYZE")


def load_tpcds_duckdb(path: Path, namespace: str) -> None:
    """Write the database file; a half-written one is left under another name. Cost: two seconds."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="noisegate-") as folder, duckdb.connect(unfinished) as connection:
        write_rows(Path(folder))
        connection.execute(f"CREATE SCHEMA {namespace}; USE {namespace}")
        for name, table in tpcds_schema().tables.items():
            connection.execute(create_statement(table, foreign_keys=True))
            connection.execute(f"COPY {name} FROM '{Path(folder) / name}.csv' (HEADER)")
    unfinished.rename(path)
