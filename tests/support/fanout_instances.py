"""A graph with orders, items and chains of posts, instances of it, and the promises that an instance keeps."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from planner.plan import Plan
from planner.policy.policy import DeclaredForeignKey, Policy, TablePolicy, parse_policy
from planner.schema import Column, ForeignKey, Schema, Table

Row = Sequence[int | None]

PERSON = Table("person", "public", (Column("id", "bigint", False), Column("town", "bigint", True)), (("id",),), ())
KNOWS = Table(
    "knows",
    "public",
    (Column("src", "bigint", False), Column("dst", "bigint", True)),
    (),
    (ForeignKey(("src",), "person", ("id",)), ForeignKey(("dst",), "person", ("id",))),
)
ORDERS = Table(
    "orders",
    "public",
    (Column("num", "bigint", False), Column("buyer", "bigint", True)),
    (("num",),),
    (ForeignKey(("buyer",), "person", ("id",)),),
)
ITEM = Table(
    "item",
    "public",
    (Column("o", "bigint", True), Column("kind", "bigint", True)),
    (),
    (ForeignKey(("o",), "orders", ("num",)),),
)
TIE = Table(
    "tie",
    "public",
    (Column("a", "bigint", False), Column("b", "bigint", False)),
    (("a", "b"),),
    (ForeignKey(("a",), "person", ("id",)), ForeignKey(("b",), "person", ("id",))),
)
"""Like knows, but each pair once: a key of two columns, which two rows can hold in either order."""

POST = Table(
    "post",
    "public",
    (Column("id", "bigint", False), Column("parent", "bigint", True), Column("author", "bigint", True)),
    (("id",),),
    (ForeignKey(("parent",), "post", ("id",)), ForeignKey(("author",), "person", ("id",))),
)
"""Posts answer posts: a chain of references, followed as often as the policy says."""
NOTE = Table(
    "note",
    "public",
    (Column("note_on", "bigint", True), Column("by", "bigint", True)),
    (),
    (ForeignKey(("note_on",), "post", ("id",)), ForeignKey(("by",), "person", ("id",))),
)
"""Owned through a chain that it is no part of."""

TABLES = (PERSON, KNOWS, ORDERS, ITEM, TIE, POST, NOTE)
SCHEMA = Schema({table.name: table for table in TABLES})

POLICY = parse_policy("""
name = "graph"
[database]
url = "env:X"
[ledger]
path = "x"
[privacy]
epsilon = 1.0
unbounded_joins = true
[privacy_units]
person = "id"
[[foreign_keys]]
table = "post"
columns = ["parent"]
references = "post"
key = ["id"]
depth = 1
[tables.person]
[tables.knows]
[tables.orders]
[tables.item]
[tables.tie]
[tables.post]
[tables.note]
""")


@dataclass(frozen=True)
class Instance:
    """Rows by table.

    Attributes:
      depth: how often ownership follows a post's parent.
    """

    rows: Mapping[str, Sequence[Row]]
    depth: int = 1

    def fanout(self, table: str, columns: tuple[str, ...]) -> int:
        """The most rows of the table that share their values in some columns."""
        places = [_place(table, column) for column in columns]
        keys = [tuple(row[place] for place in places) for row in self.rows.get(table, ())]
        return max(Counter(key for key in keys if None not in key).values(), default=1)

    def rows_per_person(self, table: str) -> int:
        """The most rows of the table that one person owns, of those that answers are documented to count."""
        owners = (self._owners(table, row, 0) or () for row in self.rows.get(table, ()))
        return max(Counter(person for people in owners for person in people).values(), default=1)

    def _owners(self, table: str, row: Row, above: int) -> set[int] | None:
        """Of a row `above` parents up from another; None: it is too deep, or a row above it is missing."""
        owners: set[int] = set()
        for key in SCHEMA.tables[table].foreign_keys:
            value = row[_place(table, *key.columns)]
            if value is None:
                continue
            if key.references == "person":
                owners.add(value)
                continue
            steps = above + (table == key.references)
            place = _place(key.references, *key.key)
            parent = next((other for other in self.rows[key.references] if other[place] == value), None)
            more = None if parent is None or steps > self.depth else self._owners(key.references, parent, steps)
            if more is None:
                return None
            owners |= more
        return owners


def _place(table: str, column: str) -> int:
    return [declared.name for declared in SCHEMA.tables[table].columns].index(column)


def policy_of(instance: Instance, *, without: Collection[ForeignKey] = (), **rows_per_person: int) -> Policy:
    """The tightest promises that the instance keeps, but for the fan-outs of some foreign keys.

    Args:
      rows_per_person: by table.
    """
    declared = tuple(
        DeclaredForeignKey(
            table.name,
            key.columns,
            key.references,
            key.key,
            fanout=None if key in without else instance.fanout(table.name, key.columns),
            depth=instance.depth if table.name == key.references else None,
        )
        for table in TABLES
        for key in table.foreign_keys
    )
    promised = {name: TablePolicy(rows_per_unit={"person": most}) for name, most in rows_per_person.items()}
    return replace(POLICY, foreign_keys=declared, tables={**POLICY.tables, **promised})


def tuples_per_unit(plan: Plan, instance: Instance) -> dict[object, int]:
    """How many join tuples each unit owns."""
    with sqlite3.connect(":memory:") as connection:
        connection.execute("ATTACH ':memory:' AS public")
        for table in TABLES:
            columns = ", ".join(f"{column.name} INTEGER" for column in table.columns)
            connection.execute(f"CREATE TABLE public.{table.name} ({columns})")
            marks = ", ".join("?" for _ in table.columns)
            connection.executemany(
                f"INSERT INTO public.{table.name} VALUES ({marks})", instance.rows.get(table.name, ())
            )
        select = plan.source.select(*(owner.key for owner in plan.owners), append=False)
        owners = connection.execute(select.sql("sqlite")).fetchall()
    connection.close()
    return Counter(unit for row in owners for unit in set(row) - {None})
