"""The rewritten SQL for DuckDB: the same rows and the same whole numbers as on PostgreSQL, or a refusal.

What the two read differently, and what is written instead:

* `numeric` has 38 digits at most and a literal's type depends on its digits: digits are counted, literals cast;
* a decimal becomes a double by division, which rounds twice for long ones: those go through text;
* no decimal is NaN, and 'NaN' is no decimal;
* `real` against a literal compares as real: it is widened first;
* LIKE has no escape character unless it is named;
* a date outside the years of timestamps fails to become one: it is unknown instead.

A construct that is not listed here has not been compared on both databases and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import ErrorLevel, exp

from planner.rewriting.dialects.duckdb_and_spark import (
    CLAUSES,
    MOST_DIGITS,
    Handler,
    Handlers,
    Typed,
    Write,
    Writer,
    as_decimal,
    numeric,
    truth,
)
from planner.rewriting.dialects.duckdb_casts import SHARED, TEXTS_AND_MOMENTS
from planner.rewriting.dialects.duckdb_numbers import NUMBERS
from planner.schema import Schema, Table
from planner.sql.sql_types import Family, SqlType, sql_type
from planner.sql.trees import is_type, tables_by_alias

_ROW_DIGITS = 12
_OTHER = SqlType(Family.OTHER)


def _like(node: exp.Expr, write: Write) -> Typed:
    """DuckDB has no escape character unless one is named; PostgreSQL's is the backslash."""
    like = type(node)(this=write(node.this).sql, expression=node.args["expression"].copy())
    escaped = exp.Escape(this=like, expression=exp.Literal.string("\\"))
    return truth(exp.Not(this=escaped) if node.args.get("negate") else escaped)


HANDLERS: Handlers = {
    **SHARED.handlers(),
    **NUMBERS,
    **TEXTS_AND_MOMENTS,
    exp.Like: _like,
    exp.ILike: _like,
}


def _aggregate(call: exp.Expr, value: Typed, distinct: bool) -> Typed:
    """As on PostgreSQL, a sum's digits counted."""
    sql = type(call)(this=exp.Distinct(expressions=[value.sql]) if distinct else value.sql)
    if isinstance(call, exp.Count):
        return Typed(sql, SqlType(Family.INTEGER))
    if not isinstance(call, exp.Sum) or value.type.family is Family.FLOAT:
        return Typed(sql, value.type)
    kind = numeric(min(value.whole + _ROW_DIGITS, MOST_DIGITS - value.scale), value.scale)
    return Typed(as_decimal(sql, kind), kind)


_AGGREGATES: Handlers = dict.fromkeys(
    (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Filter), SHARED.aggregate(_aggregate)
)
"""Of subqueries that are tables of their own, and of statements over public tables."""


def duckdb_sql(tree: exp.Expr, schema: Schema, *, handlers: Handlers = HANDLERS) -> str:
    """What the rules built, for DuckDB. Raises: UnsupportedSQL where it answers otherwise or could fail for a row."""
    tables = dict(tables_by_alias(tree, schema))
    return _text(Writer(tables, handlers, schema=schema, aggregates=_AGGREGATES).write(tree).sql)


def duckdb_public_sql(tree: exp.Expr, tables: Mapping[str, Table]) -> str:
    """A statement over public tables, for DuckDB. Raises: UnsupportedSQL where DuckDB would answer differently."""
    clauses = (*CLAUSES, exp.Having, exp.Union, exp.Intersect, exp.Except)
    return _text(Writer(tables, {**HANDLERS, **_PUBLIC}, clauses).write(tree).sql)


def _text(tree: exp.Expr) -> str:
    return tree.sql("duckdb", unsupported_level=ErrorLevel.RAISE, comments=False)


def _in(node: exp.Expr, write: Write) -> Typed:
    query = node.args.get("query")
    if query is None:
        return HANDLERS[exp.In](node, write)
    return truth(exp.In(this=write(node.this).sql, query=write(query).sql))


def _subquery(node: exp.Expr, write: Write) -> Typed:
    """In FROM a clause; elsewhere a value, of the type of its one column."""
    arguments = {name: write(value).sql for name, value in node.args.items() if isinstance(value, exp.Expr)}
    joins = [write(join).sql for join in node.args.get("joins") or []]
    sql = exp.Subquery(**arguments, joins=joins) if joins else exp.Subquery(**arguments)
    inner = node.this
    value = isinstance(inner, exp.Select) and node.args.get("alias") is None
    return Typed(sql, write(inner.expressions[0].this).type if value else _OTHER)


def _cast(node: exp.Expr, write: Write) -> Typed:
    """A sum keeps its own digits, NULL is of any type; any other cast is as everywhere."""
    if isinstance(node.this, exp.Null):
        return Typed(node.copy(), sql_type(node.args["to"].sql("postgres").lower()))
    inner = node.this.this if isinstance(node.this, exp.Filter) else node.this
    if isinstance(inner, exp.Sum) and is_type(node.args["to"], "decimal"):
        return write(node.this)
    return HANDLERS[exp.Cast](node, write)


def _as_it_is(node: exp.Expr, write: Write) -> Typed:
    return Typed(node.copy(), _OTHER)


_PUBLIC: dict[type[exp.Expr], Handler] = {
    **_AGGREGATES,
    exp.In: _in,
    exp.Subquery: _subquery,
    exp.Limit: _as_it_is,
    exp.Offset: _as_it_is,
    exp.Cast: _cast,
}
