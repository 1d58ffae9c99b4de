"""Statements over public tables for DuckDB: what `planner.rewriting.dialects.duckdb` writes, and whole queries around
it."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import ErrorLevel, exp

from planner.rewriting.dialects import duckdb_aggregates
from planner.rewriting.dialects.duckdb import CLAUSES, HANDLERS, Writer
from planner.rewriting.dialects.exact_digits import Handler, Typed, Write
from planner.schema import Table
from planner.sql.sql_nodes import is_type
from planner.sql.sql_types import Family, SqlType, sql_type

_OTHER = SqlType(Family.OTHER)
_CLAUSES = (
    *CLAUSES, exp.Having, exp.Union, exp.Intersect, exp.Except,
)  # fmt: skip


def duckdb_public_sql(tree: exp.Expr, tables: Mapping[str, Table], *, pretty: bool = False) -> str:
    """Write a statement for DuckDB.

    Args:
      tree: of a PublicQuery.
      tables: by alias, for the columns' types.
    Raises: UnsupportedSQL where DuckDB would answer differently.
    """
    written = Writer(tables, HANDLERS | _HANDLERS, _CLAUSES).write(tree).sql
    return written.sql("duckdb", unsupported_level=ErrorLevel.RAISE, comments=False, pretty=pretty)


def _exists(node: exp.Expr, write: Write) -> Typed:
    return Typed(exp.Exists(this=write(node.this).sql), SqlType(Family.BOOL))


def _in(node: exp.Expr, write: Write) -> Typed:
    query = node.args.get("query")
    if query is None:
        return HANDLERS[exp.In](node, write)
    return Typed(exp.In(this=write(node.this).sql, query=write(query).sql), SqlType(Family.BOOL))


def _subquery(node: exp.Expr, write: Write) -> Typed:
    """In FROM a clause; elsewhere a value, of the type of its one column."""
    arguments = {name: write(value).sql for name, value in node.args.items() if isinstance(value, exp.Expr)}
    joins = [write(join).sql for join in node.args.get("joins") or []]
    sql = exp.Subquery(**arguments, joins=joins) if joins else exp.Subquery(**arguments)
    inner = node.this
    value = isinstance(inner, exp.Select) and node.args.get("alias") is None
    return Typed(sql, write(inner.expressions[0].this).type if value else _OTHER)


def _constant(node: exp.Expr, write: Write) -> Typed:
    """LIMIT and OFFSET: the number stays as it is."""
    return Typed(node.copy(), _OTHER)


def _cast(node: exp.Expr, write: Write) -> Typed:
    """A sum keeps its own digits, NULL is of any type; any other cast is as everywhere."""
    if isinstance(node.this, exp.Null):
        return Typed(node.copy(), sql_type(node.args["to"].sql("postgres").lower()))
    inner = node.this.this if isinstance(node.this, exp.Filter) else node.this
    if isinstance(inner, exp.Sum) and is_type(node.args["to"], "decimal"):
        return write(node.this)
    return HANDLERS[exp.Cast](node, write)


_HANDLERS: dict[type[exp.Expr], Handler] = {
    **duckdb_aggregates.AGGREGATES,
    exp.Exists: _exists,
    exp.In: _in,
    exp.Subquery: _subquery,
    exp.Limit: _constant,
    exp.Offset: _constant,
    exp.Cast: _cast,
}
