"""Two more worlds of collected statements: of courses and exercises, and of products and their dashboards.

A folder each: the tables and their rows, the policy, the statements with their sources, and for each whether a
private answer exists. All of that was written before any statement was asked. Half of the statements were set aside
until the code was done.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from planner.policy.policy import Policy, parse_policy
from planner.schema import Schema
from server.backends.backend import NUMBERS, with_nan
from server.backends.duckdb import DuckdbBackend
from server.backends.postgres import PostgresBackend
from server.pipeline import Pipeline
from server.policy.public_ranges import with_public_ranges
from tests.golden.collected.outcomes import NAMESPACE, Outcome, found
from tests.golden.databases import in_file
from tests.support.memory_ledger import MemoryLedger

WORLDS = ("courses", "products")

_FOLDER = Path(__file__).parent
_HEAD = re.compile(r"^-- \[(\w+)\] (.*)\n", re.MULTILINE)


@dataclass(frozen=True)
class Collected:
    """One statement.

    Attributes:
      asked: what it asks, and where it is from.
      answerable: does a private answer exist? `reason` says why, or why not.
      set_aside: was it seen by nobody who wrote the code?
    """

    name: str
    asked: str
    sql: str
    answerable: bool
    set_aside: bool
    reason: str


def _parts(world: str, file: str) -> list[str]:
    text = (_FOLDER / world / file).read_text()
    return [part for part in re.split(r";\s*\n", text) if re.sub(r"--.*", "", part).strip()]


def tables(world: str) -> list[str]:
    """The statements that make its tables."""
    return _parts(world, "tables.sql")


def rows(world: str) -> list[str]:
    """The statements that fill them, in words that PostgreSQL and DuckDB both read."""
    return _parts(world, "rows.sql")


@cache
def statements(world: str) -> dict[str, Collected]:
    """The statements by name."""
    listed = (_FOLDER / world / "verdicts.tsv").read_text().splitlines()[1:]
    known = {name: more for name, *more in (line.split("\t") for line in listed)}
    _, *parts = _HEAD.split((_FOLDER / world / "statements.sql").read_text())
    texts = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return {
        name: Collected(
            name,
            asked,
            sql.strip().removesuffix(";"),
            known[name][0] == "yes",
            known[name][1] == "yes",
            known[name][2],
        )
        for name, asked, sql in texts
    }


@cache
def known(world: str) -> tuple[Policy, Schema]:
    """The policy with the ranges of public columns, and the catalog of PostgreSQL: there a numeric may be NaN."""
    policy = parse_policy((_FOLDER / world / "policy.toml").read_text())
    with tempfile.TemporaryDirectory(prefix="noisegate-") as folder:
        in_rows = in_file(Path(folder) / "tables.duckdb", [*tables(world), *rows(world)])
        file = DuckdbBackend(in_rows, NAMESPACE)
        schema = file.schema()
        policy = with_public_ranges(policy, schema, file)
    return policy, replace(schema, tables={name: with_nan(table, NUMBERS) for name, table in schema.tables.items()})


@cache
def outcomes(world: str) -> dict[str, Outcome]:
    """What becomes of each statement, looked up as if for PostgreSQL. Cost: some 30 ms each."""
    backend = PostgresBackend("postgresql://nobody@localhost/none")
    pipeline = Pipeline(*known(world), backend, MemoryLedger({"ada": 1e6}), None)  # type: ignore[arg-type]
    return {name: found(one.sql, pipeline) for name, one in statements(world).items()}
