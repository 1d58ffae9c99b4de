"""Aggregates for DuckDB, with their FILTER: the same numbers as on PostgreSQL, a sum's digits counted."""

from __future__ import annotations

from sqlglot import exp

from planner.rewriting.dialects.exact_digits import Handler, Typed, Write, numeric
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family, SqlType

_MOST_DIGITS = 38
_ROW_DIGITS = 12
_OTHER = SqlType(Family.OTHER)


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


AGGREGATES: dict[type[exp.Expr], Handler] = dict.fromkeys(
    (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Filter), _aggregate
)
