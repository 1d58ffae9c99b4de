"""What the proxy finds for each text before anything is measured: the whole way of a look-up, without a database."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from planner.errors import PlannerError
from planner.policy.policy import Policy, parse_policy
from planner.schema import Schema
from server.answers.work import Work
from server.backends.backend import NUMBERS, Backend, with_nan
from server.backends.duckdb import DuckdbBackend
from server.backends.postgres import PostgresBackend
from server.pipeline import Pipeline
from server.policy.public_ranges import with_public_ranges
from server.query import QueryRequest
from server.workers.pool import WorkerPool
from tests.golden.collected.world import ROWS, TABLES
from tests.golden.databases import in_file
from tests.support.memory_ledger import MemoryLedger

NAMESPACE = "public"


@dataclass(frozen=True)
class Outcome:
    """What is done for one text, or why nothing is."""

    text: str
    found: Work | None
    refusal: PlannerError | None


@cache
def policy() -> Policy:
    """policy.toml, with the ranges of public columns."""
    return _file()[0]


def write_file(path: Path) -> None:
    """The tables in a DuckDB file. Cost: half a second."""
    in_file(path, (*TABLES, *ROWS))


@cache
def schema() -> Schema:
    """The catalog of PostgreSQL: as that of the file, but there a numeric may be NaN."""
    tables = {name: with_nan(table, NUMBERS) for name, table in file_schema().tables.items()}
    return replace(file_schema(), tables=tables)


@cache
def file_schema() -> Schema:
    """The catalog of the file."""
    return _file()[1]


@cache
def _file() -> tuple[Policy, Schema]:
    declared = parse_policy(Path(__file__).with_name("policy.toml").read_text())
    with tempfile.TemporaryDirectory(prefix="noisegate-") as folder:
        file = DuckdbBackend(in_file(Path(folder) / "tables.duckdb", (*TABLES, *ROWS)), NAMESPACE)
        schema = file.schema()
        return with_public_ranges(declared, schema, file), schema


def pipeline(backend: Backend) -> Pipeline:
    """One that looks statements up, for an analyst whose budget never ends; it has no workers to measure with."""
    known = file_schema() if backend.dialect == "duckdb" else schema()
    return Pipeline(policy(), known, backend, MemoryLedger({"ada": 1e6}), _NO_WORKERS)  # type: ignore[arg-type]


_NO_WORKERS: WorkerPool = None  # type: ignore[assignment]


def found(text: str, pipeline: Pipeline) -> Outcome:
    """Look a text up."""
    try:
        return Outcome(text, pipeline.find(QueryRequest("ada", text, request_id="r")), None)
    except PlannerError as refusal:
        return Outcome(text, None, refusal)


@cache
def outcome(text: str) -> Outcome:
    """Look a text up as if for PostgreSQL."""
    return found(text, _unconnected())


@cache
def _unconnected() -> Pipeline:
    return pipeline(PostgresBackend("postgresql://nobody@localhost/none"))
