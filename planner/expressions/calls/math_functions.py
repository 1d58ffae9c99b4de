"""Functions of one number: each total on every number, or on the interval that is proved of its argument."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from planner.errors import SensitivityUnbounded
from planner.expressions import arithmetic, intervals
from planner.expressions.coercion import number, whole_literal
from planner.expressions.intervals import Bounds
from planner.expressions.scalar import Binder, Digits, Measured, Scalar, repeated, wrap
from planner.sql.literals import number_sql
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family
from planner.sql.trees import copied, position_of

_MOST_DIGITS = 12
_MOST_POWER = 16
_LEAST_EXPONENT = -600.0


def absolute(node: exp.Expr, binder: Binder) -> Scalar:
    """`abs(x)`: as many digits as x, and never negative."""
    inner = number(binder.scalar(node.this), binder)
    return arithmetic.everywhere(node, inner, lambda sql: exp.Abs(this=sql), inner.digits, intervals.absolute)


def sign(node: exp.Expr, binder: Binder) -> Scalar:
    """`sign(x)`: -1, 0 or 1."""
    inner = number(binder.scalar(node.this), binder)
    digits = inner.digits and Digits(1, 0, False)
    return arithmetic.everywhere(node, inner, lambda sql: exp.Sign(this=sql), digits, intervals.sign)


def ceiling(node: exp.Expr, binder: Binder) -> Scalar:
    """`floor(x)` and `ceil(x)`: one digit more than x before the point, none behind it."""
    inner = number(binder.scalar(node.this), binder)
    digits = inner.digits and Digits(inner.digits.whole + 1, 0, False)
    return arithmetic.monotone(node, inner, lambda sql: type(node)(this=sql), digits, intervals.rounded)


def rounded(node: exp.Expr, binder: Binder) -> Scalar:
    """round(x), round(x, n), trunc(x), trunc(x, n), n a literal.

    As in PostgreSQL halves are rounded away from zero, but for round(double), which rounds them to even.
    """
    inner = number(binder.scalar(node.this), binder)
    places = node.args.get("decimals")
    count = 0 if places is None else whole_literal(places, -_MOST_DIGITS, _MOST_DIGITS)
    known = inner.digits
    digits = known and Digits(max(known.whole, -count) + 1, min(known.scale, max(count, 0)), False)

    def sql(argument: exp.Expr) -> exp.Expr:
        if digits is None:
            double = inner.type is not None and inner.type.family is Family.FLOAT
            to_even = double and not count and isinstance(node, exp.Round)
            return _half_even(node, argument) if to_even else _scaled(node, argument, count)
        literal = exp.Literal.number(abs(count))
        return type(node)(this=argument, decimals=literal if count >= 0 else exp.Neg(this=literal))

    limits = intervals.rounded_double if digits is None else intervals.rounded
    return arithmetic.monotone(node, inner, sql, digits, lambda bounds: limits(bounds, count))


def _half_even(node: exp.Expr, argument: exp.Expr) -> exp.Expr:
    """FLOOR(x / 2 + 0.25) + CEIL(x / 2 - 0.25), which every engine computes alike."""
    half = exp.Div(this=wrap(repeated(argument, node)), expression=exp.Literal.number(2), typed=True)
    quarter = exp.cast(exp.Literal.number("0.25"), "DOUBLE PRECISION")
    floor = exp.Floor(this=exp.Add(this=half, expression=quarter))
    return exp.Add(this=floor, expression=exp.Ceil(this=exp.Sub(this=copied(half), expression=copied(quarter))))


def _scaled(node: exp.Expr, argument: exp.Expr, count: int) -> exp.Expr:
    """By whole numbers of 10^-n: engines differ on a double's halves, and have no ROUND of a double to n digits."""
    scale = number_sql(Decimal(10) ** abs(count))
    scaled: exp.Expr = wrap(argument)
    if count > 0:
        scaled = exp.Paren(this=exp.Mul(this=scaled, expression=copied(scale)))
    elif count < 0:
        scaled = exp.Paren(this=exp.Div(this=scaled, expression=copied(scale), typed=True))
    if isinstance(node, exp.Trunc):
        whole: exp.Expr = exp.Trunc(this=scaled)
    else:
        repeated(scaled, node)
        half = exp.Add(this=exp.Abs(this=scaled), expression=cast_sql(exp.Literal.number("0.5"), "DOUBLE PRECISION"))
        whole = exp.Mul(this=exp.Sign(this=copied(scaled)), expression=exp.Floor(this=half))
    if count > 0:
        return exp.Div(this=wrap(whole), expression=scale, typed=True)
    return exp.Mul(this=wrap(whole), expression=scale) if count < 0 else whole


def power(node: exp.Expr, binder: Binder) -> Scalar:
    """power(x, n), x ^ n: n a literal from 0 to 16."""
    inner = number(binder.scalar(node.this), binder)
    count = whole_literal(node.args["expression"], 0, _MOST_POWER)
    two = cast_sql(exp.Literal.number(count), "DOUBLE PRECISION")

    def bounds(known: Bounds) -> Bounds:
        return intervals.power(known, count) if count else intervals.constant(1.0, known.integral)

    return arithmetic.on_double(node, inner, lambda sql: exp.Pow(this=sql, expression=two), bounds)


def square_root(node: exp.Expr, binder: Binder) -> Scalar:
    """sqrt(x), x proved not to be negative."""
    inner = number(binder.scalar(node.this), binder)

    def bounds(known: Bounds) -> Bounds:
        if known.lo < 0:
            hint = "write sqrt(abs(x)) or sqrt(greatest(x, 0)), or ask the custodian for a range above zero"
            raise SensitivityUnbounded("the root of what could be negative", hint=hint, position=position_of(node))
        return intervals.square_root(known)

    return arithmetic.on_double(node, inner, lambda sql: exp.Sqrt(this=sql), bounds)


def logarithm(node: exp.Expr, binder: Binder) -> Scalar:
    """ln(x), and log(x), log10(x) of base 10; x proved to be positive."""
    argument = node.this if node.args.get("expression") is None else node.args["expression"]
    inner = number(binder.scalar(argument), binder)
    natural = isinstance(node, exp.Ln)
    if node.args.get("expression") is not None:
        whole_literal(node.this, 10, 10)

    def bounds(known: Bounds) -> Bounds:
        if known.lo < 0 or not known.divides:
            hint = "write ln(greatest(x, 1)), or ask the custodian for a range above zero"
            raise SensitivityUnbounded("a logarithm of what could be zero", hint=hint, position=position_of(node))
        return intervals.logarithm(known, math.e if natural else 10.0)

    def sql(double: exp.Expr) -> exp.Expr:
        if natural:
            return exp.Ln(this=double)
        ten = cast_sql(exp.Literal.number(repr(math.log(10.0))), "DOUBLE PRECISION")
        return exp.Div(this=exp.Ln(this=double), expression=ten, typed=True)

    return arithmetic.on_double(node, inner, sql, bounds)


def exponential(node: exp.Expr, binder: Binder) -> Scalar:
    """exp(x), x proved to be small enough; below -600 it is e^-600, since PostgreSQL raises on underflow."""
    inner = number(binder.scalar(node.this), binder)
    if inner.is_null:
        return arithmetic.null(node)

    def raised() -> Measured:
        sql, known = inner.measured()
        if known is None or known.lo >= _LEAST_EXPONENT:
            return sql, known
        least = number_sql(Decimal(_LEAST_EXPONENT))
        above = exp.GT(this=wrap(repeated(sql, node)), expression=least)
        below = exp.LTE(this=wrap(copied(sql)), expression=copied(least))
        case = exp.Case().when(above, copied(sql), copy=False).when(below, copied(least), copy=False)
        return case, intervals.raised(known, _LEAST_EXPONENT)

    return arithmetic.on_double(
        node, replace(inner, clamped=raised), lambda sql: exp.Exp(this=sql), intervals.exponential
    )
