"""The names that a query's columns may mean, as PostgreSQL resolves them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from planner.bound_query import BoundTable, bound_column, column_type
from planner.errors import AmbiguousColumn, InvalidSyntax, UnknownColumn, UnknownTable, UnsupportedSQL
from planner.policy import Policy
from planner.positions import position_of
from planner.schema import Schema, Table
from planner.sql_types import SqlType

_UPPER_TO_LOWER = {ord(upper): ord(upper) + 32 for upper in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def fold(identifier: exp.Expr) -> str:
    """The name that an identifier means: ASCII letters in lower case unless it is quoted."""
    name = identifier.name
    return name if identifier.args.get("quoted") else name.translate(_UPPER_TO_LOWER)


class Scope:
    """The tables seen so far in FROM, and the columns that USING has merged."""

    def __init__(self, schema: Schema, policy: Policy) -> None:
        self._schema = schema
        self._policy = policy
        self._merged: dict[tuple[str, str], str] = {}
        self.tables: list[BoundTable] = []

    def add(self, node: exp.Table) -> BoundTable:
        """Enter a table of FROM. Raises UnknownTable; InvalidSyntax when two entries share a name."""
        table = self._lookup(node)
        alias = node.args.get("alias")
        name = fold(alias.this) if alias is not None and alias.this is not None else table.name
        if any(entry.name == name for entry in self.tables):
            hint = "give each table of a self-join its own alias"
            raise InvalidSyntax(f"table name {name!r} stands twice in FROM", hint=hint, position=position_of(node))
        entry = BoundTable(generated_alias(table.name, len(self.tables)), name, table)
        self.tables.append(entry)
        return entry

    def merge(self, left: exp.Column, right: BoundTable) -> None:
        """After USING, the unqualified name means the left column."""
        self._merged[right.alias, left.name] = left.table

    def resolve(self, column: exp.Column) -> exp.Column:
        """The bound column that a name means. Raises UnknownTable, UnknownColumn, AmbiguousColumn."""
        if not isinstance(column.this, exp.Identifier):
            raise UnsupportedSQL("* is not supported here", hint="name the columns", position=position_of(column))
        name = fold(column.this)
        if column.args.get("table") is not None:
            return self._qualified(column, name)
        return self.unqualified(name, self.tables, position_of(column))

    def unqualified(self, name: str, tables: list[BoundTable], position: int | None) -> exp.Column:
        """The one column of that name in `tables`, merged columns counting once."""
        aliases = {self._representative(entry.alias, name) for entry in tables if entry.table.column(name)}
        if not aliases:
            raise UnknownColumn(f"no table of the query has a column {name!r}", position=position)
        if len(aliases) > 1:
            hint = "put the table's name and a dot before it"
            raise AmbiguousColumn(f"several tables have a column {name!r}", hint=hint, position=position)
        return bound_column(aliases.pop(), name)

    def type_of(self, column: exp.Column) -> SqlType:
        """The type of a bound column."""
        entry = next(entry for entry in self.tables if entry.alias == column.table)
        return column_type(entry.table, column.name)

    def _qualified(self, column: exp.Column, name: str) -> exp.Column:
        qualifier = fold(column.args["table"])
        namespace = column.args.get("db")
        entry = next((entry for entry in self.tables if entry.name == qualifier), None)
        if entry is None or (namespace is not None and fold(namespace) != entry.table.namespace):
            hint = "a table with an alias is known by the alias only"
            raise UnknownTable(f"FROM has no table {qualifier!r}", hint=hint, position=position_of(column))
        if entry.table.column(name) is None:
            raise UnknownColumn(f"{qualifier!r} has no column {name!r}", position=position_of(column))
        return bound_column(entry.alias, name)

    def _representative(self, alias: str, name: str) -> str:
        while (alias, name) in self._merged:
            alias = self._merged[alias, name]
        return alias

    def _lookup(self, node: exp.Table) -> Table:
        name = fold(node.this)
        namespace = node.args.get("db")
        tables: Mapping[str, Table] = self._schema.tables
        table = tables.get(name) if name in self._policy.tables else None
        if table is None or (namespace is not None and fold(namespace) != table.namespace):
            shown = name if namespace is None else f"{fold(namespace)}.{name}"
            raise UnknownTable(f"there is no table {shown!r} that can be queried", position=position_of(node))
        return table


def generated_alias(table: str, index: int) -> str:
    """An alias that no other entry has: plain names stay readable, others do not risk the 63-byte limit."""
    stem = table if re.fullmatch(r"[a-z_][a-z0-9_]{0,39}", table) else "t"
    return f"{stem}_{index}"
