"""The public domain of a group key: which groups the answer has, whatever the private rows hold."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sqlglot import exp

from planner.bound_query import BoundKey, BoundQuery, column_type
from planner.declared_domain import declared_domain, listed, with_other
from planner.equalities import ColumnRef, Equalities
from planner.errors import SensitivityUnbounded, StatementTooComplex, UnsupportedSQL
from planner.limits import MAX_GROUPS
from planner.ownership import ownership
from planner.plan import GroupKey
from planner.policy import Policy
from planner.rules.enumerate_domain import canonical_value, enumerate_domain
from planner.schema import Schema
from planner.sql_types import result_type


def group_keys(query: BoundQuery, schema: Schema, policy: Policy, equalities: Equalities) -> tuple[GroupKey, ...]:
    """The keys of a query with their domains.

    Raises: SensitivityUnbounded naming what to declare; UnsupportedSQL for a type that cannot be a key;
      StatementTooComplex for more groups than MAX_GROUPS.
    """
    keys = tuple(_group_key(key, query, schema, policy, equalities) for key in query.keys)
    groups = math.prod(len(key.values) for key in keys if key.values is not None)
    if groups > MAX_GROUPS:
        raise StatementTooComplex(f"more than {MAX_GROUPS} groups", hint="group by fewer or coarser keys")
    return keys


def _group_key(key: BoundKey, query: BoundQuery, schema: Schema, policy: Policy, equalities: Equalities) -> GroupKey:
    """What the expression itself can be; declared values; or a public table's column.

    The table is reached by equality or foreign key.
    """
    shown = result_type(key.type)
    if shown is None:
        hint = "group by a whole number, text, a date or a boolean"
        raise UnsupportedSQL(f"GROUP BY a key of type {key.type.family.value}", hint=hint, position=key.position)
    sql = canonical_value(key.value, key.type)
    if key.values is not None:
        return GroupKey(sql, shown, key.values, None)
    if not isinstance(key.value, exp.Column):
        raise _no_domain(key, query)
    column = (key.value.table, key.value.name)
    declared = policy.column(query.table_of(key.value).table.name, key.value.name)
    values = declared_domain(declared, key.type)
    if values is not None:
        return GroupKey(with_other(sql, values, declared.other), shown, listed(values, declared.other), None)
    for name, public in _public_columns(column, equalities, schema, policy):
        source = schema.tables[name]
        if column_type(source, public).family is key.type.family:
            return GroupKey(sql, shown, None, enumerate_domain(source, public, key.type))
    raise _no_domain(key, query)


def _no_domain(key: BoundKey, query: BoundQuery) -> SensitivityUnbounded:
    columns = [(query.table_of(column).table.name, column.name) for column in key.value.find_all(exp.Column)]
    names = " and ".join(dict.fromkeys(f"{table}.{name}" for table, name in columns)) or "this expression"
    if isinstance(key.value, exp.Column):
        message = f"no public domain is known for the group key {names}"
        hint = f"ask the custodian to declare `domain = [...]`, or a range with a step, for {names}; "
        hint += "or join a public table"
    else:
        message = f"no public domain is known for a group key computed from {names}"
        hint = (
            f"ask the custodian to declare a narrow `range` for {names}, or group by CASE WHEN ... THEN 'label' END"
        )
    return SensitivityUnbounded(message, hint=hint, position=key.position)


def _public_columns(
    column: ColumnRef, equalities: Equalities, schema: Schema, policy: Policy
) -> Iterable[tuple[str, str]]:
    """Columns of public tables that hold the key's values: an equal one, or one that a foreign key names."""
    tables = equalities.tables
    members = [(tables[alias], name) for alias, name in (column, *equalities.members(column))]
    for table, name in members:
        if policy.is_public(table.name):
            yield table.name, name
    graph = ownership(schema, policy)
    for table, name in members:
        for key in graph.foreign_keys(table.name):
            if key.columns == (name,) and policy.is_public(key.references):
                yield key.references, key.key[0]
