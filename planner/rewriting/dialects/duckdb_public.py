"""Statements over public tables for DuckDB: what `planner.rewriting.dialects.duckdb` writes, and whole queries around
it."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import ErrorLevel, exp

from planner.rewriting.dialects.duckdb import CLAUSES, HANDLERS, Writer
from planner.rewriting.dialects.exact_digits import Handler, Typed, Write, numeric
from planner.schema import Table
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family, SqlType, sql_type

_MOST_DIGITS = 38
_ROW_DIGITS = 12
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


def _aggregate(node: exp.Expr, write: Write) -> Typed:
    """An aggregate with its FILTER."""
    call = node.this if isinstance(node, exp.Filter) else node
    argument = call.this
    distinct = isinstance(argument, exp.Distinct)
    if isinstance(argument, exp.Star):
        value = Typed(exp.Star(), _OTHER)
    else:
        value = write(argument.expressions[0] if distinct else argument)
    taken = exp.Distinct(expressions=[value.sql]) if distinct else value.sql
    sql: exp.Expr = type(call)(this=taken)
    if isinstance(node, exp.Filter):
        sql = exp.Filter(this=sql, expression=exp.Where(this=write(node.expression.this).sql))
    return _typed(call, sql, value)


def _typed(call: exp.Expr, sql: exp.Expr, value: Typed) -> Typed:
    if isinstance(call, exp.Count):
        return Typed(sql, SqlType(Family.INTEGER))
    if not isinstance(call, exp.Sum) or value.type.family is Family.FLOAT:
        return Typed(sql, value.type)
    whole = min(value.whole + _ROW_DIGITS, _MOST_DIGITS - value.scale)
    kind = numeric(whole, value.scale)
    return Typed(cast_sql(sql, f"DECIMAL({kind.precision}, {kind.scale})"), kind)


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
    if isinstance(inner, exp.Sum) and node.args["to"].is_type("decimal"):
        return write(node.this)
    return HANDLERS[exp.Cast](node, write)


_HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Count: _aggregate,
    exp.Sum: _aggregate,
    exp.Avg: _aggregate,
    exp.Min: _aggregate,
    exp.Max: _aggregate,
    exp.Filter: _aggregate,
    exp.Exists: _exists,
    exp.In: _in,
    exp.Subquery: _subquery,
    exp.Limit: _constant,
    exp.Offset: _constant,
    exp.Cast: _cast,
}
