"""The records of a bound query: tables of the catalog, typed columns, and conditions that cannot fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from sqlglot import exp

from planner.expressions.intervals import Bounds
from planner.policy.policy import ColumnPolicy, TablePolicy
from planner.released_expression import Display
from planner.schema import Column, ForeignKey, Table
from planner.sql.rank_grid import AskedRank, Grid
from planner.sql.result_types import KeyCell, result_type
from planner.sql.sql_types import ResultType, SqlType, sql_type
from planner.sql.trees import ColumnRef, bound_column, column_ref, columns_of

TAKING = (exp.Min, exp.Max, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)
"""Aggregates and window functions whose value is that of one of the rows, or NULL."""


@dataclass(frozen=True)
class PersonColumn:
    """One column of a per-person subquery.

    Attributes:
      column: its name and type in the table.
      value: SQL of the group key or aggregate, which cannot fail.
      declared: the public knowledge of its values: the range of a sum or an extreme, the domain of a key.
      key: the column that a group key is, if it is one.
      is_key: is it a group key or a row's own column? Other columns change when the person loses rows.
      ties: does the value depend on the order of rows that ORDER BY leaves equal?
      label: the analyst's text, for messages; no database gets it.
    """

    column: Column
    value: exp.Expr
    declared: ColumnPolicy
    key: tuple[str, str] | None = None
    is_key: bool = False
    ties: bool = False
    label: str = field(default="", compare=False)

    @property
    def taken(self) -> tuple[str, str] | None:
        """The column that has every value but NULL: that of a key, or the argument of min, lag and the like."""
        call = self.value.this if isinstance(self.value, exp.Window) else self.value
        argument = call.this if isinstance(call, TAKING) else None
        return column_ref(argument) if isinstance(argument, exp.Column) else self.key


@dataclass(frozen=True)
class PersonTable:
    """The definition of a per-person subquery: the join, its columns, the position of its SELECT.

    Attributes:
      partitions: for window functions over its rows, the columns of each PARTITION BY, and its position; empty for
        plain rows; None for groups.
      others: of UNION ALL, the SELECTs after the first, with columns of the same names and types.
      expands: may a row of the join become several, as the elements of a list?
    """

    query: BoundQuery
    columns: tuple[PersonColumn, ...]
    position: int | None = field(default=None, compare=False)
    partitions: Mapping[tuple[str, ...], int | None] | None = None
    others: tuple[PersonTable, ...] = ()
    expands: bool = False

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """The columns by which its rows are grouped, or parted for each window."""
        if self.partitions is not None:
            return tuple(self.partitions)
        return (tuple(column.column.name for column in self.columns if column.is_key),)

    @property
    def selects(self) -> tuple[PersonTable, ...]:
        """Each SELECT of UNION ALL; itself alone for any other."""
        return (self, *self.others)


@dataclass(frozen=True)
class BoundTable:
    """One entry of FROM.

    Attributes:
      alias: its name in the rewritten SQL. The analyst's aliases do not reach the database.
      name: the analyst's name for it.
      outer: the conditions of its LEFT JOIN, each total; None for an inner join.
      sample: the rate of the analyst's TABLESAMPLE BERNOULLI, or None.
      optional: is it a LEFT JOIN to private rows? `planner.sensitivity.own_rows` finds their owners.
      beside: is it on the right of a public LEFT JOIN private, which is entered as an inner join? Groups do not
        depend on it.
      position, start: 1-based offsets of the LEFT JOIN to private rows, and of the table's name, or None.
      label: the construct that it is optional for, such as EXISTS; None for LEFT JOIN.
      sampled: can the database sample it? Tables and materialized views only.
      person: the definition of a per-person subquery; `table` then holds its columns only.
      rows: the query of a per-person subquery whose owners are proved (`planner.planning.person_tables`), or of rows
        of constants.
      constants: the number of rows of constants, which are public; None for any other entry.
    """

    alias: str
    name: str
    table: Table
    outer: tuple[exp.Expr, ...] | None = None
    sample: float | None = None
    optional: bool = False
    position: int | None = field(default=None, compare=False)
    sampled: bool = True
    start: int | None = field(default=None, compare=False)
    label: str | None = field(default=None, compare=False)
    person: PersonTable | None = None
    rows: exp.Query | None = None
    beside: bool = False
    constants: int | None = None

    @property
    def is_released(self) -> bool:
        """Does it hold released values, which are not known yet?"""
        return self.table.is_released and self.constants is None

    @property
    def row_key(self) -> tuple[str, ...] | None:
        """A key that tells all rows apart, with NULL as a value; None without one.

        Unique keys let several rows have a NULL. The keys of a per-person subquery come from its groups or rows.
        """
        known = {column.name for column in self.table.columns if self.person is not None or not column.nullable}
        return next((key for key in self.table.keys if known.issuperset(key)), None)


@dataclass(frozen=True)
class BoundSemiJoin:
    """One EXISTS, IN, NOT EXISTS or NOT IN of WHERE: a filter that neither multiplies nor widens the tuple.

    `x IN (SELECT k ...)` is EXISTS with the condition x = k. NOT IN is NOT EXISTS of a row in which x = k is true or
    unknown, as SQL defines it, also without rows and with NULL on either side.

    Attributes:
      tables: the inner tables, with aliases of their own.
      predicates: total conditions of the inner rows, which may read the tuple's columns.
      negated: does the tuple pass if no such row exists?
      label: the construct's name in refusals.
    """

    tables: tuple[BoundTable, ...]
    predicates: tuple[exp.Expr, ...]
    negated: bool
    label: str
    position: int | None = field(compare=False)


@dataclass(frozen=True)
class OwnerJoin:
    """A LEFT JOIN along a foreign key to the owner of the rows of a table, which may find none.

    It is entered as an inner join.

    Attributes:
      child: the rows with the key.
      nullable: may the key be NULL?
      enforced: does each key that is not NULL find a row?
    """

    child: BoundTable
    key: ForeignKey
    position: int | None
    nullable: bool
    enforced: bool


@dataclass(frozen=True)
class BoundKey:
    """One GROUP BY key.

    Attributes:
      written: the bound expression, as select list and HAVING may repeat it.
      value: SQL of the key, which cannot fail.
      type: of `value`.
      values: the domain, if it follows from the expression; None for a column.
      shown: the type in an answer, if it differs from `type`: for a bigint, double or moment at UTC that stands for
        another type.
    """

    written: exp.Expr
    value: exp.Expr
    type: SqlType
    position: int | None
    values: tuple[KeyCell, ...] | None = None
    shown: ResultType | None = None

    @property
    def result(self) -> ResultType | None:
        """The type of the key in an answer; None if it cannot be a key."""
        return self.shown or result_type(self.type)

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The (alias, column) pairs that the key is computed from."""
        return list(dict.fromkeys(map(column_ref, columns_of(self.value))))


@dataclass(frozen=True)
class BoundAggregate:
    """One aggregate, shared by the select list, HAVING and ORDER BY.

    Attributes:
      function: count, sum, distinct or rank. AVG is a quotient of two aggregates.
      argument: for `sum` SQL of a double, never NaN; for `distinct` SQL of the canonical value; for `rank` SQL of the
        step on `grid`; None for `count`.
      added: for a sum of distinct values, SQL of the number that each adds: as the argument of `sum`.
      condition: SQL of a condition; only tuples where it is true count. None counts all. Always None for `sum`.
      label: the analyst's text of the aggregate.
      bounds: the range of a sum's argument.
      moment: for parts of an average, variance or correlation: 0 for the count, 1 for a sum, 2 for a sum of squares
        or products. They are measured together, so that truncation takes the same part of each. None: asked for
        itself.
      around: for a sum of products, the indices of S(x), S(y) and the count, around whose quotients it may be
        measured.
      over: for a sum that only serves an average, the index of the count.
      grid, rank: for a quantile or an extreme, the grid of its values and the rank asked for.
      column: for a sum of one column's values, the column as (alias, name).
    """

    function: Literal["count", "sum", "distinct", "rank"]
    argument: exp.Expr | None
    condition: exp.Expr | None
    label: str
    bounds: Bounds | None = None
    moment: int | None = None
    around: tuple[int, int, int] | None = None
    over: int | None = None
    grid: Grid | None = None
    rank: AskedRank | None = None
    column: ColumnRef | None = None
    added: exp.Expr | None = None


@dataclass(frozen=True)
class BoundQuery:
    """A select-project-join with aggregates, in normal form. ReleasedValue(i) in its expressions is aggregates[i].

    Attributes:
      tables: the entries of FROM, with every join and derived table flattened.
      predicates: total conditions of WHERE, ON and USING; a join tuple passes if all are true.
      aggregates: empty only for a list of groups, or where the number of rows is known.
      owner_joins: LEFT JOINs that equal the inner join unless somebody else owns the rows
        (`planner.sensitivity.own_rows`).
      semi_joins: conditions of WHERE on rows of other tables; a tuple passes if all are true.
      again: for a question over per-person subqueries, binds it again with what is proved of their columns.
    """

    tables: tuple[BoundTable, ...]
    predicates: tuple[exp.Expr, ...]
    keys: tuple[BoundKey, ...]
    aggregates: tuple[BoundAggregate, ...]
    display: Display
    owner_joins: tuple[OwnerJoin, ...] = ()
    semi_joins: tuple[BoundSemiJoin, ...] = ()
    again: Callable[[Mapping[str, TablePolicy]], BoundQuery] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Raises: ValueError if two tables share an alias, which would confuse proofs."""
        aliases = [entry.alias for entry in self.all_tables]
        if len(set(aliases)) != len(aliases):
            raise ValueError("tables of a query share an alias")

    @property
    def all_tables(self) -> list[BoundTable]:
        """The entries of FROM, and those of the semi-joins."""
        return [*self.tables, *(entry for one in self.semi_joins for entry in one.tables)]

    @property
    def relations(self) -> set[str]:
        """The names of all tables that it reads, also within per-person subqueries."""
        selects = [one for entry in self.all_tables if entry.person is not None for one in entry.person.selects]
        return {entry.table.name for entry in self.all_tables}.union(*(one.query.relations for one in selects))

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
    kind = sql_type(column.type)
    return replace(kind, enum=column.type_name) if column.type_name else kind


def column_copy(column: exp.Column) -> exp.Column:
    """A copy of a bound column; exp.Expr.copy takes ten times as long."""
    return bound_column(*column_ref(column))
