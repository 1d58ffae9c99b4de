"""Numbers of public rows: as they stand, since nothing is added to them that a bound would have to know.

Exact decimals stay exact while their digits can be counted; everything else is double precision. Where a function
has no value the result is NULL, in every database: of a quotient by zero, as in released arithmetic; of the root
or logarithm of what has none; of an exponential beyond the doubles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.expressions import arithmetic, casts
from planner.expressions.calls import math_functions
from planner.expressions.coercion import number, whole_literal
from planner.expressions.intervals import Bounds
from planner.expressions.reals import rounded
from planner.expressions.scalar import Binder, Digits, Scalar, repeated, wrap
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import REAL, Family, SqlType, sql_type
from planner.sql.trees import copied, position_of

_DOUBLE = SqlType(Family.FLOAT)
_ANY = Bounds(-1e15, 1e15, 1e-15, integral=False)
"""Stands where the private way needs a proof, and makes no difference to the SQL."""
_EXPONENT = 700


def as_it_stands(scalar: Scalar) -> Scalar:
    """A scalar whose every form is its plain one: columns are not clamped, and no range is asked for."""
    if scalar.type is None or not scalar.type.is_number:
        return scalar
    kind = scalar.type
    sql = scalar.plain
    if sql is None:
        kind, sql = REAL if kind == REAL else _DOUBLE, scalar.measured()[0]
    return replace(
        scalar, type=kind, plain=sql, clamped=lambda: (cast_sql(copied(sql), "DOUBLE PRECISION"), _ANY), unranged=()
    )


def typed(node: exp.Expr, kind: SqlType, sql: exp.Expr, digits: Digits | None = None) -> Scalar:
    """An expression of known type.

    Args:
      node: the construct as written.
      kind: its type.
      sql: its SQL.
      digits: of a number, where they are known.
    """
    return as_it_stands(Scalar(node, kind, sql, lambda: arithmetic.null(node).measured(), digits))


def double(node: exp.Expr, sql: exp.Expr) -> Scalar:
    """A bound scalar of type double precision from its SQL."""
    return typed(node, _DOUBLE, sql)


def as_double(part: Scalar) -> exp.Expr:
    """A number as a double."""
    return cast_sql(part.sql, "DOUBLE PRECISION")


def quotient(node: exp.Expr, binder: Binder) -> Scalar:
    """`x / y`: between whole numbers the fraction is dropped, as PostgreSQL does; otherwise a double."""
    left, right = (number(binder.scalar(part), binder) for part in (node.this, node.args["expression"]))
    if left.is_null or right.is_null:
        return arithmetic.null(node)
    exact, divisor = arithmetic.exact_form(left), arithmetic.exact_form(right)
    if exact is not None and divisor is not None and exact[1].integral and divisor[1].integral:
        sql = exp.IntDiv(this=exact[0], expression=_nonzero(divisor[0], right))
        digits = Digits(exact[1].whole, 0, True)
        return typed(node, digits.type, sql, digits)
    found = divided(left, right)
    return typed(node, REAL, rounded(found, node)) if left.type == right.type == REAL else double(node, found)


def divided(left: Scalar, right: Scalar) -> exp.Expr:
    """A quotient of numbers as doubles, NULL where the divisor is zero."""
    return exp.Div(this=wrap(as_double(left)), expression=_nonzero(as_double(right), right), typed=True)


def _nonzero(sql: exp.Expr, divisor: Scalar) -> exp.Expr:
    """The divisor, NULL where it is zero."""
    return wrap(sql) if divisor.value else exp.Nullif(this=sql, expression=exp.Literal.number(0))


def remainder(node: exp.Expr, binder: Binder) -> Scalar:
    """`mod(x, y)`, `x % y` of exact numbers; it has the sign of x. Raises: UnsupportedSQL."""
    left, right = (number(binder.scalar(part), binder) for part in (node.this, node.args["expression"]))
    if left.is_null or right.is_null:
        return arithmetic.null(node)
    a, b = arithmetic.exact_form(left), arithmetic.exact_form(right)
    if a is None or b is None:
        hint = "use columns of a whole or numeric type"
        raise UnsupportedSQL("a remainder of a floating point number", hint=hint, position=position_of(node))
    digits = Digits(b[1].whole, max(a[1].scale, b[1].scale), a[1].integral and b[1].integral)
    sql = exp.Mod(this=wrap(a[0]), expression=_nonzero(b[0], right))
    return typed(node, digits.type, sql, digits)


def square_root(node: exp.Expr, binder: Binder) -> Scalar:
    """`sqrt(x)`, NULL where x is negative."""
    return _where(node, node.this, binder, lambda x: exp.GTE(this=x, expression=_zero()), lambda x: exp.Sqrt(this=x))


def exponential(node: exp.Expr, binder: Binder) -> Scalar:
    """`exp(x)`, NULL where x lies outside of -700 to 700."""
    low, high = (cast_sql(exp.Literal.string(str(end)), "DOUBLE PRECISION") for end in (-_EXPONENT, _EXPONENT))
    return _where(
        node, node.this, binder, lambda x: exp.Between(this=x, low=low, high=high), lambda x: exp.Exp(this=x)
    )


def logarithm(node: exp.Expr, binder: Binder) -> Scalar:
    """ln(x); log(x) and log10(x), of base 10."""
    argument = node.args.get("expression") or node.this
    if node.args.get("expression") is not None:
        whole_literal(node.this, 10, 10)

    def sql(x: exp.Expr) -> exp.Expr:
        natural = exp.Ln(this=x)
        if isinstance(node, exp.Ln):
            return natural
        ten = cast_sql(exp.Literal.number(10), "DOUBLE PRECISION")
        return exp.Div(this=natural, expression=exp.Ln(this=ten), typed=True)

    return _where(node, argument, binder, lambda x: exp.GT(this=x, expression=_zero()), sql)


def _where(
    node: exp.Expr,
    argument: exp.Expr,
    binder: Binder,
    holds: Callable[[exp.Expr], exp.Expr],
    sql: Callable[[exp.Expr], exp.Expr],
) -> Scalar:
    """A function of a double where a condition on it holds, NULL elsewhere."""
    inner = number(binder.scalar(argument), binder)
    if inner.is_null:
        return arithmetic.null(node)
    x = repeated(as_double(inner), node)
    return double(node, exp.Case(ifs=[exp.If(this=holds(copied(x)), true=sql(x))]))


def _zero() -> exp.Expr:
    return cast_sql(exp.Literal.number(0), "DOUBLE PRECISION")


def cast(node: exp.Expr, binder: Binder) -> Scalar:
    """As `planner.expressions.casts.cast`; the text of a date or time is the database's own, of every year."""
    part = binder.scalar(node.this)
    moment = part.type is not None and part.type.is_moment and isinstance(part.plain, exp.Column)
    target = sql_type(node.args["to"].sql("postgres").lower())
    if moment and target == SqlType(Family.TEXT):
        return typed(node, target, cast_sql(part.sql, "TEXT"))
    return casts.cast(node, binder)


def round_numeric(node: exp.Expr, binder: Binder) -> Scalar:
    """As `planner.expressions.calls.math_functions.rounded`; of a numeric without a scale all digits are kept."""
    inner = number(binder.scalar(node.this), binder)
    exact = inner.type is not None and inner.type.family is Family.NUMERIC and inner.digits is None
    if not exact or not isinstance(node, exp.Round):
        return math_functions.rounded(node, binder)
    places = node.args.get("decimals")
    count = 0 if places is None else whole_literal(places, -_MOST_PLACES, _MOST_PLACES)
    literal = exp.Literal.number(abs(count))
    decimals = literal if count >= 0 else exp.Neg(this=literal)
    return typed(node, SqlType(Family.NUMERIC), exp.Round(this=inner.sql, decimals=decimals))


_MOST_PLACES = 30

HANDLERS: dict[type[exp.Expr], Callable[[exp.Expr, Binder], Scalar]] = {
    exp.Cast: cast,
    exp.Div: quotient,
    exp.Mod: remainder,
    exp.Round: round_numeric,
    exp.Sqrt: square_root,
    exp.Exp: exponential,
    exp.Ln: logarithm,
    exp.Log: logarithm,
}
"""What takes the place of `planner.expressions.functions`: there it wants a proof that no row makes it fail."""
