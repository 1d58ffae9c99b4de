"""`/` and `%`: quotients and remainders, of divisors that are proved not to be zero."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.expressions import arithmetic, intervals
from planner.expressions.coercion import number
from planner.expressions.reals import of_reals
from planner.expressions.scalar import Binder, Digits, Measured, Scalar, wrap
from planner.sql import literals
from planner.sql.trees import position_of

_MAX_SCALE = 1000
"""Digits after the point of a quotient, at most."""


def quotient(node: exp.Expr, binder: Binder) -> Scalar:
    """`x / y`, y proved not to be zero: a literal, NULLIF(y, 0), or an interval that leaves zero out.

    Between whole numbers the fraction is dropped, as PostgreSQL does.

    Raises: UnsupportedSQL for a divisor that could be zero.
    """
    assert isinstance(node, exp.Binary)
    left, right = number(binder.scalar(node.left), binder), number(binder.scalar(node.right), binder)
    if left.is_null or right.is_null:
        return arithmetic.null(node)
    plain = None
    exact = arithmetic.exact_form(left)
    if right.value is not None and exact is not None and right.digits is not None and right.value:
        plain = _exact_quotient(exact, right.value, right.digits)
    if right.value == 0:
        raise _could_be_zero(node.right)

    def clamped() -> Measured:
        (a, x), (b, y) = left.measured(), right.measured()
        if y is not None and not y.divides:
            raise _could_be_zero(node.right)
        divisor = b if right.value is None else wrap(literals.canonical_sql(right.value))
        sql: exp.Expr = exp.Div(this=wrap(a), expression=wrap(divisor), typed=True)
        if x is None or y is None:
            return sql, None
        bounds = intervals.quotient(x, y)
        if x.integral and y.integral:
            return exp.Trunc(this=sql), intervals.truncated(bounds)
        return sql, bounds

    result = arithmetic.computed(node, (left, right), plain, clamped)
    result = of_reals(left, right, result)
    if plain is None and not result.unranged:
        result.measured()
    return result


def _could_be_zero(node: exp.Expr) -> UnsupportedSQL:
    hint = "write x / NULLIF(y, 0), or ask for both sums and divide them"
    return UnsupportedSQL("division by something that could be zero", hint=hint, position=position_of(node))


def _exact_quotient(left: arithmetic.Exact, value: Decimal, divisor: Digits) -> arithmetic.Exact:
    sql, digits = left
    denominator = literals.number_sql(value)
    whole = digits.whole + max(0, -value.adjusted())
    if digits.integral and divisor.integral:
        return exp.IntDiv(this=sql, expression=denominator), Digits(whole, 0, True)
    quotient_sql = exp.Div(this=wrap(arithmetic.as_numeric(sql)), expression=wrap(denominator), typed=True)
    return quotient_sql, Digits(whole, _quotient_scale(digits, value, divisor), False)


def _quotient_scale(left: Digits, value: Decimal, divisor: Digits) -> int:
    """The most digits after the point that PostgreSQL gives `x / value`: at least 16 significant ones.

    Source: select_div_scale in numeric.c, for the smallest x other than 0; its digits come in fours.
    """
    first = value.adjusted() // 4 - -left.scale // 4 + 1
    return min(max(16 + 4 * first, left.scale, divisor.scale, 0), _MAX_SCALE)


def remainder(node: exp.Expr, binder: Binder) -> Scalar:
    """`mod(x, m)` and `x % m`, m a literal other than zero; it has the sign of x. Raises: UnsupportedSQL."""
    assert isinstance(node, exp.Binary)
    left, right = number(binder.scalar(node.left), binder), number(binder.scalar(node.right), binder)
    exact = arithmetic.exact_form(left)
    if not right.value or right.digits is None:
        hint = "write a number other than 0 after it"
        raise UnsupportedSQL("a remainder by something that is not a literal", hint=hint, position=position_of(node))
    if exact is None:
        hint = "use a column of a whole or numeric type"
        raise UnsupportedSQL("a remainder of a floating point number", hint=hint, position=position_of(node))
    sql, digits = arithmetic.as_numeric(exact[0]), exact[1]
    scale = max(digits.scale, right.digits.scale)
    integral = digits.integral and right.digits.integral
    result = exp.Mod(this=wrap(sql), expression=wrap(right.sql)), Digits(right.digits.whole, scale, integral)
    most = abs(float(right.value)) - (1.0 if scale == 0 else 0.0)
    return arithmetic.from_exact(node, left, result, lambda inner: intervals.remainder(inner, most))
