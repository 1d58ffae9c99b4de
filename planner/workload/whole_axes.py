"""Group keys whose declared values leave rows out, made whole: a group more, for all the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlglot import exp

from planner.binding.bound_query import BoundKey, BoundQuery
from planner.policy.declared import declared_domain
from planner.policy.policy import ColumnPolicy, Policy
from planner.policy.toml_section import DomainValue
from planner.sql.sql_types import Family
from planner.sql.trees import column_ref

_TEXTS = (Family.TEXT, Family.CHAR, Family.ENUM)
_OTHER = "(other)"

ColumnOfTable = tuple[str, str]
"""A table's name in the catalog, and a column of it."""


def made_whole(key: BoundKey, query: BoundQuery, policy: Policy) -> ColumnOfTable | None:
    """The column whose other values could have a group of their own, so that the key leaves no row out.

    Args:
      key: whose domain leaves rows out.
      query: its question.
      policy: declares its values.
    Returns: None where that cannot be: of an expression, of NULLs that have a group already, of dates.
    """
    if not isinstance(key.value, exp.Column):
        return None
    alias, name = column_ref(key.value)
    table = query.table_of(key.value).table.name
    assert alias, "bound columns have an alias"
    declared = policy.column(table, name)
    if declared.other is not None or declared.null_group or key.type.family not in (*_TEXTS, Family.INTEGER):
        return None
    values = declared_domain(declared, key.type)
    return (table, name) if values and table in policy.tables else None


def with_others(
    policy: Policy, columns: Collection[ColumnOfTable], keys: Sequence[tuple[BoundQuery, BoundKey]]
) -> Policy:
    """The policy, of the same hash, in which some columns have a group for NULL and all values that none has.

    A question that is planned with it counts the same rows and says more of them; it protects as much: of the
    group's rows each is still in one group, and what they are, beside that they are not declared, stays unknown. The
    custodian might have declared it (`other`).

    Args:
      policy: the one in force.
      columns: from `made_whole`.
      keys: in which these columns stand, for their types.
    """
    tables = dict(policy.tables)
    for query, key in keys:
        column = made_whole(key, query, policy)
        if column is None or column not in columns:
            continue
        table, name = column
        known = tables[table].columns.get(name, ColumnPolicy())
        values = declared_domain(known, key.type)
        assert values is not None, "its values are declared"
        own = {**tables[table].columns, name: replace(known, other=_beyond(values, key))}
        tables[table] = replace(tables[table], columns=own)
    return policy.beside(tables)


def _beyond(values: Sequence[DomainValue], key: BoundKey) -> DomainValue:
    """A value that is none of them."""
    if key.type.family in _TEXTS:
        other = _OTHER
        while other in values:
            other += "'"
        return other
    return max(int(value) for value in values) + 1
