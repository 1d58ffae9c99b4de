"""Dates and timestamps: computed only within a span of days that no operation can leave.

PostgreSQL raises beyond its calendar, and for `infinity` where a number is asked for. So a column is moored
before it is computed with: clamped to its declared range, or without one NULL outside the years 1 to 9999.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from sqlglot import exp

from planner import literals, numbers
from planner.alignment import settle, whole_literal
from planner.calendar_steps import floor
from planner.errors import UnsupportedSQL
from planner.positions import position_of
from planner.scalar import Binder, Scalar, Span, repeated, wrap
from planner.sql_nodes import cast_sql
from planner.sql_types import Family, SqlType
from planner.trees import copied

ALWAYS: Span = (date(1, 1, 1), date(9999, 12, 31))
"""The years that every engine and every driver agrees on."""

_DATE, _TIMESTAMP = SqlType(Family.DATE), SqlType(Family.TIMESTAMP)
_MOST_DAYS = 1_000_000
_MOST = {
    "SECOND": 10**9, "MINUTE": 10**8, "HOUR": 10**7, "DAY": _MOST_DAYS, "WEEK": 10**5,
    "MONTH": 40_000, "YEAR": 3_000,
}  # fmt: skip
_SMALL_FIELDS = {
    "QUARTER": (1, 4), "MONTH": (1, 12), "WEEK": (1, 53), "DAY": (1, 31), "DOW": (0, 6), "ISODOW": (1, 7),
    "DOY": (1, 366), "HOUR": (0, 23), "MINUTE": (0, 59),
}  # fmt: skip
_TIMES_OF_DAY = frozenset({"HOUR", "MINUTE"})
_TIMES = frozenset({"HOUR", "MINUTE", "SECOND"})
_UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})
_SPELLINGS = {"DAYOFWEEK": "DOW", "DAYOFWEEKISO": "ISODOW", "DAYOFYEAR": "DOY", "WEEKOFYEAR": "WEEK"}


def literal(node: exp.Expr) -> Scalar | None:
    """`DATE '...'`, `TIMESTAMP '...'`, each plus or minus INTERVALs; None for anything else."""
    value = literals.moment(node)
    if value is None:
        return None
    sql = literals.moment_sql(value)
    kind = _TIMESTAMP if isinstance(value, datetime) else _DATE
    day = date(value.year, value.month, value.day)
    return _moment(node, kind, sql, (day, day))


def unknown_now(node: exp.Expr, binder: Binder) -> Scalar:
    """now(), which `planner.clock` replaces: none may be left."""
    raise UnsupportedSQL("there is no clock here", hint="write the date", position=position_of(node))


def extracted(node: exp.Expr, binder: Binder) -> Scalar:
    """EXTRACT(field FROM moment), date_part('field', moment): a whole number."""
    field = _name(node.this)
    part = _argument(node.expression, binder)
    if part.is_null:
        return numbers.null(node)
    assert part.type is not None, "typed"
    if field in _TIMES_OF_DAY and part.type.family is Family.DATE:
        raise UnsupportedSQL(f"{field} of a date, which has none", position=position_of(node))
    sql, span = moored(part)
    if field == "YEAR":
        low, high = span[0].year, span[1].year
    elif field in _SMALL_FIELDS:
        low, high = _SMALL_FIELDS[field]
    else:
        hint = f"use year, {', '.join(name.lower() for name in _SMALL_FIELDS)}"
        raise UnsupportedSQL(f"the field {field.lower()!r} is not supported", hint=hint, position=position_of(node))
    return numbers.whole_number(node, exp.Extract(this=exp.var(field), expression=sql), low, high)


def truncated(node: exp.Expr, binder: Binder) -> Scalar:
    """date_trunc('unit', moment): a timestamp."""
    unit = _name(node.args["unit"])
    if unit not in _UNITS:
        hint = f"use {', '.join(sorted(name.lower() for name in _UNITS))}"
        raise UnsupportedSQL(f"the unit {unit.lower()!r} is not supported", hint=hint, position=position_of(node))
    part = _argument(node.this, binder)
    if part.is_null:
        return part
    sql, span = moored(part)
    stamp = sql if part.type == _TIMESTAMP else cast_sql(sql, "TIMESTAMP")
    first = floor(span[0], unit.lower()) if unit not in _TIMES else span[0]
    return _moment(node, _TIMESTAMP, exp.TimestampTrunc(this=stamp, unit=exp.var(unit)), (first, span[1]))


def shifted(node: exp.Expr, binder: Binder) -> Scalar:
    """A moment plus or minus an INTERVAL: a timestamp, as in PostgreSQL."""
    known = literal(node)
    if known is not None:
        return known
    start, interval = node.this, node.expression
    if isinstance(start, exp.Interval) and isinstance(node, exp.Add):
        start, interval = interval, start
    if not isinstance(interval, exp.Interval) or isinstance(start, exp.Interval):
        hint = "add an interval to a date, or subtract it from one"
        raise UnsupportedSQL("this use of an interval is not supported", hint=hint, position=position_of(node))
    amount, unit = _interval(interval)
    part = _argument(start, binder)
    if part.is_null:
        return part
    sql, span = moored(part)
    assert part.type is not None, "typed"
    stamp = sql if part.type == _TIMESTAMP else cast_sql(sql, "TIMESTAMP")
    step = exp.Interval(this=exp.Literal.string(str(amount)), unit=exp.var(unit))
    reach = _reach(abs(amount), unit)
    return _moment(node, _TIMESTAMP, type(node)(this=wrap(stamp), expression=step), _widened(span, reach))


def _interval(node: exp.Interval) -> tuple[int, str]:
    amount, unit = node.this, node.args.get("unit")
    name = unit.name.upper().removesuffix("S") if isinstance(unit, exp.Var) else ""
    text = amount.name if isinstance(amount, exp.Literal) else ""
    if not re.fullmatch(r"-?[0-9]{1,9}", text) or abs(int(text)) > _MOST.get(name, -1):
        hint = "write INTERVAL '3' MONTH; one whole number and one unit"
        raise UnsupportedSQL("this interval is not supported", hint=hint, position=position_of(node))
    return int(text), name


def _reach(amount: int, unit: str) -> int:
    """No more days than this."""
    return {"WEEK": 7, "MONTH": 31, "YEAR": 366}.get(unit, 1) * amount if unit != "SECOND" else amount // 86_400 + 1


def of_days(node: exp.Expr, left: Scalar, right: Scalar, binder: Binder) -> Scalar:
    """`date - date`: days; `date + 3`, `date - 3`: a date."""
    days = right
    if isinstance(node, exp.Add) and right.type == _DATE:
        left, days = right, left
    if isinstance(node, exp.Sub) and (left.type == _DATE or right.type == _DATE) and not days.is_number:
        left, right = settle(left, _DATE, binder), settle(right, _DATE, binder)
        if left.type == _DATE and right.type == _DATE:
            (a, x), (b, y) = moored(left), moored(right)
            days_between = exp.Sub(this=wrap(a), expression=wrap(b))
            return numbers.whole_number(node, days_between, (x[0] - y[1]).days, (x[1] - y[0]).days)
    if left.type == _DATE and isinstance(node, (exp.Add, exp.Sub)) and not days.is_null:
        count = whole_literal(days.node, -_MOST_DAYS, _MOST_DAYS)
        sql, span = moored(left)
        step: exp.Expr = exp.Literal.number(abs(count))
        step = step if count >= 0 else exp.Paren(this=exp.Neg(this=step))
        return _moment(node, _DATE, type(node)(this=wrap(sql), expression=step), _widened(span, abs(count)))
    hint = "subtract dates: CAST(x AS DATE) - CAST(y AS DATE)"
    raise UnsupportedSQL("this arithmetic with times is not supported", hint=hint, position=position_of(node))


def converted(part: Scalar, kind: SqlType) -> Scalar:
    """A date as a timestamp, or a timestamp's day."""
    if part.type == kind:
        return part
    sql, span = moored(part)
    target = "DATE" if kind.family is Family.DATE else "TIMESTAMP"
    return _moment(part.node, kind, cast_sql(sql, target), span)


def moored(part: Scalar) -> tuple[exp.Expr, Span]:
    """SQL of a date, or of a timestamp at UTC, that is NULL or within the span that comes with it."""
    assert part.type is not None and part.type.is_moment, "a moment"
    sql = part.sql
    if part.type.family is Family.TIMESTAMPTZ:
        sql = exp.AtTimeZone(this=wrap(sql), zone=exp.Literal.string("UTC"))
    if part.span is not None and ALWAYS[0] <= part.span[0] and part.span[1] <= ALWAYS[1]:
        return sql, part.span
    repeated(sql, part.node)
    first, last = part.declared or ALWAYS
    day = part.type.family is Family.DATE
    low: exp.Expr = literals.date_sql(first)
    high: exp.Expr = literals.date_sql(last)
    if not day:
        low, high = (
            cast_sql(low.this, "TIMESTAMP"),
            cast_sql(exp.Literal.string(f"{last} 23:59:59.999999"), "TIMESTAMP"),
        )
    case = exp.Case().when(exp.Between(this=sql, low=copied(low), high=copied(high)), copied(sql), copy=False)
    if part.declared is not None:
        case = case.when(exp.LT(this=copied(sql), expression=low), copied(low), copy=False)
        case = case.when(exp.GT(this=copied(sql), expression=high), copied(high), copy=False)
    return case, (first, last)


def _widened(span: Span, days: int) -> Span | None:
    try:
        return span[0] - timedelta(days=days + 1), span[1] + timedelta(days=days + 1)
    except OverflowError:
        return None


def _argument(node: exp.Expr, binder: Binder) -> Scalar:
    part = settle(binder.scalar(node), _TIMESTAMP, binder)
    if not part.is_null and (part.type is None or not part.type.is_moment):
        raise UnsupportedSQL(f"{part.kind} stands where a date is needed", position=position_of(part.node))
    return part


def _name(node: exp.Expr) -> str:
    """The name of a field or unit, which sqlglot may carry as a word or as a quoted literal."""
    name = node.name.upper()
    return _SPELLINGS.get(name, name)


def _moment(node: exp.Expr, kind: SqlType, sql: exp.Expr, span: Span | None) -> Scalar:
    return Scalar(node, kind, sql, lambda: not_a_number(node, kind), span=span)


AS_NUMBER = "write (x)::int, which is 1 where it is true and 0 where it is false"
"""The hint for a condition where a number is needed."""


def not_a_number(node: exp.Expr, kind: SqlType | None) -> tuple[exp.Expr, None]:
    """The clamped form of what has none."""
    name = "text" if kind is None else kind.family.value
    hint = AS_NUMBER if kind is not None and kind.family is Family.BOOL else "sum numbers, or count rows"
    raise UnsupportedSQL(f"{name} is no number", hint=hint, position=position_of(node))
