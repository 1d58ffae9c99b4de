"""A graph with orders and items, instances of it, and the promises that an instance keeps."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from planner.plan import Plan
from planner.policy import DeclaredForeignKey, Policy, TablePolicy, parse_policy
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

TABLES = (PERSON, KNOWS, ORDERS, ITEM, TIE)
SCHEMA = Schema({table.name: table for table in TABLES})

POLICY = parse_policy("""
name = "graph"
[database]
url = "env:X"
[ledger]
path = "x"
[privacy]
epsilon = 1.0
[privacy_units]
person = "id"
[tables.person]
[tables.knows]
[tables.orders]
[tables.item]
[tables.tie]
""")


@dataclass(frozen=True)
class Instance:
    rows: Mapping[str, Sequence[Row]]

    def fanout(self, table: str, columns: tuple[str, ...]) -> int:
        """The most rows of the table that share their values in some columns."""
        names = [column.name for column in SCHEMA.tables[table].columns]
        places = [names.index(column) for column in columns]
        keys = [tuple(row[place] for place in places) for row in self.rows.get(table, ())]
        return max(Counter(key for key in keys if None not in key).values(), default=1)


def policy_of(
    instance: Instance, *, items_per_person: int | None = None, ties_per_person: int | None = None
) -> Policy:
    """The tightest promises that the instance keeps; of rows per person, those that are given."""
    declared = [
        DeclaredForeignKey(table.name, key.columns, key.references, key.key, fanout=fanout)
        for table in TABLES
        for key in table.foreign_keys
        for fanout in [instance.fanout(table.name, key.columns)]
    ]
    tables = dict(POLICY.tables)
    for table, most in (("item", items_per_person), ("tie", ties_per_person)):
        if most is not None:
            tables[table] = TablePolicy(rows_per_unit={"person": most})
    return replace(POLICY, foreign_keys=tuple(declared), tables=tables)


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
