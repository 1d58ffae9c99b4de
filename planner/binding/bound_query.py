"""A query whose every name is known: tables of the catalog, columns with types, conditions that cannot fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from sqlglot import exp

from planner.expressions.intervals import Bounds
from planner.policy.policy import ColumnPolicy, TablePolicy
from planner.released_expression import Display
from planner.schema import Column, Table
from planner.sql.rank_grid import AskedRank, Grid
from planner.sql.result_types import KeyCell, result_type
from planner.sql.sql_types import ResultType, SqlType, sql_type
from planner.sql.trees import ColumnRef, bound_column, column_ref, columns_of


@dataclass(frozen=True)
class PersonColumn:
    """One column of a per-person table.

    Attributes:
      column: its name in the table, and its type.
      value: SQL of the group key, or of the aggregate, which raises for no group.
      declared: what is public of its values: the range of a sum or an extreme, the domain of a key.
      key: of a key that is a column, that column.
      is_key: is it one of the group keys? Other columns change where the person loses rows.
      label: what the analyst wrote, for messages; a database gets none of it.
    """

    column: Column
    value: exp.Expr
    declared: ColumnPolicy
    key: tuple[str, str] | None = None
    is_key: bool = False
    label: str = field(default="", compare=False)


@dataclass(frozen=True)
class PersonTable:
    """What a per-person table is made from: the join that is grouped, its columns, the place of its SELECT."""

    query: BoundQuery
    columns: tuple[PersonColumn, ...]
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class BoundTable:
    """One entry of FROM.

    Attributes:
      alias: the name that the rewritten SQL gives it; the analyst's own aliases do not reach the database.
      name: the name that the analyst's columns may carry.
      outer: the conditions of its LEFT JOIN, each total; None when its rows must be there.
      sample: the rate of the analyst's own TABLESAMPLE BERNOULLI, or None.
      optional: of a LEFT JOIN, its rows are private; `planner.sensitivity.own_rows` asks whose they are.
      position, start: 1-based offsets of the LEFT JOIN to private rows, and of the table's name, or None.
      sampled: can the database sample it? Tables and materialized views; not other views, nor foreign tables.
      person: of a per-person table, what it is made from; `table` then says no more than its columns.
      rows: of a per-person table whose owners are proved, the SELECT that it is (`planner.planning.person_tables`).
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
    person: PersonTable | None = None
    rows: exp.Select | None = None


@dataclass(frozen=True)
class BoundSemiJoin:
    """One EXISTS, IN, NOT EXISTS or NOT IN of WHERE: a filter on the tuple, which it neither multiplies nor widens.

    `x IN (SELECT k ...)` is EXISTS with x = k among its conditions. NOT IN is NOT EXISTS of a row where x = k is true
    or unknown, which is what SQL says of it, also of no rows and of NULL on either side.

    Attributes:
      tables: the inner rows; their aliases are no others'.
      predicates: the conditions of the inner rows, each total; they may read the tuple's columns.
      negated: does the tuple pass where there is no such row?
      label: the construct, as refusals name it.
    """

    tables: tuple[BoundTable, ...]
    predicates: tuple[exp.Expr, ...]
    negated: bool
    label: str
    position: int | None = field(compare=False)


@dataclass(frozen=True)
class OwnerJoin:
    """A LEFT JOIN, entered as inner join, along a foreign key by which the rows on its left, `alias`, are owned."""

    alias: str
    columns: tuple[str, ...]
    position: int | None


@dataclass(frozen=True)
class BoundKey:
    """One GROUP BY key.

    Attributes:
      written: the expression with its columns bound, as select list and HAVING may repeat it.
      value: SQL of the key that raises for no row.
      type: of `value`.
      values: the domain, where it follows from the expression itself; None for a column.
      shown: the type in an answer, where `value` is a bigint of the same number, a double, or a moment of a time zone
        at UTC; None: as `type`.
    """

    written: exp.Expr
    value: exp.Expr
    type: SqlType
    position: int | None
    values: tuple[KeyCell, ...] | None = None
    shown: ResultType | None = None

    @property
    def result(self) -> ResultType | None:
        """The type of the key in an answer; None where it cannot be a key."""
        return self.shown or result_type(self.type)

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The (alias, column) pairs that the key is computed from."""
        return list(dict.fromkeys(map(column_ref, columns_of(self.value))))


@dataclass(frozen=True)
class BoundAggregate:
    """One aggregate; a select list, HAVING and ORDER BY share those that they both name.

    Attributes:
      function: AVG is the quotient of two of these.
      argument: for `sum` SQL of a double, never NaN; for `distinct` SQL of the canonical value; for `rank` SQL of the
        place on `grid`; None for `count`.
      condition: SQL of a condition: a tuple counts only where it is true; None: everywhere. None for `sum`.
      label: the aggregate as the analyst wrote it.
      bounds: of the argument of `sum`.
      moment: of a sum or count that a quotient is computed from (an average, a variance, a correlation): 0 for how
        many, 1 for a sum, 2 for a sum of squares or products. They are measured together, since the quotient is only
        right if all of them lose the same part to truncation. None: asked for itself.
      around: of a sum of products that only serves to be compared with those of its factors, the places of S(x), S(y)
        and the count among the aggregates: it may be measured around their quotients.
      over: of a sum that only serves an average, the place of the count among the aggregates.
      grid, rank: of a quantile or an extreme, where its values lie and which of them is asked for.
      column: of a sum of the values of one column, or of those of some rows, which column, as (alias, name).
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


@dataclass(frozen=True)
class BoundQuery:
    """A select-project-join with aggregates, in normal form.

    In every ReleasedExpression here, ReleasedValue(i) stands for aggregates[i].

    Attributes:
      tables: the entries of FROM, every join and derived table flattened into it.
      predicates: the conditions of WHERE, ON and USING; a join tuple passes when all are true. Each is total.
      aggregates: at least one, but where groups are only named, or the rows of an answer are known in number.
      owner_joins: LEFT JOINs that are the inner join only where nobody else owns the rows
        (`planner.sensitivity.own_rows`).
      semi_joins: the conditions of WHERE that look for rows of other tables; a tuple passes when all are true.
      again: of a question over per-person tables, binds it once more with what is proved of their columns.
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
        """Raises: ValueError where two tables share an alias, which would let one stand for the other in a proof."""
        aliases = [entry.alias for entry in self.all_tables]
        if len(set(aliases)) != len(aliases):
            raise ValueError("tables of a query share an alias")

    @property
    def all_tables(self) -> list[BoundTable]:
        """The entries of FROM, and those of the semi-joins."""
        return [*self.tables, *(entry for one in self.semi_joins for entry in one.tables)]

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
