"""TPC-H and the graph in a DuckDB file, by the same definitions and rows as the demonstration's PostgreSQL."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb

from server.demo import tpch
from server.demo.tpch import small_world

NAMESPACE = "public"


def load_tpch(path: Path, scale: float) -> None:
    """Write the database file; a half-written one is left under another name.

    Cost: about two seconds at scale 0.01.
    """
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="noisegate-") as folder, duckdb.connect(unfinished) as connection:
        tpch.generate(Path(folder), scale)
        connection.execute(f"CREATE SCHEMA {NAMESPACE}; USE {NAMESPACE}")
        for table, columns in tpch.TABLES.items():
            connection.execute(f"CREATE TABLE {table} ({', '.join([columns, *_foreign_keys(table)])})")
            if table != "knows":
                connection.execute(f"COPY {table} FROM '{Path(folder) / table}.csv' (HEADER)")
        people = connection.execute("SELECT max(c_custkey) FROM customer").fetchone()
        assert people is not None
        values = ", ".join(f"({source}, {target})" for source, target in small_world(people[0]).tolist())
        connection.execute(f"INSERT INTO knows VALUES {values}")
    unfinished.rename(path)


def _foreign_keys(table: str) -> list[str]:
    return [
        f"FOREIGN KEY ({columns}) REFERENCES {references}"
        for child, columns, references in tpch.FOREIGN_KEYS
        if child == table
    ]
