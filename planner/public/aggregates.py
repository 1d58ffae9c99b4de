"""Aggregates over public rows, exact: what PostgreSQL gives, of a type that every database gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from planner.binding.statistics.aggregates import check_typed
from planner.errors import InvalidSyntax, UnsupportedSQL
from planner.expressions import arithmetic
from planner.expressions.coercion import number, settle
from planner.expressions.scalar import Binder, Digits, Scalar
from planner.expressions.strings import as_text
from planner.public.exact import as_double, divided, double, typed
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import copied, position_of

AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)

ROW_DIGITS = 12
"""Digits of the number of rows that one sum adds up, at most."""

_COUNT = SqlType(Family.INTEGER, 19)
_COUNTED = Digits(19, 0, True)
_TEXT = SqlType(Family.TEXT)
_MOST_DIGITS = 1000
_SMALL = 10
_NO_ORDER = (Family.BOOL, Family.UUID, Family.ENUM, Family.OTHER)


@dataclass(frozen=True)
class _Call:
    """An aggregate: its argument, whether it takes distinct values only, and the condition of its FILTER."""

    node: exp.Expr
    argument: Scalar
    distinct: bool
    condition: exp.Expr | None

    def of(self, kind: type[exp.Expr]) -> exp.Expr:
        """An aggregate function of the argument."""
        value = copied(self.argument.sql)
        taken = exp.Distinct(expressions=[value]) if self.distinct else value
        return _filtered(kind(this=taken), self.condition)


def bind_aggregate(node: exp.Expr, rows: Binder, present: Callable[[exp.Column], exp.Expr]) -> Scalar | None:
    """What an aggregate call gives; None for anything else.

    Args:
      node: as parsed, with its FILTER.
      rows: binds its argument.
      present: of `t.*`, a column of t that is NULL only where an outer join finds no row of it.
    Raises: UnsupportedSQL, InvalidSyntax.
    """
    where = node.expression.this if isinstance(node, exp.Filter) else None
    function = node.this if isinstance(node, exp.Filter) else node
    if not isinstance(function, AGGREGATES):
        return None
    condition = None if where is None else rows.predicate(where)
    argument = function.this
    if argument is None:
        raise InvalidSyntax("an aggregate lacks its argument", hint="write COUNT(*)", position=position_of(node))
    if isinstance(argument, exp.Star):
        if not isinstance(function, exp.Count):
            raise InvalidSyntax("only COUNT takes *", position=position_of(node))
        return _count(node, _filtered(exp.Count(this=exp.Star()), condition))
    if isinstance(argument, exp.Column) and isinstance(argument.this, exp.Star) and isinstance(function, exp.Count):
        return _count(node, _filtered(exp.Count(this=present(argument)), condition))
    distinct = isinstance(argument, exp.Distinct)
    if distinct and len(argument.expressions) != 1:
        raise UnsupportedSQL("DISTINCT over several columns is not supported here", position=position_of(argument))
    value = rows.scalar(argument.expressions[0] if distinct else argument)
    if isinstance(function, (exp.Sum, exp.Avg)):
        check_typed(function, argument.expressions[0] if distinct else argument)
        value = number(value, rows)
    call = _Call(node, settle(value, _TEXT, rows), distinct, condition)
    if isinstance(function, exp.Count):
        return _count(node, call.of(exp.Count))
    if call.argument.is_null:
        return arithmetic.null(node)
    if isinstance(function, exp.Sum):
        return _sum(call)
    return _average(call) if isinstance(function, exp.Avg) else _extreme(call, type(function))


def _filtered(call: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    return call if condition is None else exp.Filter(this=call, expression=exp.Where(this=copied(condition)))


def _count(node: exp.Expr, sql: exp.Expr) -> Scalar:
    return typed(node, _COUNT, cast_sql(sql, "BIGINT"), _COUNTED)


def _sum(call: _Call) -> Scalar:
    """Of small integers a bigint, of others and of decimals a numeric, of doubles a double."""
    kind, digits = call.argument.type, call.argument.digits
    assert kind is not None, "a number"
    if kind.family is Family.FLOAT:  # of reals, too, whose own sum depends on the order of the rows
        call = replace(call, argument=double(call.node, as_double(call.argument)))
        return double(call.node, cast_sql(call.of(exp.Sum), "DOUBLE PRECISION"))
    sql = call.of(exp.Sum)
    if kind.family is Family.INTEGER and (kind.precision or 19) <= _SMALL:
        return _count(call.node, sql)
    if digits is None or digits.whole + digits.scale + ROW_DIGITS > _MOST_DIGITS:
        return typed(call.node, SqlType(Family.NUMERIC), sql)
    total = Digits(digits.whole + ROW_DIGITS, digits.scale, digits.integral)
    numeric = f"DECIMAL({total.whole + total.scale}, {total.scale})"
    return typed(call.node, SqlType(Family.NUMERIC, total.whole + total.scale, total.scale),
                 cast_sql(sql, numeric), total)  # fmt: skip


def _average(call: _Call) -> Scalar:
    """A double: the exact sum by the count, where there is an exact sum."""
    assert call.argument.type is not None, "a number"
    if call.argument.type.family is Family.FLOAT:
        return double(call.node, cast_sql(call.of(exp.Avg), "DOUBLE PRECISION"))
    return double(call.node, divided(_sum(call), _count(call.node, call.of(exp.Count))))


def _extreme(call: _Call, kind: type[exp.Expr]) -> Scalar:
    """MIN and MAX of numbers, texts and datetimes."""
    argument = call.argument
    assert argument.type is not None, "typed"
    if argument.type.family in _NO_ORDER:
        message = f"{kind.__name__.upper()} over {argument.kind} is not supported"
        raise UnsupportedSQL(message, position=position_of(call.node))
    argument = as_text(argument)
    result = argument.type
    assert result is not None, "typed"
    sql = _Call(call.node, argument, call.distinct, call.condition).of(kind)
    target = {Family.INTEGER: "BIGINT", Family.FLOAT: "DOUBLE PRECISION"}.get(result.family)
    return typed(call.node, result, sql if target is None else cast_sql(sql, target), argument.digits)
