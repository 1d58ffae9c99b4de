"""A small clinic whose rows are generated: who owns each, what one person may take away, and a database for it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from planner.errors import PlannerError
from planner.plan import BackendQuery, Plan
from planner.policy.policy import parse_policy
from planner.rewriting.rewrite import rewrite
from planner.schema import Column, ForeignKey, Schema, Table
from tests.support.planning import planned

POLICY = """
name = "clinic"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 1.0
unbounded_joins = true
[privacy_units]
person = "id"
doctor = "id"
[[foreign_keys]]
table = "note"
columns = ["author"]
references = "doctor"
key = ["id"]
owning = false
[[foreign_keys]]
table = "branch"
columns = ["above"]
references = "branch"
key = ["id"]
depth = 1
[tables.person]
[tables.doctor]
[tables.visit]
[tables.line]
[tables.shared]
[tables.note]
[tables.branch]
[tables.ward]
public = true
"""

KEYS = {
    "person": (),
    "doctor": (),
    "ward": (),
    "visit": (("person", "person"),),
    "line": (("visit", "visit"),),
    "shared": (("person", "person"), ("doctor", "doctor")),
    "note": (("person", "person"), ("author", "doctor")),
    "branch": (("person", "person"), ("above", "branch")),
}
"""Tables with their foreign keys, as (column, parent); every table has `id`, and `x`, which may be NULL."""

_REQUIRED = {("visit", "person")}
"""Columns that are never NULL."""


def _table(name: str) -> Table:
    columns = [Column("id", "bigint", nullable=False), Column("x", "bigint", nullable=True)]
    columns += [Column(column, "bigint", nullable=(name, column) not in _REQUIRED) for column, _ in KEYS[name]]
    keys = tuple(ForeignKey((column,), parent, ("id",)) for column, parent in KEYS[name])
    return Table(name, "main", tuple(columns), (("id",),), keys)


SCHEMA = Schema({name: _table(name) for name in KEYS})
CONTRACT = parse_policy(POLICY)

Row = dict[str, int | None]
Rows = dict[str, list[Row]]
Unit = tuple[str, int]


def some_rows(rng: random.Random) -> Rows:
    """A few rows of each table; keys lead somewhere, or are NULL where they may be."""
    rows: Rows = {}
    for name, keys in KEYS.items():
        rows[name] = []
        for number in range(1, rng.randint(2, 7)):
            row: Row = {"id": number, "x": rng.choice([1, 1, 2, 2, None])}
            for column, parent in keys:
                known = [other["id"] for other in rows[parent]]
                empty = [] if (name, column) in _REQUIRED else [None]
                row[column] = rng.choice([*known, *known, *empty]) if known or empty else None
            if all(row[column] is not None for table, column in _REQUIRED if table == name):
                rows[name].append(row)
    return rows


def owners_of(rows: Rows, name: str, row: Row) -> set[Unit]:
    """Everybody who owns a row, however far above it."""
    found = {(name, int(row["id"] or 0))} if name in ("person", "doctor") else set()
    for column, parent in KEYS[name]:
        if (name, column) == ("note", "author") or row[column] is None:
            continue
        for above in rows[parent]:
            if above["id"] == row[column] and above is not row:
                found |= owners_of(rows, parent, above)
    return found


def less_of(rows: Rows, rng: random.Random) -> tuple[Rows, Unit]:
    """The rows less some or all of those that one person owns."""
    units = [(name, int(row["id"] or 0)) for name in ("person", "doctor") for row in rows[name]]
    unit = rng.choice(units or [("person", 1)])
    share = rng.choice([0.3, 0.6, 1.0])
    return {
        name: [row for row in held if unit not in owners_of(rows, name, row) or rng.random() > share]
        for name, held in rows.items()
    }, unit


@dataclass(frozen=True)
class Database:
    """DuckDB, filled anew for each instance."""

    connection: duckdb.DuckDBPyConnection

    def fill(self, rows: Rows, query: BackendQuery) -> None:
        """The tables that a query reads."""
        assert query.join is not None
        script = []
        for name, held in rows.items():
            if f'"main"."{name}"' not in query.join:
                continue
            script.append(f"DELETE FROM {name}")
            if held:
                values = [
                    ", ".join("NULL" if value is None else str(value) for value in row.values()) for row in held
                ]
                script.append(f"INSERT INTO {name} ({', '.join(held[0])}) VALUES ({'), ('.join(values)})")
        self.connection.execute("; ".join(script))

    def tuples(self, query: BackendQuery) -> dict[tuple[object, ...], int]:
        """Weight by owners."""
        assert query.join is not None
        return {tuple(row[:-1]): row[-1] for row in self.connection.execute(query.join).fetchall()}


@contextmanager
def opened() -> Iterator[Database]:
    """A database with the empty tables."""
    with duckdb.connect(config={"threads": 1}) as connection:
        for name in KEYS:
            columns = ", ".join(f"{column.name} bigint" for column in SCHEMA.tables[name].columns)
            connection.execute(f"CREATE TABLE {name} ({columns})")
        yield Database(connection)


def plan_of(text: str) -> Plan | None:
    try:
        return planned(text, SCHEMA, CONTRACT)
    except PlannerError:
        return None


def _carries(query: BackendQuery, owners: tuple[object, ...], unit: Unit) -> bool:
    return unit in list(zip(query.relations, owners, strict=True))


def check_removal(database: Database, text: str, plan: Plan, rng: random.Random) -> int:
    """Tuples that do not carry the person weigh the same with and without; theirs only vanish, or are exchanged.

    Returns: how many tuples the person carried.
    """
    query = rewrite(plan, dialect="duckdb", schema=SCHEMA)
    rows = some_rows(rng)
    less, unit = less_of(rows, rng)
    database.fill(rows, query)
    more = database.tuples(query)
    database.fill(less, query)
    fewer = database.tuples(query)
    carried = 0
    for owners in more.keys() | fewer.keys():
        before, after = fewer.get(owners, 0), more.get(owners, 0)
        if _carries(query, owners, unit):
            carried += after > 0
            assert plan.exchanges or before <= after, text
        elif any(owner is not None for owner in owners):
            assert before == after, text
    return carried


def checked(database: Database, text: str, trials: int = 60) -> int:
    """How many tuples the people who left had carried, if need be of more trials; raises where another's changed."""
    plan, rng, carried, tried = plan_of(text), random.Random(3), 0, 0
    assert plan is not None, "it must be answered"
    while tried < trials or (not carried and tried < 200):
        carried, tried = carried + check_removal(database, text, plan, rng), tried + 1
    return carried


def stands(rows: Rows, name: str, row: Row) -> bool:
    """Is somebody its owner, and the chain of references no longer than the policy's depth?"""
    if name != "ward" and not owners_of(rows, name, row):
        return False
    above = [other for other in rows[name] if other["id"] == row.get("above")]
    return not above or (above[0]["above"] is None and stands(rows, name, above[0]))
