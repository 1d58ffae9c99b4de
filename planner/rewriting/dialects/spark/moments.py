"""Dates and times for Spark, whose timestamps are 64 bits of microseconds: beyond them a moment is unknown.

`TIMESTAMP` is a timestamp without time zone, as the session's settings say; functions of timestamps take one with a
time zone, which is UTC. Between the two nothing is lost. Fields and steps that are not listed are refused, and so are
other time zones, and what is computed with timestamps that have one.
"""

from __future__ import annotations

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects.exact_digits import Handler, Typed, Write
from planner.rewriting.dialects.spark.calls import call, number, where_known
from planner.sql.sql_nodes import cast_sql, has_fraction
from planner.sql.sql_types import Family, SqlType

_MOMENT = SqlType(Family.TIMESTAMP)
_DAYS = 106_751_990
"""More days before or after 1970 no timestamp of Spark has."""

_MICROS_PER_DAY = 86_400_000_000
_MOST_MICROS = 9_190_000_000_000_000_000
"""Of these, the year's beginning is a timestamp, too: a thousand years are left."""

_FIELDS = {"YEAR": "YEAR", "QUARTER": "QUARTER", "MONTH": "MONTH", "DAY": "DAY", "WEEK": "WEEK", "DOY": "DOY",
           "ISODOW": "DAYOFWEEK_ISO", "ISOYEAR": "YEAROFWEEK"}  # fmt: skip
_TIMES = {"HOUR": "HOUR", "MINUTE": "MINUTE"}
_STEPS = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})
_UNITS = frozenset({"YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})


def as_moment(value: Typed) -> exp.Expr:
    """A date as a timestamp; one beyond the years of timestamps is unknown, where a plain cast would fail.

    >>> as_moment(Typed(exp.column("d"), SqlType(Family.DATE))).sql("spark")
    'CASE WHEN UNIX_DATE(d) BETWEEN -106751990 AND 106751990 THEN CAST(d AS TIMESTAMP) END'
    """
    if value.type.family is not Family.DATE:
        return value.sql
    days = call("UNIX_DATE", value.sql.copy())
    inside = exp.Between(this=days, low=exp.Neg(this=number(_DAYS)), high=number(_DAYS))
    return where_known(inside, cast_sql(value.sql, "TIMESTAMP"))


def moment_plus(node: exp.Expr, write: Write) -> Typed:
    """A date or timestamp and an interval; beyond the range it is unknown. Raises: UnsupportedSQL."""
    interval = node.args["expression"]
    moment = write(node.this)
    if not isinstance(interval, exp.Interval) or moment.type.family not in (Family.DATE, Family.TIMESTAMP):
        raise UnsupportedSQL("this arithmetic with intervals is not supported on Spark")
    name = "TRY_ADD" if isinstance(node, exp.Add) else "TRY_SUBTRACT"
    return Typed(call(name, as_moment(moment), _interval(interval)), _MOMENT)


def _interval(interval: exp.Interval) -> exp.Expr:
    """One number of one unit."""
    text, unit = interval.this, interval.args.get("unit")
    words = text.name.split() if isinstance(text, exp.Literal) else []
    if unit is not None:
        words.append(unit.name)
    count, name = (words[0], words[1].upper().removesuffix("S")) if len(words) == 2 else ("", "")
    if name not in _UNITS or not count.removeprefix("-").isdigit():
        hint = "write one whole number of one unit: INTERVAL '3 months'"
        raise UnsupportedSQL("this interval is not supported on Spark", hint=hint)
    return exp.Interval(this=exp.Literal.string(count), unit=exp.var(name))


def _extract(node: exp.Expr, write: Write) -> Typed:
    """Fields that both databases number alike; Sunday is DOW 1 in Spark, and 0 in PostgreSQL."""
    assert isinstance(node, exp.Extract)
    field = node.this.name.upper()
    micros = _micros_between(node.args["expression"], write)
    if micros is not None:
        return _of_difference(field, micros)
    value = write(node.args["expression"])
    if value.type.family not in (Family.DATE, Family.TIMESTAMP):
        raise _refused(field)
    if field == "EPOCH" or (field == "SECOND" and has_fraction(node)):
        return _seconds(field, value)
    if field == "DOW":
        sunday_is_1 = call("DAYOFWEEK", value.sql)
        return Typed(exp.Paren(this=exp.Sub(this=sunday_is_1, expression=number(1))), SqlType(Family.INTEGER, 4))
    if field == "SECOND":  # of a moment that is cut to whole ones
        return Typed(call("SECOND", value.sql), SqlType(Family.INTEGER, 4))
    known = _FIELDS if value.type.family is Family.DATE else {**_FIELDS, **_TIMES}
    if field not in known:
        raise _refused(field)
    sql = exp.Extract(this=exp.var(known[field]), expression=value.sql)
    return Typed(sql, SqlType(Family.INTEGER, 6))


def _refused(field: str) -> UnsupportedSQL:
    return UnsupportedSQL(f"EXTRACT({field}) of this is not supported on Spark")


def _seconds(field: str, value: Typed) -> Typed:
    """With their fraction, from whole microseconds."""
    micros = _micros(as_moment(value))
    if field == "EPOCH":
        return _of_micros(micros)
    minute = call("PMOD", micros, cast_sql(number(60_000_000), "BIGINT"))
    return _of_micros(minute)


def _of_difference(field: str, micros: exp.Expr) -> Typed:
    """Of timestamps: all of its seconds, or its days of 24 hours, as PostgreSQL has them."""
    if field == "EPOCH":
        return _of_micros(micros)
    if field != "DAY":
        raise _refused(field)
    days = exp.IntDiv(this=micros, expression=cast_sql(number(_MICROS_PER_DAY), "BIGINT"))
    return Typed(exp.Paren(this=days), SqlType(Family.INTEGER, 9))


def _of_micros(micros: exp.Expr) -> Typed:
    """Seconds with six digits; a product of decimals, of which no digit is lost."""
    whole, millionth = cast_sql(micros, "DECIMAL(19, 0)"), cast_sql(exp.Literal.string("0.000001"), "DECIMAL(7, 6)")
    product = exp.Paren(this=exp.Mul(this=whole, expression=millionth))
    return Typed(cast_sql(product, "DECIMAL(20, 6)"), SqlType(Family.NUMERIC, 20, 6))


def _micros(moment: exp.Expr) -> exp.Expr:
    return call("UNIX_MICROS", cast_sql(moment, "TIMESTAMPLTZ"))


def _micros_between(operand: exp.Expr, write: Write) -> exp.Expr | None:
    """SQL of the microseconds of a difference of timestamps, NULL beyond 64 bits; None for anything else."""
    difference = operand.unnest()
    if not isinstance(difference, exp.Sub) or isinstance(difference.right, exp.Interval):
        return None
    sides = [write(side) for side in (difference.left, difference.right)]
    if any(side.type.family is not Family.TIMESTAMP for side in sides):
        return None
    return call("TRY_SUBTRACT", *(_micros(side.sql) for side in sides))


def _truncated(node: exp.Expr, write: Write) -> Typed:
    step, value = node.args["unit"].name.upper(), write(node.this)
    if step not in _STEPS or value.type.family not in (Family.DATE, Family.TIMESTAMP):
        raise UnsupportedSQL(f"date_trunc to {step.lower()} is not supported on Spark")
    moment = as_moment(value)
    start = call("DATE_TRUNC", exp.Literal.string(step), cast_sql(moment.copy(), "TIMESTAMPLTZ"))
    low, high = exp.Neg(this=number(_MOST_MICROS)), number(_MOST_MICROS)
    inside = exp.Between(this=_micros(moment), low=low, high=high)
    return Typed(where_known(inside, cast_sql(start, "TIMESTAMP")), _MOMENT)


MOMENTS: dict[type[exp.Expr], Handler] = {
    exp.Extract: _extract,
    exp.TimestampTrunc: _truncated,
}
