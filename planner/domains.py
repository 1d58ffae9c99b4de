"""The public domain of a group key: which groups the answer has, whatever the private rows hold."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from planner.bound_query import BoundQuery, column_type
from planner.equalities import ColumnRef, Equalities
from planner.errors import SensitivityUnbounded, UnsupportedSQL
from planner.ownership import Ownership
from planner.plan import GroupKey
from planner.policy import Policy
from planner.rules.enumerate_domain import enumerate_domain, group_key_sql
from planner.schema import Schema
from planner.sql_types import Family, result_type


def group_key(
    column: exp.Column, query: BoundQuery, schema: Schema, policy: Policy, equalities: Equalities
) -> GroupKey:
    """Find the domain: declared values; a public table's column, reached by equality or foreign key; a boolean's.

    Raises: SensitivityUnbounded naming what to declare; UnsupportedSQL for a type that cannot be a key.
    """
    table = query.table_of(column).table
    kind = query.type_of(column)
    shown = result_type(kind)
    if shown is None:
        hint = "group by a whole number, text, a date or a boolean"
        raise UnsupportedSQL(f"GROUP BY {column.name!r}, of type {kind.family.value}", hint=hint)
    key = group_key_sql(column, kind)
    values = policy.column(table.name, column.name).domain
    if values is None and kind.family is Family.BOOL:
        values = (False, True)
    if values is not None:
        return GroupKey(key, shown, values, None)
    for name, public in _public_columns((column.table, column.name), equalities, schema, policy):
        source = schema.tables[name]
        if column_type(source, public).family is kind.family:
            return GroupKey(key, shown, None, enumerate_domain(source, public, kind))
    hint = f"ask the custodian to declare `domain = [...]` for {table.name}.{column.name}, or join a public table"
    message = f"no public domain is known for the group key {table.name}.{column.name}"
    raise SensitivityUnbounded(message, hint=hint)


def _public_columns(
    column: ColumnRef, equalities: Equalities, schema: Schema, policy: Policy
) -> Iterable[tuple[str, str]]:
    """Columns of public tables that hold the key's values: an equal one, or one that a foreign key names."""
    tables = equalities.tables
    members = [(tables[alias], name) for alias, name in (column, *equalities.members(column))]
    for table, name in members:
        if policy.is_public(table.name):
            yield table.name, name
    ownership = Ownership(schema, policy)
    for table, name in members:
        for key in ownership.foreign_keys(table.name):
            if key.columns == (name,) and policy.is_public(key.references):
                yield key.references, key.key[0]
