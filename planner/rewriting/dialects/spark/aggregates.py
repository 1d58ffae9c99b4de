"""Aggregates for Spark. Its sum of bigints fails beyond a bigint, which would tell of a row: here it saturates."""

from __future__ import annotations

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects.exact_digits import Handler, Typed, Write, numeric
from planner.rewriting.dialects.spark.calls import call
from planner.rewriting.dialects.spark.values import chosen_value
from planner.rules.compact_provenance import SATURATION
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family, SqlType

_MOST_DIGITS = 38
_ROW_DIGITS = 10
"""Spark's sum of a decimal has as many digits more: of no more rows than these it is exact."""

_OTHER = SqlType(Family.OTHER)


def _count(node: exp.Expr, write: Write) -> Typed:
    """COUNT(*), and the rows that a condition holds for: COUNT(CASE WHEN condition THEN 1 END)."""
    if isinstance(node.this, exp.Star):
        return Typed(exp.Count(this=exp.Star()), SqlType(Family.INTEGER))
    if isinstance(node.this, exp.Distinct):
        raise UnsupportedSQL("COUNT(DISTINCT) here is not supported on Spark")
    return Typed(exp.Count(this=write(node.this).sql), SqlType(Family.INTEGER))


def total(node: exp.Expr, write: Write) -> Typed | None:
    """LEAST(SUM(weight), SATURATION), what totals of weights are; None for any other LEAST.

    Weights are never negative or NULL. Whatever is added first, a part that leaves 64 bits is of a total that is over
    SATURATION, where totals stop.
    """
    summed, others = node.this, node.args["expressions"]
    if not isinstance(summed, exp.Sum) or others != [exp.Literal.number(SATURATION)]:
        return None
    weight = write(summed.this)
    assert weight.type.family is Family.INTEGER, "weights are whole numbers"
    known = call("COALESCE", call("TRY_SUM", weight.sql), exp.Literal.number(SATURATION))
    return Typed(call("LEAST", known, exp.Literal.number(SATURATION)), SqlType(Family.INTEGER))


def _least(node: exp.Expr, write: Write) -> Typed:
    return total(node, write) or chosen_value(node, write)


def _extreme(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    return Typed(type(node)(this=inner.sql), inner.type)


AGGREGATES: dict[type[exp.Expr], Handler] = {
    exp.Count: _count,
    exp.Least: _least,
    exp.Max: _extreme,
}
"""Of a question's own statements: counts, totals of weights, and the greatest weight."""


def _aggregate(node: exp.Expr, write: Write) -> Typed:
    """An aggregate with its FILTER."""
    aggregate = node.this if isinstance(node, exp.Filter) else node
    argument = aggregate.this
    distinct = isinstance(argument, exp.Distinct)
    if isinstance(argument, exp.Star):
        value = Typed(exp.Star(), _OTHER)
    elif distinct and len(argument.expressions) != 1:
        raise UnsupportedSQL("DISTINCT of several values is not supported on Spark")
    else:
        value = write(argument.expressions[0] if distinct else argument)
    sql, kind = _of(aggregate, value, distinct)
    if isinstance(node, exp.Filter):
        sql = exp.Filter(this=sql, expression=exp.Where(this=write(node.expression.this).sql))
    return Typed(sql, kind)


def _of(aggregate: exp.Expr, value: Typed, distinct: bool) -> tuple[exp.Expr, SqlType]:
    if isinstance(aggregate, exp.Sum):
        if value.type.family not in (Family.INTEGER, Family.NUMERIC) or value.whole + value.scale > 28:
            raise UnsupportedSQL("SUM of this type is not supported on Spark", hint="narrow the column's type")
        exact = cast_sql(value.sql, f"DECIMAL({value.whole + value.scale}, {value.scale})")
        taken: exp.Expr = exp.Distinct(expressions=[exact]) if distinct else exact
        return exp.Sum(this=taken), numeric(value.whole + _ROW_DIGITS, value.scale)
    taken = exp.Distinct(expressions=[value.sql]) if distinct else value.sql
    if isinstance(aggregate, exp.Count):
        return exp.Count(this=taken), SqlType(Family.INTEGER)
    return type(aggregate)(this=taken), value.type


INNER_HANDLERS: dict[type[exp.Expr], Handler] = {
    **dict.fromkeys((exp.Count, exp.Sum, exp.Min, exp.Max, exp.Filter), _aggregate),
    exp.Least: _least,
}
"""Of subqueries that are tables of their own, and of statements over public tables."""
