"""A small clinic whose rows are generated: who owns each, what one person may take away, and a database for it."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
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
FINDING = parse_policy(
    POLICY.replace("epsilon = 1.0\n", "epsilon = 1.0\ndelta = 1e-3\n", 1)
    .replace("[tables.person]", "[tables.person.columns]\nx = { discover = true }")
    .replace("[tables.visit]", "[tables.visit.columns]\nx = { discover = true }")
)
"""The same, with a delta, and `x` of people and of visits open to discovery."""

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
    """The rows without one person and all that the person owns."""
    units = [(name, int(row["id"] or 0)) for name in ("person", "doctor") for row in rows[name]]
    unit = rng.choice(units or [("person", 1)])
    return {
        name: [row for row in held if unit not in owners_of(rows, name, row)] for name, held in rows.items()
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


def plan_of(text: str, sampling_rate: float | None = None) -> Plan | None:
    try:
        return planned(text, SCHEMA, CONTRACT, sampling_rate=sampling_rate)
    except PlannerError:
        return None


def carries(query: BackendQuery, owners: tuple[object, ...], unit: Unit) -> bool:
    """Is the person one of a tuple's owners, whatever its group is?"""
    return unit in list(zip(query.relations, owners, strict=False))


def check_removal(database: Database, text: str, plan: Plan, rng: random.Random) -> int:
    """T = T' + D: whoever leaves takes all tuples that carry the person, no more than the plan says, and no others.

    Returns: how many tuples the person carried.
    """
    query = rewrite(plan, dialect="duckdb", schema=SCHEMA)
    rows = some_rows(rng)
    less, unit = less_of(rows, rng)
    database.fill(rows, query)
    more = database.tuples(query)
    database.fill(less, query)
    fewer = database.tuples(query)
    left = {owners: weight for owners, weight in more.items() if carries(query, owners, unit)}
    owned = len(query.relations)
    assert {owners: weight for owners, weight in more.items() if owners not in left} == fewer, text
    assert not any(carries(query, owners, unit) for owners in fewer), text
    assert sum(left.values()) <= (plan.bounds.tuples or 999) << 30, text
    groups = {owners[owned : owned + len(plan.group_keys)] for owners in left}
    assert len(groups) <= (plan.bounds.groups or 999), text
    for kind in plan.bounds.kinds:
        if kind.relation == unit[0] and len(set(kind.determines)) == 1:
            shared = {tuple(group[place] for place in kind.determines[0]) for group in groups}
            assert len(shared) <= len(kind.determines), text
    return len(left)


def check_random(
    database: Database,
    made: Callable[[], str],
    rng: random.Random,
    *,
    questions: int,
    trials: int,
    least: int,
    plan: Callable[[str], Plan | None] = plan_of,
) -> None:
    """Remove a person from the rows of random questions, until enough of them are answered.

    How many of a few are answered is chance, so more are asked: a twentieth must be answered, or nothing is tested.

    Args:
      made: makes a question.
      questions: how many are asked at least.
      trials: how often a person is removed from an answered one.
      least: how many must be answered, and how many tuples the removed must carry.
    """
    answered = carried = asked = 0
    while asked < questions or min(answered, carried) <= least:
        assert asked < 20 * (questions + least), f"{answered} of {asked} are answered, and {carried} tuples removed"
        asked += 1
        text = made()
        planned = plan(text)
        if planned is not None:
            answered += 1
            carried += sum(check_removal(database, text, planned, rng) for _ in range(trials))


def check_sample(database: Database, text: str, plan: Plan, rng: random.Random) -> None:
    """What a database draws of the tuples is some of them, whatever else the question reads of the sampled table."""
    whole = plan_of(text)
    assert whole is not None and plan.sampling is not None
    query, sampled = (rewrite(one, dialect="duckdb", schema=SCHEMA) for one in (whole, plan))
    database.fill(some_rows(rng), query)
    tuples = database.tuples(query)
    if plan.sampling.alias is not None:
        assert all(weight <= tuples.get(owners, 0) for owners, weight in database.tuples(sampled).items()), text
        return
    if sampled.tree is not None:  # an inner join after all
        return
    assert sampled.join is not None
    read: dict[tuple[object, ...], int] = defaultdict(int)  # the proxy draws: it reads all, and how often each stands
    for *owners, weight, count in database.connection.execute(sampled.join).fetchall():
        read[tuple(owners)] += weight * count
    assert read == tuples, text


def checked(database: Database, text: str, trials: int = 60, plan: Plan | None = None) -> int:
    """How many tuples the people who left had carried, if need be of more trials; raises where another's changed."""
    plan, rng, carried, tried = plan or plan_of(text), random.Random(3), 0, 0
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
