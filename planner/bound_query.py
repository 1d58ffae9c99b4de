"""A query whose every name is known: tables of the catalog, columns with types, conditions that cannot fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from planner.schema import Table
from planner.sql_types import SqlType, sql_type


@dataclass(frozen=True)
class BoundTable:
    """One entry of FROM.

    Attributes:
      alias: the name that the rewritten SQL gives it; the analyst's own aliases do not reach the database.
      name: the name that the analyst's columns may carry.
      table: what it is.
    """

    alias: str
    name: str
    table: Table


@dataclass(frozen=True)
class BoundOutput:
    """One column of the select list.

    Attributes:
      name: its name in the answer.
      aggregate: `count` or `sum`, or None for a group key.
      argument: what is counted (None: rows) or summed; its columns bound, its types not yet checked.
      key: index into BoundQuery.keys, None for an aggregate.
      label: the aggregate as the analyst wrote it.
      position: 1-based offset in the statement, or None.
    """

    name: str
    aggregate: Literal["count", "sum"] | None
    argument: exp.Expr | None
    key: int | None
    label: str
    position: int | None


@dataclass(frozen=True)
class BoundQuery:
    """A select-project-join with aggregates, in normal form.

    Attributes:
      tables: the entries of FROM, every join flattened into it.
      predicates: the conditions of WHERE, ON and USING; a join tuple passes when all are true. Each is total.
      keys: GROUP BY columns, distinct.
      outputs: the select list, with at least one aggregate.
    """

    tables: tuple[BoundTable, ...]
    predicates: tuple[exp.Expr, ...]
    keys: tuple[exp.Column, ...]
    outputs: tuple[BoundOutput, ...]

    def table_of(self, column: exp.Column) -> BoundTable:
        """The entry of FROM that a bound column belongs to."""
        return next(entry for entry in self.tables if entry.alias == column.table)

    def type_of(self, column: exp.Column) -> SqlType:
        """The type of a bound column."""
        return column_type(self.table_of(column).table, column.name)


def column_type(table: Table, name: str) -> SqlType:
    """The type of a column that the table has."""
    column = table.column(name)
    assert column is not None, "bound columns exist"
    return sql_type(column.type)


def bound_column(alias: str, name: str) -> exp.Column:
    """`"alias"."name"`."""
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(alias, quoted=True))
