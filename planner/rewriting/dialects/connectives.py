"""Conditions that DuckDB and Spark write alike: AND, OR, NOT, TRUE and FALSE."""

from __future__ import annotations

from sqlglot import exp

from planner.rewriting.dialects.exact_digits import Handler, Typed, Write
from planner.sql.sql_types import Family, SqlType


def truth(sql: exp.Expr) -> Typed:
    """A condition, with its type."""
    return Typed(sql, SqlType(Family.BOOL))


def _connected(node: exp.Expr, write: Write) -> Typed:
    return truth(type(node)(this=write(node.this).sql, expression=write(node.args["expression"]).sql))


def _denied(node: exp.Expr, write: Write) -> Typed:
    return truth(exp.Not(this=write(node.this).sql))


def _constant(node: exp.Expr, write: Write) -> Typed:
    return truth(node.copy())


CONNECTIVES: dict[type[exp.Expr], Handler] = {
    exp.And: _connected,
    exp.Or: _connected,
    exp.Not: _denied,
    exp.Boolean: _constant,
}
