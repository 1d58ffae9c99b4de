"""Unique keys that no constraint enforces: the policy declares them, the rows of one version of the data are checked.

Provenance stands on keys (privacy.md section 1): a reference to a key that two rows hold would find two parents, and
of a tuple with the one the other's owner would not be known. Where the database enforces a key, no row can do so. A
partitioned table whose primary key must hold the column that it is partitioned by has no such constraint for `id`
alone, and some engines have none at all. There a declared key counts like an enforced one, and no question is
answered before all rows of this version of the data have been counted (`server/policy/verified_keys.py`).

Files have neither keys nor columns without NULL. There a declared key has no NULL either, which is counted with it,
so that it can name a privacy unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from planner.policy.policy import Policy
from planner.schema import Schema, Table


def with_declared_keys(schema: Schema, policy: Policy) -> Schema:
    """The schema as the planner may believe it: with the keys that the policy declares; its fingerprint stays.

    A key that the database enforces is none of them, nor is one with more columns than an enforced key.
    """
    tables = {name: _with_keys(table, policy) for name, table in schema.tables.items()}
    if not any(table.declared_keys for table in tables.values()):
        return schema
    if without_null(schema):
        tables = {name: _not_null(table) for name, table in tables.items()}
    believed = replace(schema, tables=tables)
    believed.__dict__["fingerprint"] = schema.fingerprint
    return believed


def without_null(schema: Schema) -> bool:
    """Does a declared key hold no NULL, either? So where the database is files."""
    return bool(schema.version)


def _not_null(table: Table) -> Table:
    names = {name for key in table.declared_keys for name in key}
    columns = [replace(one, nullable=False, nan=False) if one.name in names else one for one in table.columns]
    return replace(table, columns=tuple(columns))


def _with_keys(table: Table, policy: Policy) -> Table:
    declared = policy.tables.get(table.name)
    keys = () if declared is None else tuple(key for key in declared.keys if not _enforced(table, key))
    return replace(table, declared_keys=keys) if keys else table


def _enforced(table: Table, key: tuple[str, ...]) -> bool:
    return any(set(unique) <= set(key) for unique in table.unique_keys)


def believed_keys(schema: Schema) -> tuple[str, ...]:
    """Each declared key of a schema by its name, `visit (id)`, as checks are recorded by it; in order.

    Args:
      schema: from `with_declared_keys`.
    """
    return tuple(sorted(key_name(table.name, key) for table, key in declared_keys(schema)))


def declared_keys(schema: Schema) -> Iterator[tuple[Table, tuple[str, ...]]]:
    """Each declared key with its table."""
    for table in schema.tables.values():
        for key in table.declared_keys:
            yield table, key


def key_name(table: str, key: tuple[str, ...]) -> str:
    """What a check of the key is recorded by."""
    return f"{table} ({', '.join(key)})"
