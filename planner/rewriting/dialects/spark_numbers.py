"""Numbers for Spark: doubles as they are, decimals within its 38 digits, and nothing that fails for a row.

Spark fails, where PostgreSQL's questions are guarded otherwise, for a quotient by zero, for a whole number beyond its
type, and for FLOOR of a double beyond a bigint. EXP, LN and powers are refused: Java's last digit is not the C
library's.
"""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects.duckdb_and_spark import (
    Handlers,
    Typed,
    Write,
    as_decimal,
    as_double,
    as_exact,
    bucket_sides,
    exact_sum,
    exact_type,
    floating,
    numeric,
    places_of,
    rounded_type,
)
from planner.rewriting.dialects.spark_casts import SHARED, call, double, moment_plus, number, try_cast
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import cast_sql

_EXACT = (Family.INTEGER, Family.NUMERIC)
_WHOLE_DOUBLES = str(1 << 53)
"""From here on every double is a whole number, infinity and NaN besides."""


def _arithmetic(node: exp.Expr, write: Write) -> Typed:
    if isinstance(node.args["expression"], exp.Interval) or isinstance(node.this, exp.Interval):
        return moment_plus(node, write)
    left, right = write(node.this), write(node.args["expression"])
    families = (left.type.family, right.type.family)
    if Family.DATE in families:
        return _days(node, left, right)
    if Family.FLOAT in families and all(side.type.is_number for side in (left, right)):
        return floating(type(node)(this=as_double(left), expression=as_double(right)))
    if not all(family in _EXACT for family in families):
        raise UnsupportedSQL("arithmetic with this type is not supported on Spark")
    kind = exact_sum(left, right, node)
    return Typed(type(node)(this=as_exact(left), expression=as_exact(right)), kind)


def _days(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """date - date is a number of days; date + days is a date. Neither fails: both are sums of 32 bits."""
    if isinstance(node, exp.Sub) and left.type.family is right.type.family:
        return Typed(call("DATEDIFF", left.sql, right.sql), SqlType(Family.INTEGER, 10))
    day, days = (left, right) if left.type.family is Family.DATE else (right, left)
    fits = days.type.family is Family.INTEGER or (days.is_literal and days.whole <= 7 and not days.scale)
    if not fits or not isinstance(node, exp.Add | exp.Sub) or (isinstance(node, exp.Sub) and day is right):
        raise UnsupportedSQL("this arithmetic with dates is not supported on Spark")
    name = "DATE_SUB" if isinstance(node, exp.Sub) else "DATE_ADD"
    return Typed(call(name, day.sql, try_cast(days.sql, "INT")), SqlType(Family.DATE))


def _quotient(node: exp.Expr, write: Write) -> Typed:
    left, right = write(node.this), write(node.args["expression"])
    if Family.FLOAT not in (left.type.family, right.type.family):
        hint = "divide by a double precision, x / 1000::double precision; of a comparison multiply the other side"
        raise UnsupportedSQL("Spark does not divide decimals exactly", hint=hint)
    if right.is_literal and Decimal(right.sql.sql()):
        return floating(exp.Div(this=as_double(left), expression=as_double(right), typed=True))
    return floating(call("TRY_DIVIDE", as_double(left), as_double(right)))


def _whole_quotient(node: exp.Expr, write: Write) -> Typed:
    """PostgreSQL's quotient of integers and Spark's DIV drop the fraction; that by -1 may be no bigint."""
    left, right = write(node.this), write(node.args["expression"])
    if not all(_fits_bigint(side) for side in (left, right)):
        raise UnsupportedSQL("this whole quotient is not supported on Spark", hint="divide integers")
    kind = exact_type(left.whole, 0)
    sides = [cast_sql(side.sql, "BIGINT") for side in (left, right)]
    if right.is_literal and int(right.sql.sql()) > 0:
        return Typed(as_decimal(exp.Paren(this=exp.IntDiv(this=sides[0], expression=sides[1])), kind), kind)
    known = call("NULLIF", sides[1], number(0))
    negative = exp.Neg(this=as_decimal(left.sql.copy(), kind))
    quotient = as_decimal(exp.Paren(this=exp.IntDiv(this=sides[0], expression=known)), kind)
    by_minus_one = exp.EQ(this=sides[1].copy(), expression=exp.Neg(this=number(1)))
    return Typed(exp.Case().when(by_minus_one, negative, copy=False).else_(quotient, copy=False), kind)


def _fits_bigint(side: Typed) -> bool:
    return side.type.family in _EXACT and not side.scale and (side.type.family is Family.INTEGER or side.whole <= 18)


def _remainder(node: exp.Expr, write: Write) -> Typed:
    left, right = write(node.this), write(node.args["expression"])
    if not all(side.type.family in _EXACT for side in (left, right)):
        raise UnsupportedSQL("a remainder of this type is not supported on Spark")
    kind = exact_type(max(left.whole, right.whole), max(left.scale, right.scale))
    return Typed(call("TRY_MOD", as_decimal(left.sql, kind), as_decimal(right.sql, kind)), kind)


def _absolute(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    kind = numeric(inner.whole, inner.scale) if inner.type.family is Family.INTEGER else inner.type
    return Typed(call("ABS", SHARED.computable(inner)), kind)


def _sign(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    sign = call("SIGN", inner.sql if inner.type.family is Family.FLOAT else as_exact(inner))
    if inner.type.family is Family.FLOAT:
        nan = exp.EQ(this=inner.sql.copy(), expression=double("NaN"))
        return floating(exp.Case().when(nan, double("0"), copy=False).else_(sign, copy=False))
    return Typed(cast_sql(sign, "INT"), SqlType(Family.INTEGER, 1))


def _rounded(node: exp.Expr, write: Write) -> Typed:
    """FLOOR, CEIL, TRUNC of a double; of a decimal these and ROUND, halves away from zero in both databases."""
    buckets = bucket_sides(node, write)
    if buckets is not None:
        sides, kind = buckets
        return Typed(as_decimal(_whole_double(node, call("TRY_DIVIDE", *sides)), kind), kind)
    inner = write(node.this)
    if inner.type.family is Family.FLOAT:
        if node.args.get("decimals") is not None or isinstance(node, exp.Round):
            raise UnsupportedSQL("this rounding of a double is not supported on Spark")
        return floating(_whole_double(node, inner.sql))
    if inner.type.family not in _EXACT:
        raise UnsupportedSQL("rounding of this type is not supported on Spark")
    places = places_of(node)
    if isinstance(node, exp.Trunc):
        return SHARED.cut(inner, places)
    kind = rounded_type(inner, places)
    arguments = [as_exact(inner), *([] if not isinstance(node, exp.Round) else [number(places)])]
    name = {exp.Floor: "FLOOR", exp.Ceil: "CEIL"}.get(type(node), "ROUND")  # type: ignore[arg-type]
    return Typed(as_decimal(call(name, *arguments), kind), kind)


def _whole_double(node: exp.Expr, inner: exp.Expr) -> exp.Expr:
    """FLOOR, CEIL or TRUNC, which are bigints in Spark: of doubles that have a fraction; others are whole already."""

    def by(name: str) -> exp.Expr:
        return cast_sql(call(name, inner.copy()), "DOUBLE")

    if isinstance(node, exp.Trunc):
        below = exp.LT(this=inner.copy(), expression=double("0"))
        cut: exp.Expr = exp.Case().when(below, by("CEIL"), copy=False).else_(by("FLOOR"), copy=False)
    else:
        cut = by("FLOOR" if isinstance(node, exp.Floor) else "CEIL")
    small = exp.LT(this=call("ABS", inner.copy()), expression=double(_WHOLE_DOUBLES))
    return exp.Case().when(small, cut, copy=False).else_(inner.copy(), copy=False)


def _root(node: exp.Expr, write: Write) -> Typed:
    """Rounded correctly, as IEEE 754 asks, on every machine; of a negative number it is NaN here, and guarded."""
    return floating(call("SQRT", as_double(write(node.this))))


NUMBERS: Handlers = {
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul), _arithmetic),
    **dict.fromkeys((exp.Floor, exp.Ceil, exp.Trunc, exp.Round), _rounded),
    exp.Div: _quotient,
    exp.IntDiv: _whole_quotient,
    exp.Mod: _remainder,
    exp.Abs: _absolute,
    exp.Sign: _sign,
    exp.Sqrt: _root,
}
