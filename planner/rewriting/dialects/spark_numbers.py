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
    Handler,
    Typed,
    Write,
    as_double,
    as_exact,
    exact_type,
    literal,
    numeric,
)
from planner.rewriting.dialects.spark_casts import call, double, moment_plus, number, try_cast
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import cast_sql

_DOUBLE = SqlType(Family.FLOAT)
_EXACT = (Family.INTEGER, Family.NUMERIC)
_WHOLE_DOUBLES = str(1 << 53)
"""From here on every double is a whole number, infinity and NaN besides."""


def _double(sql: exp.Expr) -> Typed:
    return Typed(sql, _DOUBLE)


def _arithmetic(node: exp.Expr, write: Write) -> Typed:
    if isinstance(node.args["expression"], exp.Interval) or isinstance(node.this, exp.Interval):
        return moment_plus(node, write)
    left, right = write(node.this), write(node.args["expression"])
    families = (left.type.family, right.type.family)
    if Family.DATE in families:
        return _days(node, left, right)
    if Family.FLOAT in families and all(side.type.is_number for side in (left, right)):
        return _double(type(node)(this=as_double(left), expression=as_double(right)))
    if not all(family in _EXACT for family in families):
        raise UnsupportedSQL("arithmetic with this type is not supported on Spark")
    if isinstance(node, exp.Mul):
        kind = exact_type(left.whole + right.whole, left.scale + right.scale)
    else:
        kind = exact_type(max(left.whole, right.whole) + 1, max(left.scale, right.scale))
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
        return _double(exp.Div(this=as_double(left), expression=as_double(right), typed=True))
    return _double(call("TRY_DIVIDE", as_double(left), as_double(right)))


def _whole_quotient(node: exp.Expr, write: Write) -> Typed:
    """PostgreSQL's quotient of integers and Spark's DIV drop the fraction; that by -1 may be no bigint."""
    left, right = write(node.this), write(node.args["expression"])
    if not all(_fits_bigint(side) for side in (left, right)):
        raise UnsupportedSQL("this whole quotient is not supported on Spark", hint="divide integers")
    kind = exact_type(left.whole, 0)
    sides = [cast_sql(side.sql, "BIGINT") for side in (left, right)]
    if right.is_literal and int(right.sql.sql()) > 0:
        return Typed(_decimal(exp.Paren(this=exp.IntDiv(this=sides[0], expression=sides[1])), kind), kind)
    known = call("NULLIF", sides[1], number(0))
    negative = exp.Neg(this=_decimal(left.sql.copy(), kind))
    quotient = _decimal(exp.Paren(this=exp.IntDiv(this=sides[0], expression=known)), kind)
    by_minus_one = exp.EQ(this=sides[1].copy(), expression=exp.Neg(this=number(1)))
    return Typed(exp.Case().when(by_minus_one, negative, copy=False).else_(quotient, copy=False), kind)


def _fits_bigint(side: Typed) -> bool:
    return side.type.family in _EXACT and not side.scale and (side.type.family is Family.INTEGER or side.whole <= 18)


def _remainder(node: exp.Expr, write: Write) -> Typed:
    left, right = write(node.this), write(node.args["expression"])
    if not all(side.type.family in _EXACT for side in (left, right)):
        raise UnsupportedSQL("a remainder of this type is not supported on Spark")
    kind = exact_type(max(left.whole, right.whole), max(left.scale, right.scale))
    return Typed(call("TRY_MOD", _decimal(left.sql, kind), _decimal(right.sql, kind)), kind)


def _negated(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    return Typed(exp.Neg(this=inner.sql if inner.is_literal else _computable(inner)), inner.type)


def _absolute(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    kind = numeric(inner.whole, inner.scale) if inner.type.family is Family.INTEGER else inner.type
    return Typed(call("ABS", _computable(inner)), kind)


def _sign(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    sign = call("SIGN", inner.sql if inner.type.family is Family.FLOAT else as_exact(inner))
    if inner.type.family is Family.FLOAT:
        nan = exp.EQ(this=inner.sql.copy(), expression=double("NaN"))
        return _double(exp.Case().when(nan, double("0"), copy=False).else_(sign, copy=False))
    return Typed(cast_sql(sign, "INT"), SqlType(Family.INTEGER, 1))


def _rounded(node: exp.Expr, write: Write) -> Typed:
    """FLOOR, CEIL, TRUNC of a double; of a decimal these and ROUND, halves away from zero in both databases."""
    places = node.args.get("decimals")
    buckets = _buckets(node, write) if places is None else None
    if buckets is not None:
        return buckets
    inner = write(node.this)
    if inner.type.family is Family.FLOAT:
        if places is not None or isinstance(node, exp.Round):
            raise UnsupportedSQL("this rounding of a double is not supported on Spark")
        return _double(_whole_double(node, inner.sql))
    if inner.type.family not in _EXACT:
        raise UnsupportedSQL("rounding of this type is not supported on Spark")
    count = 0 if places is None else -int(places.this.name) if isinstance(places, exp.Neg) else int(places.name)
    if isinstance(node, exp.Trunc):
        return _cut(inner, count)
    kind = exact_type(max(inner.whole, -count) + 1, min(max(count, 0), inner.scale))
    arguments = [as_exact(inner), *([] if not isinstance(node, exp.Round) else [number(count)])]
    name = {exp.Floor: "FLOOR", exp.Ceil: "CEIL"}.get(type(node), "ROUND")  # type: ignore[arg-type]
    return Typed(_decimal(call(name, *arguments), kind), kind)


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


def _buckets(node: exp.Expr, write: Write) -> Typed | None:
    """FLOOR(x / n) and its kin of whole numbers, as on DuckDB; None for anything else."""
    quotient = node.this.unnest()
    if isinstance(node, exp.Round) or not isinstance(quotient, exp.Div):
        return None
    left, right = write(quotient.this), write(quotient.args["expression"])
    exact = all(side.type.family in _EXACT and not side.scale for side in (left, right))
    if not exact or max(left.whole, right.whole) > _DOUBLE_DIGITS:
        return None
    kind = exact_type(left.whole + 1, 0)
    sides = [cast_sql(side.sql, "DOUBLE") for side in (left, right)]
    return Typed(_decimal(_whole_double(node, call("TRY_DIVIDE", *sides)), kind), kind)


_DOUBLE_DIGITS = 15
"""Whole numbers of as many digits are doubles."""


def _cut(value: Typed, count: int) -> Typed:
    """trunc(x, n) is x less its remainder by 10^-n."""
    unit = literal(exp.Literal.number(format(Decimal(10) ** -count, "f")))
    kind = exact_type(max(value.whole, unit.whole), max(value.scale, unit.scale))
    remainder = call("TRY_MOD", _decimal(value.sql.copy(), kind), _decimal(unit.sql, kind))
    return Typed(exp.Paren(this=exp.Sub(this=as_exact(value), expression=remainder)), kind)


def _root(node: exp.Expr, write: Write) -> Typed:
    """Rounded correctly, as IEEE 754 asks, on every machine; of a negative number it is NaN here, and guarded."""
    return _double(call("SQRT", as_double(write(node.this))))


def _computable(value: Typed) -> exp.Expr:
    """As a type whose negative exists for every value: the least bigint has none."""
    if value.type.family not in (*_EXACT, Family.FLOAT):
        raise UnsupportedSQL("arithmetic with this type is not supported on Spark")
    return as_exact(value) if value.type.family in _EXACT else value.sql


def _decimal(sql: exp.Expr, kind: SqlType) -> exp.Expr:
    return cast_sql(sql, f"DECIMAL({kind.precision}, {kind.scale})")


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Add: _arithmetic,
    exp.Sub: _arithmetic,
    exp.Mul: _arithmetic,
    exp.Div: _quotient,
    exp.IntDiv: _whole_quotient,
    exp.Mod: _remainder,
    exp.Neg: _negated,
    exp.Abs: _absolute,
    exp.Sign: _sign,
    exp.Floor: _rounded,
    exp.Ceil: _rounded,
    exp.Trunc: _rounded,
    exp.Round: _rounded,
    exp.Sqrt: _root,
}
