"""Arithmetic: exact decimals with proved digits, and doubles with proved bounds.

PostgreSQL's `int * int` fails on overflow, so whole numbers are computed as numeric, and digits are counted so that
no result outgrows the type. What has no counted digits (double precision, roots, quotients of columns) is computed
from columns that are clamped to their declared ranges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.expressions import intervals
from planner.expressions.coercion import number, of_reals
from planner.expressions.column_ranges import clamp_column
from planner.expressions.intervals import Bounds
from planner.expressions.scalar import Binder, Digits, Measured, Scalar, repeated, unranged, wrap
from planner.sql import literals
from planner.sql.sql_types import REAL, Family, SqlType
from planner.sql.trees import cast_sql, copied

_MAX_DIGITS = 1000
_DOUBLE = SqlType(Family.FLOAT)
_OPERATORS: dict[type[exp.Expr], Callable[[Bounds, Bounds], Bounds]] = {
    exp.Add: intervals.total,
    exp.Sub: lambda left, right: intervals.total(left, intervals.negative(right)),
    exp.Mul: intervals.product,
}

Exact = tuple[exp.Expr, Digits]
"""SQL of a numeric, and its digits."""


def literal(node: exp.Expr) -> Scalar:
    """A numeric literal without its sign, which `negated` adds."""
    value = literals.number(node)
    text = format(value, "f")
    whole, _, fraction = text.partition(".")
    integral = node.name.isdigit()
    digits = Digits(len(whole), len(fraction), integral)

    def clamped() -> Measured:
        sql = cast_sql(literals.canonical_sql(value), "DOUBLE PRECISION")
        return sql, intervals.constant(float(value), integral)

    return Scalar(node, digits.type, literals.number_sql(value), clamped, digits, value)


def combined(node: exp.Expr, left: Scalar, right: Scalar, binder: Binder) -> Scalar:
    """`+`, `-` or `*` of numbers. Raises: UnsupportedSQL for an operand that is no number."""
    left, right = number(left, binder), number(right, binder)
    if left.is_null or right.is_null:
        return null(node)
    exact = _exact_pair(left, right)
    plain = None if exact is None else _exact_result(node, *exact)
    result = computed(node, (left, right), plain, lambda: _clamped_pair(node, left, right))
    return of_reals(left, right, result)


def _exact_pair(left: Scalar, right: Scalar) -> tuple[Exact, Exact] | None:
    a, b = exact_form(left), exact_form(right)
    if a is None or b is None:
        return None
    if _is_literal(b[0]):
        a = as_numeric(a[0]), a[1]
    return a, b


def _is_literal(sql: exp.Expr) -> bool:
    """Is it a literal number, with or without a sign? The database reads whole ones as machine integers."""
    while isinstance(sql, (exp.Neg, exp.Paren)):
        sql = sql.this
    return isinstance(sql, exp.Literal)


def as_numeric(sql: exp.Expr) -> exp.Expr:
    """A literal as numeric: as an integer, 2147483647 + 1 would overflow, and no integer compares with NaN."""
    return cast_sql(sql, "DECIMAL") if _is_literal(sql) else sql


def _exact_result(node: exp.Expr, left: Exact, right: Exact) -> Exact:
    (a, x), (b, y) = left, right
    sql = type(node)(this=wrap(a), expression=wrap(b))
    integral = x.integral and y.integral
    if isinstance(node, exp.Mul):
        return sql, Digits(x.whole + y.whole, x.scale + y.scale, integral)
    return sql, Digits(max(x.whole, y.whole) + 1, max(x.scale, y.scale), integral)


def _clamped_pair(node: exp.Expr, left: Scalar, right: Scalar) -> Measured:
    (a, x), (b, y) = left.measured(), right.measured()
    sql = type(node)(this=wrap(a), expression=wrap(b))
    if x is None or y is None:
        return sql, None
    if isinstance(node, exp.Mul) and a == b:
        return sql, intervals.square(x)
    return sql, _OPERATORS[type(node)](x, y)


def negated(node: exp.Expr, binder: Binder) -> Scalar:
    """`-x`: exact with the digits of x, else a double with the negated bounds of x."""
    inner = number(binder.scalar(node.this), binder)
    if inner.is_null:
        return null(node)
    exact = exact_form(inner)
    plain = None if exact is None else (exp.Neg(this=wrap(exact[0])), exact[1])
    clamped = inner.through(lambda sql: exp.Neg(this=wrap(sql)), intervals.negative)
    value = None if inner.value is None else inner.value.copy_negate() if inner.value else inner.value
    result = computed(node, (inner,), plain, clamped, value)
    return replace(result, type=REAL) if inner.type == REAL else result


def monotone(
    node: exp.Expr, inner: Scalar, sql: Callable[[exp.Expr], exp.Expr], digits: Digits | None,
    bounds: Callable[[Bounds], Bounds], *, total: bool = False,
) -> Scalar:  # fmt: skip
    """A function that rounds, exact and then clamped where digits are known, on doubles otherwise.

    Args:
      sql: writes the function over its argument's SQL.
      digits: of the exact result; None if none are proved.
      bounds: the result's bounds from the argument's.
      total: is the function exact on every number, including NaN and infinities?
    """
    if inner.is_null:
        return null(node)
    exact = exact_form(inner)
    if exact is not None and digits is not None:
        result = sql(as_numeric(exact[0])), digits
        if total:
            return computed(node, (inner,), result, inner.through(sql, bounds))
        return from_exact(node, inner, result, bounds)
    double = on_double(node, inner, sql, bounds)
    return replace(double, plain=sql(inner.sql), type=inner.type) if total and inner.plain is not None else double


def on_double(
    node: exp.Expr, inner: Scalar, sql: Callable[[exp.Expr], exp.Expr], bounds: Callable[[Bounds], Bounds]
) -> Scalar:
    """A function of a clamped double, without an exact form. Division keeps the fraction of its result."""
    if inner.is_null:
        return null(node)
    clamped = inner.through(sql, lambda known: intervals.fractional(bounds(known)))
    result = Scalar(node, _DOUBLE, None, clamped, unranged=inner.unranged)
    if not inner.unranged:
        result.measured()
    return result


def from_exact(node: exp.Expr, inner: Scalar, result: Exact, bounds: Callable[[Bounds], Bounds]) -> Scalar:
    """An exact result, whose clamped form is the same number clamped to bounds from the argument's bounds.

    The clamp is necessary: the exact argument may lie outside of its declared range, so nothing proved of the clamped
    argument holds for it.
    """

    def clamped() -> Measured:
        _, known = inner.measured()
        if known is None:
            return null(node).measured()
        limits = bounds(known)
        kind = SqlType(Family.NUMERIC, None, result[1].scale)
        sql, clamp = clamp_column(repeated(wrap(result[0]), node), kind, limits.lo, limits.hi)
        return sql, Bounds(clamp.lo, clamp.hi, clamp.least, result[1].integral, digits=clamp.digits)

    return computed(node, (inner,), result, clamped)


def computed(
    node: exp.Expr,
    parts: tuple[Scalar, ...],
    exact: Exact | None,
    clamped: Callable[[], Measured],
    value: Decimal | None = None,
) -> Scalar:
    """A number with a clamped form, and an exact form unless it has too many digits.

    Args:
      value: the value, if the operands are literals.
    Raises: UnsupportedSQL for too many digits without declared ranges, which the clamped form needs.
    """
    if exact is None or exact[1].whole + exact[1].scale > _MAX_DIGITS:
        if exact is not None and not unranged(parts):
            exact = None
        elif exact is not None:
            hint = "compare the column itself, or move the arithmetic to the literal's side"
            raise UnsupportedSQL("the result of this arithmetic may have too many digits", hint=hint, at=node)
    if exact is None:
        return Scalar(node, _DOUBLE, None, clamped, unranged=unranged(parts))
    sql, digits = exact
    return Scalar(node, digits.type, sql, clamped, digits, value, unranged=unranged(parts))


def exact_form(part: Scalar) -> Exact | None:
    """The plain form as a numeric, which cannot overflow; None if no digits are proved."""
    if part.plain is None or part.digits is None:
        return None
    return (cast_sql(part.sql, "DECIMAL") if _may_be_integer(part, part.digits) else part.sql), part.digits


def _may_be_integer(part: Scalar, digits: Digits) -> bool:
    """May the database read it as a machine integer? Not if it has a fraction or is computed as numeric.

    A literal may be one, too, but an operation on a literal and a numeric is numeric.
    """
    if isinstance(part.plain, exp.Column):
        return part.type is not None and part.type.family is Family.INTEGER
    choices = (exp.Cast, exp.Case, exp.Coalesce, exp.Nullif, exp.Least, exp.Greatest)
    return digits.scale == 0 and isinstance(part.plain, choices)


def null(node: exp.Expr) -> Scalar:
    """A number that is always NULL."""
    return Scalar(node, None, exp.Null(), lambda: (cast_sql(exp.Null(), "DOUBLE PRECISION"), None))


def whole_number(node: exp.Expr, sql: exp.Expr, low: int, high: int) -> Scalar:
    """An integer expression within [low, high], or NULL."""
    return _within(node, cast_sql(sql, "BIGINT"), intervals.whole(low, high))


def whole_numeric(node: exp.Expr, sql: exp.Expr, low: int, high: int) -> Scalar:
    """A numeric expression within [low, high], or NULL, without a fraction and never NaN."""
    return _within(node, cast_sql(sql, "DECIMAL"), intervals.fractional(intervals.whole(low, high)))


def micros(node: exp.Expr, sql: exp.Expr, low: int, high: int) -> Scalar:
    """A numeric with six decimal digits within [low, high], or NULL, never NaN."""
    return _within(node, sql, Bounds(float(low), float(high), 1e-6, False, digits=6))


def _within(node: exp.Expr, plain: exp.Expr, bounds: Bounds) -> Scalar:
    digits = Digits(len(str(int(bounds.size))), bounds.digits or 0, bounds.integral)
    return Scalar(node, digits.type, plain, lambda: (cast_sql(copied(plain), "DOUBLE PRECISION"), bounds), digits)
