"""Statements asked of one database, hostile as its rows are: each is refused before its charge, or answered.

`python -m tests.security.pairwise.unfailing postgres 0 500` asks statements 0 to 499, and prints those that fail.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from planner.errors import PlannerError
from planner.policy.declared import with_declared_keys
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.schema import Schema
from server.backends import embedded
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_schema
from server.error_table import problem
from server.errors import ServerError
from server.pipeline import Pipeline
from server.query import QueryRequest
from tests.golden.databases import on_server
from tests.security.pairwise.constructs import constructs
from tests.security.pairwise.kept_connections import KeptConnections
from tests.security.pairwise.lockstep import ANALYST, BUDGET, NOW, Releases
from tests.security.pairwise.worlds import CONSTRUCTS_POLICY, PEOPLE, hostile, people_sql
from tests.support.hostile import TYPES, VALUES
from tests.support.memory_ledger import MemoryLedger


@dataclass
class Asked:
    """What became of statements."""

    counts: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)


def ask_all(
    backend: PostgresBackend | KeptConnections, numbers: range, made: Callable[[int], QueryRequest] = constructs
) -> Asked:
    """Ask statements by their numbers, each of a pipeline with a large budget."""
    policy = parse_policy(CONSTRUCTS_POLICY)
    schema = with_declared_keys(_schema(backend), policy)
    validate(policy, schema)
    asked, pipeline = Asked(), None
    for number in numbers:
        if pipeline is None or number % 200 == 0:
            ledger = MemoryLedger({ANALYST: BUDGET})
            pipeline = Pipeline(policy, schema, backend, ledger, Releases(None), clock=lambda: NOW)  # type: ignore[arg-type]
        request = made(number)
        before = _charged(ledger)
        try:
            pipeline.finish(pipeline.find(request), request)
            asked.counts["answered"] += 1
        except Exception as error:
            known = isinstance(error, (PlannerError, ServerError)) and problem(error).status < 500
            if known and _charged(ledger) == before:
                asked.counts["refused"] += 1
            else:
                asked.counts["failed"] += 1
                cause = error.__cause__ or error.__context__
                asked.failed.append(f"{number}: {type(error).__name__}: {error} [{cause!r}]\n    {request.sql}")
    return asked


def _charged(ledger: MemoryLedger) -> int:
    return sum(state != "released" for _, state in ledger.charged)


def _schema(backend: PostgresBackend | KeptConnections) -> Schema:
    if isinstance(backend, KeptConnections):
        return backend.schema()
    with psycopg.connect(backend.url) as connection:
        return read_schema(connection)


@contextmanager
def duckdb_backend(folder: Path) -> Iterator[KeptConnections]:
    """The hostile tables in a file."""
    backend = KeptConnections.over(hostile(folder)[0])
    try:
        yield backend
    finally:
        backend.close()


@contextmanager
def postgres_backend(server: embedded.EmbeddedPostgres, name: str) -> Iterator[PostgresBackend]:
    """The hostile tables on PostgreSQL, with values that DuckDB has not, such as NaN among decimals."""
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    statements = [
        "CREATE TABLE word (id bigint PRIMARY KEY, w varchar NOT NULL)",
        "INSERT INTO word VALUES (0, 'a'), (1, 'abc'), (3, 'b')",
        "CREATE TABLE person (id bigint PRIMARY KEY, town varchar, boss bigint, nick varchar, born date)",
        f"CREATE TABLE h (id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person, {columns})",
        people_sql(f"generate_series(0, {PEOPLE}) AS t(x)").replace("//", "/"),
    ]
    with on_server(server, name, statements) as url:
        with psycopg.connect(url) as connection:
            holes = ", ".join(f"%s::text::{kind}" for kind in TYPES.values())
            for row in range(97):
                given = [VALUES[kind][row * (place + 1) % len(VALUES[kind])] for place, kind in enumerate(TYPES)]
                connection.execute(f"INSERT INTO h VALUES ({row}, {row % (PEOPLE + 1)}, {holes})".encode(), given)
        yield PostgresBackend(url)


def main() -> None:
    """Ask and print."""
    engine, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    numbers = range(first, first + count)
    if engine == "duckdb":
        with tempfile.TemporaryDirectory() as folder, duckdb_backend(Path(folder)) as file:
            asked = ask_all(file, numbers)
    else:
        server = embedded.start(Path(".noisegate") / "tests" / "unfailing" / "postgres")
        with postgres_backend(server, f"unfailing_{first}") as backend:
            asked = ask_all(backend, numbers)
    print(engine, first, count, dict(asked.counts))
    print("\n".join(asked.failed), flush=True)


if __name__ == "__main__":
    main()
