"""Conditions for DuckDB."""

from __future__ import annotations

from sqlglot import exp

from planner.rewriting.dialects.alignment import compared
from planner.rewriting.dialects.connectives import CONNECTIVES, truth
from planner.rewriting.dialects.exact_digits import Handler, Typed, Write
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family


def _compared(node: exp.Expr, write: Write) -> Typed:
    value, other = write(node.this), node.args["expression"]
    if isinstance(other, exp.Literal) and other.is_string and value.type.is_number:
        return _no_nan(node, value)
    left, right = compared([value, write(other)])
    return truth(type(node)(this=left, expression=right))


def _no_nan(node: exp.Expr, value: Typed) -> Typed:
    """`x <> 'NaN'`, the only quoted number that rules write; a decimal is never NaN, so it is only not NULL."""
    assert isinstance(node, exp.NEQ) and node.expression.name == "NaN"
    if value.type.family is Family.FLOAT:
        return truth(exp.NEQ(this=value.sql, expression=cast_sql(node.expression.copy(), "DOUBLE")))
    return truth(exp.Is(this=value.sql, expression=exp.Null(), negate=True))


def _between(node: exp.Expr, write: Write) -> Typed:
    value, low, high = compared([write(node.args[part]) for part in ("this", "low", "high")])
    return truth(exp.Between(this=value, low=low, high=high))


def _listed(node: exp.Expr, write: Write) -> Typed:
    value, *items = compared([write(node.this), *map(write, node.args["expressions"])])
    return truth(exp.In(this=value, expressions=items))


def _tested(node: exp.Expr, write: Write) -> Typed:
    test = node.args["expression"].copy()
    return truth(exp.Is(this=write(node.this).sql, expression=test, negate=node.args.get("negate")))


def _like(node: exp.Expr, write: Write) -> Typed:
    """DuckDB has no escape character unless one is named; PostgreSQL's is the backslash."""
    like = type(node)(this=write(node.this).sql, expression=node.args["expression"].copy())
    escaped = exp.Escape(this=like, expression=exp.Literal.string("\\"))
    return truth(exp.Not(this=escaped) if node.args.get("negate") else escaped)


def _found(node: exp.Expr, write: Write) -> Typed:
    return truth(exp.Exists(this=write(node.this).sql))


CONDITIONS: dict[type[exp.Expr], Handler] = {
    **CONNECTIVES,
    exp.EQ: _compared,
    exp.NEQ: _compared,
    exp.LT: _compared,
    exp.LTE: _compared,
    exp.GT: _compared,
    exp.GTE: _compared,
    exp.NullSafeEQ: _compared,
    exp.NullSafeNEQ: _compared,
    exp.Between: _between,
    exp.In: _listed,
    exp.Is: _tested,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Exists: _found,
}
