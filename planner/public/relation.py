"""The records of a query over public tables: its tables, its statement and its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from planner.binding.bound_query import BoundTable, column_copy
from planner.binding.scope import Scope, Tables
from planner.errors import StatementTooComplex, UnsupportedSQL
from planner.limits import MAX_TABLES
from planner.policy.policy import ColumnPolicy, Policy
from planner.schema import Column, Schema, Table
from planner.sql.literals import label_place
from planner.sql.sql_types import REAL, Family, ResultType, SqlType
from planner.sql.trees import bound_column, copied, named_sql
from planner.sql.zones import UTC

MAX_SUBQUERIES = 64
"""The most subqueries, uses of a CTE and sides of set operations in one public query."""


class PublicTables(Tables):
    """The public base tables of a statement, and its subqueries as tables without a namespace."""

    def __init__(
        self, schema: Schema, policy: Policy, search_path: Sequence[str] | None = None, zone: str = UTC
    ) -> None:
        super().__init__(schema, policy, search_path, zone=zone)
        self._sizes = {True: 0, False: 0}

    def lookup(self, node: exp.Table) -> Table:
        """Return the catalog's table. Raises: UnknownTable; UnsupportedSQL for a private one."""
        table = super().lookup(node)
        if not self.is_public(table):
            raise UnsupportedSQL(f"table {table.name!r} is private, so an exact answer may not read it", at=node)
        return table

    def add(self, name: str, table: Table, position: int | None) -> BoundTable:
        """Enter a table or a subquery under a new alias. Raises: StatementTooComplex."""
        base = bool(table.namespace)
        self._sizes[base] += 1
        limit, what = (MAX_TABLES, "tables") if base else (MAX_SUBQUERIES, "subqueries")
        if self._sizes[base] > limit:
            raise StatementTooComplex(f"more than {limit} {what}", position=position)
        return self.enter(name, table)

    def declared(self, column: exp.Column) -> tuple[str, ColumnPolicy]:
        """Return no declaration, since there is no noise to bound."""
        return "", ColumnPolicy()


class PublicScope(Scope):
    """The names that one SELECT sees: its own FROM, and the FROM of the SELECTs around it."""

    def never_null(self, star: exp.Column) -> exp.Column:
        """Return the first column of `t.*` that is never NULL. Raises: UnknownTable, UnsupportedSQL."""
        source = self._qualified(star, self.sources)
        base = self.tables[source.first].table.namespace  # columns of a subquery may be NULL
        for name in source.columns if base else ():
            column = self.resolve(exp.column(exp.to_identifier(name, quoted=True), copied(star.args["table"])))
            if isinstance(column, exp.Column) and not self._tables.nullable(column):
                return column_copy(column)
        message, hint = "COUNT(t.*) needs a column of t that is never NULL", "write COUNT(*)"
        raise UnsupportedSQL(message, hint=hint, at=star)


@dataclass(frozen=True)
class PublicQuery:
    """A query that reads public tables only.

    Attributes:
      statement: a SELECT with columns c0, c1, ..., generated aliases and checked names. It returns at most
        MAX_PUBLIC_ROWS rows, and one more to show that there are more.
      columns: the name and type of each column of the answer.
      reads: the names of its public tables, in the order of the statement.
      fingerprint: of its schema.
      tables: every table and subquery of the statement, by alias.
    """

    statement: exp.Select
    columns: tuple[tuple[str, ResultType], ...]
    reads: tuple[str, ...]
    fingerprint: str
    tables: Mapping[str, Table] = field(repr=False)


@dataclass(frozen=True)
class PublicStatement:
    """A PublicQuery as SQL text for a database, with its columns, reads and fingerprint.

    Attributes:
      nan: the names of columns whose NaN it reads as NULL.
    """

    sql: str
    columns: tuple[tuple[str, ResultType], ...]
    fingerprint: str
    reads: tuple[str, ...] = ()
    nan: tuple[str, ...] = ()


_INTEGER_DIGITS = 10
_WORDS = {
    Family.FLOAT: "double precision",
    Family.BOOL: "boolean",
    Family.DATE: "date",
    Family.TIMESTAMP: "timestamp",
    Family.TIMESTAMPTZ: "timestamptz",
    Family.UUID: "uuid",
    Family.TIME: "time",
    Family.INET: "inet",
    Family.OTHER: "other",
}


@dataclass(frozen=True)
class RelationColumn:
    """A column: its name and type."""

    name: str
    type: SqlType


@dataclass(frozen=True)
class SortColumn:
    """A sort key: a column of the statement and its direction."""

    column: str
    desc: bool
    nulls_first: bool


@dataclass(frozen=True)
class Relation:
    """A query before its rows are sorted and limited.

    Attributes:
      body: its columns are c0, c1, ..., followed by the hidden ones.
      columns: the visible columns.
      hidden: the types of columns that only sort.
      order, limit, offset: its sort keys and limits.
    """

    body: exp.Query
    columns: tuple[RelationColumn, ...]
    hidden: tuple[SqlType, ...] = ()
    order: tuple[SortColumn, ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The type of each column, in order."""
        return tuple(column.type for column in self.columns)

    def statement(self, tables: PublicTables) -> exp.Query:
        """Return the query for use inside another one; sorted only if a limit depends on the order."""
        if self.limit is None and not self.offset:
            return self.body if not self.hidden else self.selected(tables, sort=False)
        return self.selected(tables, sort=True)

    def selected(
        self,
        tables: PublicTables,
        shown: Sequence[exp.Expr | None] = (),
        *,
        sort: bool,
        alias: str | None = None,
        at_most: int | None = None,
    ) -> exp.Select:
        """Return `SELECT ... FROM (body)`, sorted and limited to `at_most` rows, under `alias` or a new alias.

        `shown`: the expression for each column, None for the column itself; empty for all columns themselves.
        """
        name = alias or self.enter(tables)
        parts = shown or [None] * len(self.columns)
        columns = [column or bound_column(name, f"c{place}") for place, column in enumerate(parts)]
        select = exp.Select(
            expressions=[named_sql(column, f"c{place}") for place, column in enumerate(columns)],
            from_=exp.From(this=aliased(self.body, name)),
        )
        if sort and self.order:
            kinds = {f"c{place}": kind for place, kind in enumerate((*self.types, *self.hidden))}
            ordered = [_ordered(name, key, kinds[key.column]) for key in self.order]
            select.set("order", exp.Order(expressions=ordered))
        limits = [count for count in (self.limit, at_most) if count is not None]
        if limits:
            select.set("limit", exp.Limit(expression=exp.Literal.number(min(limits))))
        if self.offset:
            select.set("offset", exp.Offset(expression=exp.Literal.number(self.offset)))
        return select

    def enter(self, tables: PublicTables) -> str:
        """Enter it under a new alias, and return the alias. Raises: StatementTooComplex."""
        kinds = (*self.types, *self.hidden)
        columns = [Column(f"c{place}", type_words(kind), nullable=True) for place, kind in enumerate(kinds)]
        return tables.add("", Table("q", "", tuple(columns), (), ()), None).alias


def aliased(query: exp.Query, alias: str) -> exp.Subquery:
    """A subquery in FROM: `(query) AS "alias"`."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))


def type_words(kind: SqlType) -> str:
    """Return the words for a type, which `planner.sql.sql_types.sql_type` reads.

    >>> type_words(SqlType(Family.NUMERIC, 15, 2)), type_words(SqlType(Family.TEXT, 25))
    ('numeric(15,2)', 'varchar(25)')
    """
    if kind.family is Family.INTEGER:
        return "integer" if (kind.precision or 19) <= _INTEGER_DIGITS else "bigint"
    if kind.family is Family.NUMERIC:
        return "numeric" if kind.precision is None else f"numeric({kind.precision},{kind.scale or 0})"
    if kind.is_string:
        return "text" if kind.precision is None else f"varchar({kind.precision})"
    if kind.family is Family.ENUM:
        labels = ", ".join("'" + label.replace("'", "''") + "'" for label in kind.labels)
        return f"enum({labels})"
    return "real" if kind == REAL else _WORDS[kind.family]


def _ordered(alias: str, key: SortColumn, kind: SqlType) -> exp.Ordered:
    """Sort by a column; labels of an enum sort by their position in its declaration."""
    column: exp.Expr = bound_column(alias, key.column)
    if kind.family is Family.ENUM:
        column = label_place(column, kind, column)
    return exp.Ordered(this=column, desc=key.desc, nulls_first=key.nulls_first)
