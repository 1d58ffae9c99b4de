"""Load the demonstration's database once; an incomplete one is dropped and loaded again."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from psycopg import Connection, sql
from rich.progress import Progress

from server.backends.embedded import EmbeddedPostgres
from server.demo import tpch
from server.demo.tpch import small_world
from server.libpq import connect

ROLE = "noisegate"
_VERSION = "2"  # of what is loaded: raise it when tables or the graph change
_BLOCK = 1 << 20


def load_once(server: EmbeddedPostgres, name: str, scale: float, progress: Progress) -> str:
    """Load TPC-H at `scale` and the graph, which grows with it, into database `name`, unless that is done.

    Returns: the URL for the proxy's SELECT-only role.
    """
    label = f"noisegate demonstration {_VERSION}, scale {scale}"
    load_labelled(server, name, label, lambda url: _load(url, scale, progress))
    return server.url(ROLE, name)


def load_labelled(server: EmbeddedPostgres, name: str, label: str, load: Callable[[str], None]) -> None:
    """Create database `name` and load it as its owner, unless it has this label already."""
    with connect(server.url(), autocommit=True) as connection:
        if _comment(connection, name) != label:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            load(server.url(database=name))
            statement = sql.SQL("COMMENT ON DATABASE {} IS {}")
            connection.execute(statement.format(sql.Identifier(name), sql.Literal(label)))


def _comment(connection: Connection[Any], name: str) -> str | None:
    # The comment names the program and the scale that made the database.
    query = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"
    row = connection.execute(query, [name]).fetchone()
    return row[0] if row else None


def _load(url: str, scale: float, progress: Progress) -> None:
    with connect(url) as connection, tempfile.TemporaryDirectory(prefix="noisegate-") as temporary:
        folder = Path(temporary)
        task = progress.add_task(f"generating TPC-H at scale {scale}", total=None)
        tpch.generate(folder, scale)
        progress.remove_task(task)
        for table, columns in tpch.TABLES.items():
            connection.execute(f"CREATE TABLE {table} ({columns})".encode())
        for table in tpch.TABLES:
            if table != "knows":
                _copy_file(connection, table, folder / f"{table}.csv", progress)
        _copy_graph(connection, progress)
        _finish(connection, progress)


def _copy_file(connection: Connection[Any], table: str, path: Path, progress: Progress) -> None:
    task = progress.add_task(f"loading {table}", total=path.stat().st_size)
    statement = f"COPY {table} FROM STDIN (FORMAT csv, HEADER)"
    with connection.cursor() as cursor, cursor.copy(statement.encode()) as copy:
        for block in _blocks(path):
            copy.write(block)
            progress.advance(task, len(block))


def _copy_graph(connection: Connection[Any], progress: Progress) -> None:
    row = connection.execute("SELECT max(c_custkey) FROM customer").fetchone()
    assert row is not None
    edges = small_world(int(row[0]))
    task = progress.add_task("loading knows", total=len(edges))
    with connection.cursor() as cursor, cursor.copy("COPY knows FROM STDIN") as copy:
        for source, target in edges.tolist():
            copy.write_row((source, target))
    progress.update(task, completed=len(edges))


def _finish(connection: Connection[Any], progress: Progress) -> None:
    task = progress.add_task("foreign keys and indexes", total=len(tpch.FOREIGN_KEYS) + 1)
    for table, columns, references in tpch.FOREIGN_KEYS:
        connection.execute(f"ALTER TABLE {table} ADD FOREIGN KEY ({columns}) REFERENCES {references}".encode())
        progress.advance(task)
    connection.execute(
        f"DO $$ BEGIN CREATE ROLE {ROLE} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$".encode()
    )
    connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {ROLE}".encode())
    connection.commit()
    connection.autocommit = True
    connection.execute("VACUUM ANALYZE")
    progress.advance(task)


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block
