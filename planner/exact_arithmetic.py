"""Arithmetic in conditions: exact decimal numbers, which cannot overflow within proved digits.

PostgreSQL's own `int * int` raises on overflow, so whole numbers are computed as numeric; digits are
counted so that no result can outgrow the type. Floating point has no such proof here and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from planner import literals
from planner.errors import UnsupportedSQL
from planner.positions import position_of
from planner.scope import Scope
from planner.sql_types import Family, SqlType

_MAX_DIGITS = 1000
_HINT = "compare the column itself, or move the arithmetic to the literal's side"


@dataclass(frozen=True)
class Exact:
    """SQL of a decimal number with at most `whole` digits before the point and `scale` after it."""

    sql: exp.Expr
    whole: int
    scale: int
    integral: bool

    @property
    def type(self) -> SqlType:
        """As a numeric of its digits."""
        return SqlType(Family.NUMERIC, self.whole + self.scale, self.scale)


def exact(node: exp.Expr, scope: Scope) -> Exact:
    """Bind an arithmetic expression. Raises UnsupportedSQL where it could fail for some row."""
    result = _exact(node, scope)
    if result.whole + result.scale > _MAX_DIGITS:
        raise UnsupportedSQL("arithmetic with too many digits", hint=_HINT, position=position_of(node))
    return result


def _exact(node: exp.Expr, scope: Scope) -> Exact:
    if isinstance(node, exp.Paren):
        return exact(node.this, scope)
    if isinstance(node, exp.Literal) and not node.is_string:
        return _literal(node)
    if isinstance(node, exp.Column):
        return _column(node, scope)
    if isinstance(node, exp.Neg):
        inner = exact(node.this, scope)
        return Exact(exp.Neg(this=_wrap(inner.sql)), inner.whole, inner.scale, inner.integral)
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
        return _binary(node, exact(node.this, scope), exact(node.expression, scope))
    if isinstance(node, exp.Div):
        return _quotient(node, exact(node.this, scope))
    raise UnsupportedSQL("this is not supported in arithmetic", hint=_HINT, position=position_of(node))


def _literal(node: exp.Literal) -> Exact:
    value = literals.number(node)
    text = format(value, "f")
    whole, _, fraction = text.partition(".")
    return Exact(literals.number_sql(value), len(whole), len(fraction), node.name.isdecimal())


def _column(node: exp.Column, scope: Scope) -> Exact:
    column = scope.resolve(node)
    kind = scope.type_of(column)
    if kind.family is Family.INTEGER:
        return Exact(exp.cast(column, "DECIMAL"), 19, 0, True)
    if kind.family is Family.NUMERIC and kind.precision is not None and kind.scale is not None:
        return Exact(column, max(kind.precision - kind.scale, 1), max(kind.scale, 0), False)
    message = f"arithmetic over {column.name!r} in a condition could fail for some row"
    raise UnsupportedSQL(message, hint=_HINT, position=position_of(node))


def _binary(node: exp.Expr, left: Exact, right: Exact) -> Exact:
    sql = type(node)(this=_wrap(left.sql), expression=_wrap(right.sql))
    integral = left.integral and right.integral
    if isinstance(node, exp.Mul):
        return Exact(sql, left.whole + right.whole, left.scale + right.scale, integral)
    return Exact(sql, max(left.whole, right.whole) + 1, max(left.scale, right.scale), integral)


def _quotient(node: exp.Div, left: Exact) -> Exact:
    """Division by a literal that is not zero; between whole numbers it drops the fraction, as PostgreSQL does."""
    value = divisor(node.expression)
    denominator = literals.number_sql(value)
    whole = left.whole + max(0, -value.adjusted())
    if left.integral and value == value.to_integral_value() and node.expression.name.isdecimal():
        return Exact(exp.IntDiv(this=left.sql, expression=denominator), whole, 0, True)
    return Exact(exp.Div(this=_wrap(left.sql), expression=denominator, typed=True), whole, max(left.scale, 20), False)


def divisor(node: exp.Expr) -> Decimal:
    """The denominator, which must be a literal other than zero."""
    value = literals.number(node) if isinstance(node, exp.Literal) and not node.is_string else Decimal(0)
    if not value:
        hint = "divide by a number, or ask for both sums and divide them"
        raise UnsupportedSQL("division by something that could be zero", hint=hint, position=position_of(node))
    return value


def _wrap(sql: exp.Expr) -> exp.Expr:
    atomic = isinstance(sql, (exp.Column, exp.Literal, exp.Cast, exp.IntDiv))
    return sql if atomic else exp.Paren(this=sql)
