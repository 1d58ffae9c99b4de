"""Binds the elements of a list in a row: `FROM posts p, unnest(string_to_array(p.tags, ',')) AS t(tag)`.

    table  SELECT id AS k1, unnest(string_to_array(nullif(tags, ''), ',')) AS e2 FROM posts
    t      SELECT e2 AS tag FROM table, which is joined by k1 = p.id

A row of the table is a function of one row of `posts`, so it belongs to the same people. Nothing bounds how many
there are, so truncation bounds what one person adds. Elements are group keys if a condition lists them, or if the
policy lets the column's values be discovered.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from planner.binding.bound_query import PersonColumn
from planner.binding.person_tables import OwnRows
from planner.binding.scope import Scope, Tables
from planner.errors import UnsupportedSQL
from planner.expressions.bind_scalar import bind_scalar
from planner.policy.policy import ColumnPolicy
from planner.schema import Column
from planner.sql.sql_types import Family
from planner.sql.trees import LEAVES, bound_column, cast_sql, column_ref, columns_of, position_of, rebuilt

_OF_DUCKDB = {"double": "double precision", "float": "real"}
_HINT = "split a text column of one table by a written separator: unnest(string_to_array(x, ','))"


class ListedRows(OwnRows):
    """The elements of one list as a table of rows, beside the key of the row that holds the list."""

    expands = True

    def __init__(self, node: exp.Lateral, scope: Scope, tables: Tables) -> None:
        """Bind the list. `tables`: an empty collection, for the row that holds it. Raises: UnsupportedSQL."""
        listed = node.this.expressions[0]
        super().__init__(exp.Select(), Scope(tables), tables, ())
        self._position, self._listed = position_of(node), node
        text = listed.this if isinstance(listed, (exp.StringToArray, exp.RegexpSplit)) else listed
        value = scope.bind(text)
        of = {column_ref(column)[0] for column in columns_of(value)}
        entry = next((one for one in scope.tables if of == {one.alias}), None)
        if entry is None or entry.person is not None or tables.is_public(entry.table) or entry.row_key is None:
            message = "this list is not supported: its row needs a key, and an owner"
            raise UnsupportedSQL(message, hint=_HINT, at=node)
        self.row, self.key = entry, entry.row_key
        self._inner = tables.add(entry.name, entry.table, self._position)
        self._enter(listed, self._moved(value))

    def columns(self, alias: str) -> list[tuple[str, exp.Expr]]:
        """The elements, and the key of their row, as (name, expression)."""
        return [
            (column.column.name, self._column(alias, place, self._listed))
            for place, column in enumerate(self._columns)
        ]

    def conditions(self, alias: str) -> list[exp.Expr]:
        """The equalities with the row that holds the list."""
        names = [column.column.name for column in self._columns]
        return [
            exp.EQ(this=_bound(self.row.alias, name), expression=_bound(alias, made))
            for name, made in zip(self.key, names, strict=False)
        ]

    def _partitions(self) -> Mapping[tuple[str, ...], int | None]:
        return {tuple(one.column.name for one in self._columns if one.is_key): self._position}

    def _moved(self, node: exp.Expr) -> exp.Expr:
        """The list's expression over the row in the table."""
        if isinstance(node, exp.Column):
            made = _bound(self._inner.alias, node.name)
            made.meta.update(node.meta)
            return made
        return node if type(node) in LEAVES else rebuilt(node, self._moved)

    def _enter(self, listed: exp.Expr, value: exp.Expr) -> None:
        for name in self.key:
            self._own(_bound(self._inner.alias, name))
        declared = ColumnPolicy()
        if isinstance(value, exp.Column):
            known = self._scope.declared(value)[1]
            declared = ColumnPolicy(discover=known.discover, null_group=known.null_group)
        kind, array = self._array(listed, value)
        column = Column(f"e{len(self._columns) + 1}", kind, True)
        label = value.name if isinstance(value, exp.Column) else "the list"
        rows: exp.Expr = exp.Explode(this=array)
        if kind in ("numeric", *_OF_DUCKDB.values()):  # a decimal of DuckDB has a size, and no NaN
            rows = exp.Nullif(this=rows, expression=exp.Literal.string("NaN"))
        self._columns.append(PersonColumn(column, rows, declared, label=f"an element of {label}"))

    def _array(self, listed: exp.Expr, value: exp.Expr) -> tuple[str, exp.Expr]:
        """The type of the elements, and SQL of the list.

        A text without a character has no element for string_to_array, and one for regexp_split_to_table.
        """
        if not isinstance(listed, (exp.StringToArray, exp.RegexpSplit)):
            kind = self._tables.written_type(value) if isinstance(value, exp.Column) else ""
            if not kind.endswith("[]"):
                raise UnsupportedSQL("unnest takes a list here", hint=_HINT, at=listed)
            kind = kind.removesuffix("[]").lower()
            return _OF_DUCKDB.get(kind, kind), value
        scalar, separator = bind_scalar(value, self._scope), listed.expression
        written = isinstance(separator, exp.Literal) and separator.is_string and separator.name
        if scalar.type is None or scalar.type.family not in (Family.TEXT, Family.CHAR) or not written:
            raise UnsupportedSQL("this list is not supported", hint=_HINT, at=listed)
        text = cast_sql(scalar.sql, "TEXT") if scalar.type.family is Family.CHAR else scalar.sql
        by = exp.Literal.string(separator.name)
        if isinstance(listed, exp.RegexpSplit):
            return "text", exp.Anonymous(this="REGEXP_SPLIT_TO_ARRAY", expressions=[text, by])
        return "text", exp.StringToArray(this=exp.Nullif(this=text, expression=exp.Literal.string("")), expression=by)


def _bound(alias: str, name: str) -> exp.Column:
    column = bound_column(alias, name)
    column.meta["bound"] = True
    return column
