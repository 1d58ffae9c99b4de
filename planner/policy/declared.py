"""What a policy declares of columns beyond the catalog: the values of group keys, and unique keys.

Provenance rests on keys (docs/mathematics.md, section 1.4). If two rows held one key, a reference to it would find
two parents, and one of the owners would be unknown. A constraint of the database rules that out. A partitioned table
whose primary key includes the partition column has no such constraint for `id` alone, and some engines have none at
all. A declared key then counts like an enforced one. No question is answered before all rows of this version of the
data have been counted (`server/policy/verified_keys.py`).

Files have neither keys nor NOT NULL. There the count also checks that a declared key has no NULL, so that it can name
a privacy unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from sqlglot import exp

from planner.limits import MAX_GROUPS
from planner.policy.policy import ColumnPolicy, Policy
from planner.policy.toml_section import DomainValue
from planner.schema import Schema, Table
from planner.sql.datetimes import steps
from planner.sql.literals import value_sql
from planner.sql.result_types import day_key
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import copied


def declared_domain(declared: ColumnPolicy, kind: SqlType) -> tuple[DomainValue, ...] | None:
    """The values in order; None if nothing is declared, or more than MAX_GROUPS values follow.

    Booleans and enums need no declaration. Whole numbers step from the low end of the range, by 1 unless declared.
    Dates need a step, since a range of dates only gives their limits.
    """
    if declared.domain is not None:
        return declared.domain
    if kind.family is Family.BOOL:
        return (False, True)
    if kind.family is Family.ENUM:
        return kind.labels
    if kind.family is Family.INTEGER and declared.range is not None and not isinstance(declared.step, str):
        low, high = declared.range
        first, count = whole_steps(low, low, high, declared.step or 1)
        return whole_numbers(first, count, declared.step or 1) if count <= MAX_GROUPS else None
    if (
        kind.family in (Family.DATE, Family.TIMESTAMP)
        and declared.dates is not None
        and isinstance(declared.step, str)
    ):
        days = list(islice(steps(*declared.dates, declared.step), MAX_GROUPS + 1))
        return tuple(day_key(day, kind.family) for day in days) if len(days) <= MAX_GROUPS else None
    return None


def whole_steps(origin: float, low: float, high: float, step: int) -> tuple[int, int]:
    """The first whole number from low to high on a grid from `origin` (at most low), and their number.

    >>> whole_steps(0, 3, 20, 5)
    (5, 4)
    """
    first = int(origin) + math.ceil((low - origin) / step) * step
    return first, max(0, math.floor((high - first) / step) + 1)


def whole_numbers(first: int, count: int, step: int) -> tuple[int, ...]:
    """`count` whole numbers in steps from the first."""
    return tuple(range(first, first + count * step, step))


def listed(values: tuple[DomainValue, ...], other: DomainValue | None) -> tuple[DomainValue, ...]:
    """The domain with its group for all other values, last unless it is in the domain."""
    return values if other is None or other in values else (*values, other)


def with_other(key: exp.Expr, values: tuple[DomainValue, ...], other: DomainValue | None) -> exp.Expr:
    """SQL of the key, in which NULL and values outside the domain become the other group.

    >>> with_other(exp.column("x"), ("a", "b"), "rest").sql("postgres")
    "CASE WHEN x IN ('a', 'b') THEN x ELSE 'rest' END"
    """
    if other is None:
        return key
    known = exp.In(this=copied(key), expressions=[value_sql(value) for value in values])
    return exp.Case().when(known, copied(key), copy=False).else_(value_sql(other), copy=False)


def with_declared_keys(schema: Schema, policy: Policy) -> Schema:
    """The schema with the keys that the policy declares; its fingerprint stays.

    A declared key that contains an enforced key is left out.
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
    """Does a declared key promise NOT NULL, too? So if the database is files."""
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
    """Each declared key of a schema (`with_declared_keys`), as `visit (id)`, in order."""
    return tuple(sorted(key_name(table.name, key) for table, key in declared_keys(schema)))


def declared_keys(schema: Schema) -> Iterator[tuple[Table, tuple[str, ...]]]:
    """Each declared key with its table."""
    for table in schema.tables.values():
        for key in table.declared_keys:
            yield table, key


def key_name(table: str, key: tuple[str, ...]) -> str:
    """The name under which a check of the key is recorded."""
    return f"{table} ({', '.join(key)})"
