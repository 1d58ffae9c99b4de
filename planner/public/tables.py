"""The tables behind a public query, and what its names mean."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.binding.bound_query import BoundTable, column_copy
from planner.binding.scope import Scope, Source, Tables
from planner.errors import StatementTooComplex, UnknownColumn, UnknownTable, UnsupportedSQL
from planner.limits import MAX_TABLES
from planner.policy.policy import ColumnPolicy, Policy
from planner.schema import Schema, Table
from planner.sql.trees import copied, position_of
from planner.sql.zones import UTC

MAX_SUBQUERIES = 64
"""Subqueries, uses of a CTE and sides of a set operation in one public query."""


class PublicTables(Tables):
    """Base tables, each of them public, and subqueries, which are tables without a namespace."""

    def __init__(
        self, schema: Schema, policy: Policy, search_path: Sequence[str] | None = None, zone: str = UTC
    ) -> None:
        super().__init__(schema, policy, search_path, zone=zone)
        self._sizes = {True: 0, False: 0}

    def lookup(self, node: exp.Table) -> Table:
        """The catalog's table. Raises: UnknownTable; UnsupportedSQL for one that is not public."""
        table = super().lookup(node)
        if not self.is_public(table):
            raise UnsupportedSQL(
                f"table {table.name!r} is private: no exact answer may read it", position=position_of(node)
            )
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
        """Nothing: what a policy declares of a column bounds noise, and here there is none."""
        return "", ColumnPolicy()


class PublicScope(Scope):
    """What one SELECT sees: its own FROM, and around it the FROM of the SELECTs that it stands in."""

    def __init__(self, tables: PublicTables, outer: PublicScope | None) -> None:
        super().__init__(tables)
        self._outer = outer

    def never_null(self, star: exp.Column) -> exp.Column:
        """Of `t.*`, the first column of t that no row of it has NULL. Raises: UnknownTable; UnsupportedSQL."""
        source = self._qualified(star, self.sources)
        base = self.tables[source.first].table.namespace  # a subquery says NULL of none of its columns
        for name in source.columns if base else ():
            column = super().resolve(exp.column(exp.to_identifier(name, quoted=True), copied(star.args["table"])))
            if isinstance(column, exp.Column) and not self._tables.nullable(column):
                return column_copy(column)
        message, hint = "COUNT over the rows of what has no column that is never NULL", "write COUNT(*)"
        raise UnsupportedSQL(message, hint=hint, position=position_of(star))

    def resolve(self, column: exp.Column, among: Sequence[Source] | None = None) -> exp.Expr:
        """As a Scope does; a name that means nothing here may mean something outside."""
        try:
            return super().resolve(column, among)
        except (UnknownColumn, UnknownTable):
            if self._outer is None:
                raise
            try:
                return self._outer.resolve(column)
            except (UnknownColumn, UnknownTable):
                pass
            raise
