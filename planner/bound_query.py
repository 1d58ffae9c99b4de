"""A query whose every name is known: tables of the catalog, columns with types, conditions that cannot fail."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from sqlglot import exp

from planner.plan import KeyCell, ResultType
from planner.ranges import Bounds
from planner.released import ReleasedExpression, SortKey
from planner.schema import Table
from planner.sql_types import SqlType, sql_type
from planner.trees import columns_of, over_leaves, quoted


@dataclass(frozen=True)
class BoundTable:
    """One entry of FROM.

    Attributes:
      alias: the name that the rewritten SQL gives it; the analyst's own aliases do not reach the database.
      name: the name that the analyst's columns may carry.
      table: what it is.
      outer: the conditions of its LEFT JOIN, each total; None when its rows must be there.
      sample: the rate of the analyst's own TABLESAMPLE BERNOULLI, or None.
    """

    alias: str
    name: str
    table: Table
    outer: tuple[exp.Expr, ...] | None = None
    sample: float | None = None


@dataclass(frozen=True)
class BoundKey:
    """One GROUP BY key.

    Attributes:
      written: the expression with its columns bound, as select list and HAVING may repeat it.
      value: SQL of the key that raises for no row.
      type: of `value`.
      position: 1-based offset in the statement, or None.
      values: the domain, where it follows from the expression itself; None for a column.
    """

    written: exp.Expr
    value: exp.Expr
    type: SqlType
    position: int | None
    values: tuple[KeyCell, ...] | None = None

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The (alias, column) pairs that the key is computed from."""
        return list(dict.fromkeys(map(column_ref, columns_of(self.value))))


@dataclass(frozen=True)
class BoundAggregate:
    """One aggregate; a select list, HAVING and ORDER BY share those that they both name.

    Attributes:
      function: AVG is the quotient of two of these.
      argument: for `sum` SQL of a double, never NaN; for `distinct` SQL of the canonical value; None for `count`.
      condition: SQL of a condition: a tuple counts only where it is true; None: everywhere. None for `sum`.
      label: the aggregate as the analyst wrote it.
      bounds: of the argument of `sum`.
    """

    function: Literal["count", "sum", "distinct"]
    argument: exp.Expr | None
    condition: exp.Expr | None
    label: str
    bounds: Bounds | None = None


@dataclass(frozen=True)
class BoundOutput:
    """One column of the select list; its ReleasedValues are indices into BoundQuery.aggregates."""

    name: str
    type: ResultType
    expression: ReleasedExpression


@dataclass(frozen=True)
class BoundQuery:
    """A select-project-join with aggregates, in normal form.

    In every ReleasedExpression here, ReleasedValue(i) stands for aggregates[i].

    Attributes:
      tables: the entries of FROM, every join and derived table flattened into it.
      predicates: the conditions of WHERE, ON and USING; a join tuple passes when all are true. Each is total.
      keys: GROUP BY keys, distinct.
      aggregates: at least one, but where groups are only named.
      outputs: the select list.
      having, order, limit, offset: as in Plan.
    """

    tables: tuple[BoundTable, ...]
    predicates: tuple[exp.Expr, ...]
    keys: tuple[BoundKey, ...]
    aggregates: tuple[BoundAggregate, ...]
    outputs: tuple[BoundOutput, ...]
    having: ReleasedExpression | None = None
    order: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0

    @cached_property
    def _by_alias(self) -> dict[str, BoundTable]:
        return {entry.alias: entry for entry in self.tables}

    def table_of(self, column: exp.Column) -> BoundTable:
        """The entry of FROM that a bound column belongs to."""
        return self._by_alias[column_ref(column)[0]]

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
    return over_leaves(exp.Column, this=quoted(name), table=quoted(alias))


def column_ref(column: exp.Column) -> tuple[str, str]:
    """(alias, name) of a bound column."""
    return column.args["table"].args["this"], column.args["this"].args["this"]


def column_copy(column: exp.Column) -> exp.Column:
    """A copy of a bound column; exp.Expr.copy takes ten times as long."""
    return bound_column(*column_ref(column))
