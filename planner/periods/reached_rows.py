"""The rows that a row of an append-only table leads to: one for each way along its foreign keys.

A reference to a unique key finds one row at most, so what a join shows of it is a function of the referencing row and
of the row that it finds. Where neither has changed, nor has what a tuple shows of them (`period_scope.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.policy.ownership import ownership
from planner.policy.policy import Policy
from planner.schema import ForeignKey, Schema, Table

_MOST_STEPS = 6
_MOST_WAYS = 24
"""What a check of every row can be asked to follow."""

OWN = ""
"""The name of the way that leads nowhere: the row itself."""


@dataclass(frozen=True)
class Way:
    """A chain of references from a row to another.

    Attributes:
      name: as fingerprints are recorded by it: the steps, each with its columns.
      before: the way without its last step.
      key: the last step's foreign key.
      table: what it leads to.
    """

    name: str
    before: str
    key: ForeignKey
    table: Table


def ways(table: Table, schema: Schema, policy: Policy) -> tuple[Way, ...]:
    """The ways from a table's rows, those with fewer steps first; no way enters a table twice.

    Only references to a key of the whole parent are followed, of which every column can be read: others may find
    several rows, or rows that cannot be compared. A table that no way leads to is not vouched for by them.
    Args:
      table: that only grows.
      schema: with the keys that the policy declares.
      policy: whose foreign keys count as the catalog's.
    """
    graph = ownership(schema, policy)
    found: list[Way] = []
    waiting: list[tuple[str, Table, tuple[str, ...]]] = [(OWN, table, (table.name,))]
    while waiting:
        before, child, passed = waiting.pop(0)
        if len(passed) > _MOST_STEPS:
            continue
        for key in graph.foreign_keys(child.name):
            parent = schema.tables.get(key.references)
            if parent is None or parent.name in passed or not _finds_one(child, key, parent):
                continue
            if len(found) == _MOST_WAYS:
                return tuple(found)
            name = f"{before}/{parent.name} ({', '.join(key.columns)})"
            found.append(Way(name, before, key, parent))
            waiting.append((name, parent, (*passed, parent.name)))
    return tuple(found)


def prefixes(name: str, known: tuple[Way, ...]) -> Iterator[str]:
    """A way by its name, and every way that it goes on from: the rows between must be the same, too."""
    by_name = {way.name: way for way in known}
    while name != OWN:
        yield name
        name = by_name[name].before
    yield OWN


def _finds_one(child: Table, key: ForeignKey, parent: Table) -> bool:
    readable = all(map(child.column, key.columns)) and all(map(parent.column, key.key))
    return readable and any(set(unique) <= set(key.key) for unique in parent.keys)
