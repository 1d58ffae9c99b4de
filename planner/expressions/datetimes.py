"""Dates and timestamps, computed only within a span of days that no operation can leave.

PostgreSQL fails beyond its calendar, and where `infinity` should be a number. So a value outside of its column's
declared range becomes NULL before it is computed with. In conditions, which read the table's own values, the range is
the years 1 to 9999.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from sqlglot import exp

from planner.errors import InvalidSetting, PlannerError, UnsupportedSQL
from planner.expressions import arithmetic
from planner.expressions.coercion import in_one_zone, settle, text_literal, whole_literal
from planner.expressions.scalar import Binder, Calendar, Scalar, Span, repeated, wrap
from planner.sql import literals
from planner.sql.constant_intervals import OF_AGE, added_up, interval_parts
from planner.sql.datetimes import floor
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import Age, around, cast_sql, copied, instant_sql, local_sql, position_of
from planner.sql.zones import UTC, days_shown, instant, is_utc, local_time, zone_named

ALWAYS: Span = (date(1, 1, 1), date(9999, 12, 31))
"""The years that every engine and driver supports."""

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
_YEARS: dict[str, Callable[[date], int]] = {
    "YEAR": lambda day: day.year,
    "ISOYEAR": lambda day: day.isocalendar().year,
    "DECADE": lambda day: day.year // 10,
    "CENTURY": lambda day: (day.year + 99) // 100,
    "MILLENNIUM": lambda day: (day.year + 999) // 1000,
}
"""Fields that never decrease from day to day."""

_TIMES = frozenset({"HOUR", "MINUTE", "SECOND"})
_NAMED = frozenset({*_YEARS, *_SMALL_FIELDS, *_TIMES})
_UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})

_SPELLINGS = {
    "DAYOFWEEK": "DOW", "DAYOFWEEKISO": "ISODOW", "DAYOFYEAR": "DOY", "WEEKOFYEAR": "WEEK", "MILLENNIA": "MILLENNIUM",
    "CENTURIES": "CENTURY", "C": "CENTURY", "CENT": "CENTURY", "DEC": "DECADE", "Y": "YEAR", "YR": "YEAR",
    "QTR": "QUARTER", "MON": "MONTH", "W": "WEEK", "D": "DAY", "H": "HOUR", "HR": "HOUR", "M": "MINUTE",
    "MIN": "MINUTE", "S": "SECOND", "SEC": "SECOND",
}  # fmt: skip
"""PostgreSQL's other names of fields, in the singular."""


def literal(node: exp.Expr, binder: Binder) -> Scalar | None:
    """`DATE '...'` or `TIMESTAMP '...'`, plus or minus INTERVALs; None for anything else."""
    if binder.zone == UTC:
        value = literals.moment(node)
        return None if value is None else _known(node, value)
    found = literals.moment_in(node, binder.zone)
    return None if found is None else replace(_known(node, found[0]), zoned=found[1])


def _known(node: exp.Expr, value: date | datetime) -> Scalar:
    kind = _TIMESTAMP if isinstance(value, datetime) else _DATE
    day = date(value.year, value.month, value.day)
    return _moment(node, kind, literals.moment_sql(value), (day, day))


def refused_clock(node: exp.Expr, binder: Binder) -> Scalar:
    """A clock that `planner.binding.placeholders` did not replace. Raises: UnsupportedSQL."""
    raise UnsupportedSQL("the current time is not available here", hint="write the date", at=node)


def extracted(node: exp.Expr, binder: Binder) -> Scalar:
    """EXTRACT(field FROM datetime), a numeric, so that division keeps its fraction. Raises: UnsupportedSQL."""
    field = field_name(node.this)
    part = binder.scalar(node.expression)
    if part.is_interval and field == "EPOCH":
        return replace(part.seconds, node=node)
    part = _moment_of(part, binder)
    if part.is_null:
        return arithmetic.null(node)
    assert part.type is not None, "typed"
    if field in _TIMES and part.type.family is Family.DATE:
        raise UnsupportedSQL(f"a date has no {field.lower()}", at=node)
    sql, span = bounded_moment(part) if field == "EPOCH" else local(part, binder.zone)
    if field == "EPOCH":
        return _epoch(node, sql, span)
    if field == "SECOND":
        return arithmetic.micros(node, exp.Extract(this=exp.var(field), expression=sql), 0, 60)
    if field in _YEARS:
        low, high = map(_YEARS[field], span)
    elif field in _SMALL_FIELDS:
        low, high = _SMALL_FIELDS[field]
    else:
        known = (*_YEARS, *_SMALL_FIELDS, "SECOND", "EPOCH")
        hint = f"use {', '.join(name.lower() for name in known)}"
        raise UnsupportedSQL(f"extract() does not support the field {field.lower()!r}", hint=hint, at=node)
    return arithmetic.whole_numeric(node, exp.Extract(this=exp.var(field), expression=sql), low, high)


def _epoch(node: exp.Expr, sql: exp.Expr, span: Span) -> Scalar:
    """The seconds since 1970; whole ones in `floor(extract(epoch FROM x) / 60)`, where fractions have no effect."""
    low, high = ((day - date(1970, 1, 1)).days * 86_400 for day in span)
    if not _is_bucket(node):
        moment = exp.Extract(this=exp.var("EPOCH"), expression=cast_sql(sql, "TIMESTAMP"))
        return arithmetic.micros(node, moment, low, high + 86_400)
    stamp = exp.TimestampTrunc(this=cast_sql(sql, "TIMESTAMP"), unit=exp.var("SECOND"))
    return arithmetic.whole_numeric(node, exp.Extract(this=exp.var("EPOCH"), expression=stamp), low, high + 86_399)


def _is_bucket(node: exp.Expr) -> bool:
    """Is it divided by a whole literal and rounded down?"""
    division = around(node, exp.Paren)
    if not isinstance(division, exp.Div) or not isinstance(around(division, exp.Paren), exp.Floor):
        return False
    width = division.right.unnest()
    return division.left.unnest() is node and isinstance(width, exp.Literal) and width.name.isdecimal()


def truncated(node: exp.Expr, binder: Binder) -> Scalar:
    """`date_trunc('unit', datetime)`, a timestamp. Raises: UnsupportedSQL."""
    known = literal(node, binder)
    if known is not None:
        return known
    unit = field_name(node.args["unit"])
    written = node.args.get("zone")
    zone = binder.zone if written is None else read_zone(written)
    if unit not in _UNITS:
        hint = f"write one of {', '.join(sorted(repr(name.lower()) for name in _UNITS))}"
        raise UnsupportedSQL(f"date_trunc() needs one of its units, not {unit.lower()!r}", hint=hint, at=node)
    part = moment_argument(node.this, binder)
    if part.is_null:
        return part
    if written is not None and UTC not in (zone, binder.zone) and not part.has_zone:
        hint = "leave the zone out"
        raise UnsupportedSQL("date_trunc() with a zone needs a time with time zone", hint=hint, at=node)
    sql, span = local(part, zone)
    stamp = sql if part.type == _TIMESTAMP else cast_sql(sql, "TIMESTAMP")
    sql = exp.TimestampTrunc(this=stamp, unit=exp.var(unit))
    zoned = part.has_zone or written is not None
    elsewhere = part.has_zone and zone != UTC
    if elsewhere:
        sql = instant_sql(sql, zone)
    if unit in _TIMES:
        return _moment(node, _TIMESTAMP, sql, _widened(span, 0) if elsewhere else span, zoned=zoned)
    days = floor(span[0], unit.lower()), span[1]
    if not elsewhere:
        return _moment(node, _TIMESTAMP, sql, days, zoned=zoned, calendar=Calendar(unit.lower()))
    midnights = Calendar(unit.lower(), zone=zone, within=days)
    return _moment(node, _TIMESTAMP, sql, _widened(days, 0), zoned=True, calendar=midnights)


def read_zone(node: exp.Expr) -> str:
    """The name of a constant time zone; `zones.UTC` for all names of UTC. Raises: InvalidSetting."""
    written = text_literal(node, "a time zone", UTC)
    zone = zone_named(written)
    if zone is None:
        hint = "write a name of the time zone database, such as 'Europe/Zurich'"
        raise InvalidSetting(f"time zone {written!r} is not known", hint=hint, at=node)
    return UTC if is_utc(zone) else zone


def at_zone(node: exp.Expr, binder: Binder) -> Scalar:
    """`x AT TIME ZONE zone`, which converts between timestamps with and without time zone.

    Raises: InvalidSetting for an unknown zone; UnsupportedSQL for a date with a zone other than UTC.
    """
    zone = read_zone(node.args["zone"])
    part = moment_argument(node.this, binder)
    if part.is_null:
        return part
    is_text = isinstance(node.this.unnest(), exp.Literal)
    if part.type == _DATE and (zone, binder.zone) != (UTC, UTC):
        raise UnsupportedSQL(
            "AT TIME ZONE of a date is not supported", hint=f"write x::timestamp AT TIME ZONE '{zone}'", at=node
        )
    if zone == UTC:
        there = converted(part, _TIMESTAMP)
        return replace(there, node=node, zoned=not part.has_zone and part.type == _TIMESTAMP and not is_text)
    there = shown_in(part, _TIMESTAMP, zone) if part.has_zone or is_text else meant_in(part, zone)
    return replace(there, node=node)


def local(part: Scalar, zone: str) -> tuple[exp.Expr, Span]:
    """As `bounded_moment`, with a timestamptz in the zone's local time."""
    sql, span = bounded_moment(part)
    if zone == UTC or not part.has_zone:
        return sql, span
    if span[0] <= ALWAYS[0] or span[1] >= ALWAYS[1]:  # the conversion must stay within the years
        span = ALWAYS[0] + timedelta(days=1), ALWAYS[1] - timedelta(days=1)
        ends = (
            cast_sql(exp.Literal.string(text), "TIMESTAMP") for text in (f"{span[0]}", f"{span[1]} 23:59:59.999999")
        )
        inside = exp.Between(this=wrap(repeated(sql, part.node)), low=next(ends), high=next(ends))
        sql = exp.Case().when(inside, copied(sql), copy=False)
    return local_sql(sql, zone), days_shown(*span, zone)


def shown_in(part: Scalar, kind: SqlType, zone: str) -> Scalar:
    """A timestamptz as the local date or time of a zone other than UTC."""
    known = _literal_value(part)
    if known is not None:
        there = literals.in_calendar(local_time, literals.midnight(known), zone, position_of(part.node))
        return _known(part.node, there.date() if kind == _DATE else there)
    sql, span = local(part, zone)
    step = Calendar("day") if kind == _DATE else None
    if part.calendar is not None and part.calendar.zone == zone:  # already midnights of this zone
        step = Calendar(part.calendar.unit, within=part.calendar.within)
    return _moment(part.node, kind, cast_sql(sql, "DATE") if kind == _DATE else sql, span, calendar=step)


def meant_in(part: Scalar, zone: str) -> Scalar:
    """The local date or time of a zone other than UTC as a timestamptz."""
    known = _literal_value(part)
    if known is not None:
        moment = literals.in_calendar(instant, literals.midnight(known), zone, position_of(part.node))
        return replace(_known(part.node, moment), zoned=True)
    sql, span = bounded_moment(converted(part, _TIMESTAMP))
    return _moment(part.node, _TIMESTAMP, instant_sql(sql, zone), _widened(span, 0), zoned=True)


def _literal_value(part: Scalar) -> date | datetime | None:
    """The value of a constant; None for anything else."""
    written = part.plain
    literal_cast = isinstance(written, exp.Cast) and isinstance(written.this, exp.Literal)
    return literals.moment(written) if literal_cast and written is not None else None


def shifted(node: exp.Expr, binder: Binder) -> Scalar:
    """A datetime plus or minus an INTERVAL, a timestamp as in PostgreSQL. Raises: UnsupportedSQL."""
    known = literal(node, binder)
    if known is not None:
        return known
    start, interval = node.this.unnest(), node.expression.unnest()
    if is_step(start) and isinstance(node, exp.Add):
        start, interval = interval, start
    if isinstance(interval, exp.Mul) and is_step(interval) and not is_step(start):
        return _by_steps(node, start, interval, binder)
    if not isinstance(interval, exp.Interval) or isinstance(start, exp.Interval):
        hint = "add an interval to a date, or subtract it from one"
        raise UnsupportedSQL("this use of an interval is not supported", hint=hint, at=node)
    part = binder.scalar(start)
    if part.is_interval:
        return arithmetic.combined(node, part.seconds, binder.scalar(interval).seconds, binder).interval
    amount, unit = literals.interval_of(interval, _MOST)
    part = _moment_of(part, binder)
    if part.is_null:
        return part
    by_calendar = unit not in _TIMES and part.has_zone and binder.zone != UTC
    sql, span = local(part, binder.zone) if by_calendar else bounded_moment(part)
    assert part.type is not None, "typed"
    stamp = sql if part.type != _DATE else cast_sql(sql, "TIMESTAMP")
    step = exp.Interval(this=exp.Literal.string(str(amount)), unit=exp.var(unit))
    moved: exp.Expr = type(node)(this=wrap(stamp), expression=step)
    if by_calendar:  # a day may have 23 hours
        days = _reach(abs(amount) * (7 if unit == "WEEK" else 1), unit)
        return _moment(node, _TIMESTAMP, instant_sql(moved, binder.zone), _widened(span, days + 1), zoned=True)
    if unit in ("DAY", "WEEK"):
        days = amount * (7 if unit == "WEEK" else 1) * (-1 if isinstance(node, exp.Sub) else 1)
        calendar = _later(part.calendar, days)
        return _moment(node, _TIMESTAMP, moved, _moved(span, days), zoned=part.has_zone, calendar=calendar)
    return _moment(node, _TIMESTAMP, moved, _widened(span, _reach(abs(amount), unit)), zoned=part.has_zone)


def is_step(node: exp.Expr) -> bool:
    """Is it an INTERVAL, or a product of a number and one?"""
    inner = node.unnest()
    if isinstance(inner, exp.Mul):
        return any(isinstance(side.unnest(), exp.Interval) for side in (inner.left, inner.right))
    return isinstance(inner, exp.Interval)


def _by_steps(node: exp.Expr, start: exp.Expr, steps: exp.Mul, binder: Binder) -> Scalar:
    """A datetime moved by `n * INTERVAL '15 minutes'`, of a whole number n."""
    number, interval = steps.left.unnest(), steps.right.unnest()
    if isinstance(number, exp.Interval):
        number, interval = interval, number
    assert isinstance(interval, exp.Interval), "a step has one"
    amount, unit = literals.interval_of(interval, _MOST)
    part, count = moment_argument(start, binder), binder.scalar(number)
    if part.is_null or count.is_null:
        return Scalar(node, None, exp.Null())
    if part.has_zone and binder.zone != UTC and unit not in _TIMES:
        hint = f"write (x AT TIME ZONE '{binder.zone}') + n * INTERVAL '1 day'"
        raise UnsupportedSQL(
            "a computed number of days after a time with time zone is not supported", hint=hint, at=node
        )
    moved = converted(part, _TIMESTAMP)
    most = _MOST[unit] // max(abs(amount), 1)
    return moved_by(node, moved, count, interval, (-most, most), zoned=part.has_zone, back=isinstance(node, exp.Sub))


def moved_by(
    node: exp.Expr,
    start: Scalar,
    count: Scalar,
    step: exp.Interval,
    most: tuple[int, int],
    *,
    zoned: bool,
    back: bool = False,
) -> Scalar:
    """A timestamp moved by a computed number of steps; NULL for numbers outside of `most`.

    Raises: UnsupportedSQL for a number that may have a fraction, which databases round differently.
    """
    whole = count.digits.scale == 0 if count.digits is not None else _is_whole(count)
    if not count.is_number or not whole:
        hint = "write floor(x) or ceil(x) before the interval"
        raise UnsupportedSQL("an interval takes a whole number of units here", hint=hint, at=count.node)
    number = repeated(count.sql, node)
    low, high = most
    few = exp.Between(this=wrap(number), low=_whole(low), high=_whole(high))
    known = exp.Case().when(few, cast_sql(copied(number), "BIGINT"), copy=False)
    amount, unit = literals.interval_of(step, _MOST)
    least, last = (max(low, min(high, end)) for end in _known_ends(count, most))
    if back:
        least, last = -last, -least
    reached = sorted(_signed_reach(end * amount, unit) for end in (least, last))
    sql, span = bounded_moment(start)
    kind = exp.Sub if back else exp.Add
    moved = kind(this=wrap(sql), expression=exp.Mul(this=known, expression=copied(step)))
    ends = _moved(span, reached[0]), _moved(span, reached[1])
    return _moment(node, _TIMESTAMP, moved, (ends[0][0], ends[1][1]) if ends[0] and ends[1] else None, zoned=zoned)


def _signed_reach(amount: int, unit: str) -> int:
    """At least so many days, in the direction of the amount."""
    days = {"WEEK": 7, "MONTH": 31, "YEAR": 366}.get(unit, 1) * abs(amount)
    days = -(-abs(amount) * _SECONDS_OF[unit] // 86_400) if unit in _TIMES else days
    return days + 1 if amount > 0 else -days - 1 if amount < 0 else 0


_SECONDS_OF = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600}


def _is_whole(count: Scalar) -> bool:
    try:
        if count.bounds is not None and count.bounds.whole:
            return True
    except PlannerError:  # a double without a range
        pass
    return _is_written_whole(count.node)


def _is_written_whole(node: exp.Expr) -> bool:
    """Is it floor(x), ceil(x), or a sum or product of these and of whole numbers? As a double that is whole, too."""
    node = node.unnest()
    if isinstance(node, exp.Add | exp.Sub | exp.Mul):
        return _is_written_whole(node.left) and _is_written_whole(node.right)
    literal = isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal()
    return literal or isinstance(node, exp.Floor | exp.Ceil)


def _known_ends(count: Scalar, most: tuple[int, int]) -> tuple[int, int]:
    """The least and the largest number that are known, or those that are supported."""
    try:
        bounds = count.bounds
    except PlannerError:  # nothing bounds it
        return most
    return most if bounds is None else (math.floor(bounds.lo), math.ceil(bounds.hi))


def _reach(amount: int, unit: str) -> int:
    """The most days in so many units."""
    return {"MONTH": 31, "YEAR": 366}.get(unit, 1) * amount if unit != "SECOND" else amount // 86_400 + 1


def of_days(node: exp.Expr, left: Scalar, right: Scalar, binder: Binder) -> Scalar:
    """`date - date` (days), other differences (an interval), `date + 3` and `date - 3` (a date).

    Raises: UnsupportedSQL for other operands.
    """
    days = right
    if isinstance(node, exp.Add) and right.type == _DATE:
        left, days = right, left
    if isinstance(node, exp.Sub) and not (days.is_number or days.is_interval):
        if left.type == _DATE or right.type == _DATE:
            left, right = settle(left, _DATE, binder), settle(right, _DATE, binder)
        if left.type != _DATE or right.type != _DATE:
            return _of_difference(node, "EPOCH", (left, right), binder).interval
        (a, x), (b, y) = bounded_moment(left), bounded_moment(right)
        days_between = exp.Sub(this=wrap(a), expression=wrap(b))
        return arithmetic.whole_number(node, days_between, (x[0] - y[1]).days, (x[1] - y[0]).days)
    if left.type == _DATE and isinstance(node, (exp.Add, exp.Sub)) and days.is_number and not days.is_null:
        if _is_computed(days):
            return _by_days(node, left, days)
        count = whole_literal(days.node, -_MOST_DAYS, _MOST_DAYS)
        sql, span = bounded_moment(left)
        step = _whole(count)
        step_days = -count if isinstance(node, exp.Sub) else count
        calendar = _later(left.calendar, step_days)
        moved = type(node)(this=wrap(sql), expression=step)
        return _moment(node, _DATE, moved, _moved(span, step_days), calendar=calendar)
    hint = "add an INTERVAL, or a whole number of them: x + n * INTERVAL '1 second'"
    raise UnsupportedSQL("this arithmetic with times is not supported", hint=hint, at=node)


def _is_computed(days: Scalar) -> bool:
    """Is it a whole number, but neither a literal nor a placeholder?"""
    return days.value is None and days.plain is not None and days.digits is not None and days.digits.integral


def _by_days(node: exp.Expr, start: Scalar, days: Scalar) -> Scalar:
    """A date moved by a whole number of days; NULL for more days than the supported years have."""
    count = repeated(days.sql, node)
    few = exp.Between(this=wrap(count), low=_whole(-_MOST_DAYS), high=_whole(_MOST_DAYS))
    known = exp.Case().when(few, cast_sql(copied(count), "INT"), copy=False)
    sql, span = bounded_moment(start)
    ends = _moved(span, -_MOST_DAYS), _moved(span, _MOST_DAYS)
    moved = type(node)(this=wrap(sql), expression=known)
    return _moment(node, _DATE, moved, (ends[0][0], ends[1][1]) if ends[0] and ends[1] else None)


def _whole(value: int) -> exp.Expr:
    """A whole literal, with parentheses around a negative one."""
    number = exp.Literal.number(abs(value))
    return number if value >= 0 else exp.Paren(this=exp.Neg(this=number))


def converted(part: Scalar, kind: SqlType) -> Scalar:
    """A date as a timestamp, or a timestamp as a date."""
    if part.type == kind:
        return replace(part, zoned=False)
    if isinstance(part.plain, exp.Cast) and isinstance(part.plain.this, exp.Literal):
        value = literals.moment(cast_sql(part.plain, "DATE" if kind.family is Family.DATE else "TIMESTAMP"))
        assert value is not None, "a literal is one"
        return _known(part.node, value)
    sql, span = bounded_moment(part)
    target = "DATE" if kind.family is Family.DATE else "TIMESTAMP"
    return _moment(part.node, kind, cast_sql(sql, target), span, calendar=part.calendar)


def bounded_moment(part: Scalar) -> tuple[exp.Expr, Span]:
    """SQL of a date or of a timestamp at UTC, NULL outside of a span of days; and the span."""
    assert part.type is not None and part.type.is_moment, "a moment"
    sql = part.sql
    if part.type.family is Family.TIMESTAMPTZ:
        sql = exp.AtTimeZone(this=wrap(sql), zone=exp.Literal.string("UTC"))
    if part.span is not None and ALWAYS[0] <= part.span[0] and part.span[1] <= ALWAYS[1]:
        return sql, part.span
    repeated(sql, part.node)
    first, last = part.declared or ALWAYS
    day = part.type.family is Family.DATE
    low: exp.Expr = literals.moment_sql(first)
    high: exp.Expr = literals.moment_sql(last)
    if not day:
        low, high = (
            cast_sql(low.this, "TIMESTAMP"),
            cast_sql(exp.Literal.string(f"{last} 23:59:59.999999"), "TIMESTAMP"),
        )
    return exp.Case().when(exp.Between(this=sql, low=low, high=high), copied(sql), copy=False), (first, last)


def _later(calendar: Calendar | None, days: int) -> Calendar | None:
    """The steps moved by so many days; days and weeks stay the same steps after whole ones of them."""
    if calendar is None:
        return None
    cycle = {"day": 1, "week": 7}.get(calendar.unit)
    moved = calendar.days + days
    return Calendar(calendar.unit, moved if cycle is None else moved % cycle)


def _widened(span: Span, days: int) -> Span | None:
    try:
        return span[0] - timedelta(days=days + 1), span[1] + timedelta(days=days + 1)
    except OverflowError:
        return None


def _moved(span: Span, days: int) -> Span | None:
    """The span moved by so many days; None beyond the calendar."""
    try:
        return span[0] + timedelta(days=days), span[1] + timedelta(days=days)
    except OverflowError:
        return None


def moment_argument(node: exp.Expr, binder: Binder) -> Scalar:
    """A date, a timestamp, or the literal NULL. Raises: UnsupportedSQL for anything else."""
    return _moment_of(binder.scalar(node), binder)


def _moment_of(part: Scalar, binder: Binder) -> Scalar:
    part = settle(part, SqlType(Family.TIMESTAMPTZ), binder)
    if not part.is_null and (part.type is None or not part.type.is_moment):
        hint = "write extract(epoch FROM x), the seconds of an interval" if part.is_interval else None
        raise UnsupportedSQL(f"a date is needed here, not {part.kind}", hint=hint, at=part.node)
    return part


def field_name(node: exp.Expr) -> str:
    """The name of a constant field or unit. Raises: UnsupportedSQL."""
    name = (node.name if isinstance(node, exp.Var) else text_literal(node, "a field or unit", "DAY")).upper()
    single = name.removesuffix("S") if len(name) > 1 else name
    return _SPELLINGS.get(name) or _SPELLINGS.get(single) or (single if single in _NAMED else name)


def _moment(
    node: exp.Expr,
    kind: SqlType,
    sql: exp.Expr,
    span: Span | None,
    *,
    zoned: bool = False,
    calendar: Calendar | None = None,
) -> Scalar:
    return Scalar(node, kind, sql, span=span, zoned=zoned, calendar=calendar if span else None)


_DAY = 86_400


_OF_A_DAY = {"HOUR": 23, "MINUTE": 59}
"""The largest size of a field of a difference, whose days have 24 hours."""


def extracted_of_difference(node: exp.Expr, binder: Binder) -> Scalar:
    """EXTRACT of a datetime, of an interval, or of an age. Raises: UnsupportedSQL."""
    operand = node.args["expression"].unnest()
    if isinstance(operand, Age):
        return _of_age(node, operand, binder)
    if isinstance(operand, exp.Sub) and not any(is_step(part) for part in (operand.left, operand.right)):
        left, right = binder.scalar(operand.left), binder.scalar(operand.right)
        if not (left.is_interval or right.is_interval):
            return _of_difference(node, field_name(node.this), (left, right), binder)
    return extracted(node, binder)


_A_YEAR = 12
"""The months from which EXTRACT(epoch) counts years of 365.25 days, and comparisons months of 30 days."""


def interval(node: exp.Expr, binder: Binder) -> Scalar:
    """An INTERVAL that the statement states, as its seconds. PostgreSQL compares months as 30 days."""
    return binder.scalar(_whole(interval_seconds(node))).interval


def interval_seconds(node: exp.Expr) -> int:
    """The whole seconds of a constant interval. Raises: UnsupportedSQL, also for a year outside of a comparison."""
    steps = [literals.interval_of(part, _MOST) for part in interval_parts(node)]
    if not steps:
        hint = "write whole units, as in INTERVAL '1 day 12 hours'"
        raise UnsupportedSQL("this interval is not supported", hint=hint, at=node)
    if any(unit == "MONTH" and abs(amount) >= _A_YEAR for amount, unit in steps) and not _is_compared(node):
        hint = "write INTERVAL '365 days'"
        raise UnsupportedSQL("an interval of years is only supported in comparisons", hint=hint, at=node)
    return sum(amount * OF_AGE[unit] for amount, unit in steps)


def _is_compared(node: exp.Expr) -> bool:
    return isinstance(around(node, exp.Paren), exp.Predicate)


def age(node: exp.Expr, binder: Binder) -> Scalar:
    """`age(a, b)` in a comparison, as its seconds; refused elsewhere, since its months have no fixed length."""
    if _is_compared(node):
        return binder.scalar(added_up(node, OF_AGE)).interval
    hint = "write extract(year FROM age(a, b)), or CAST(a AS DATE) - CAST(b AS DATE), a number of days"
    raise UnsupportedSQL("age() is only supported within extract() and comparisons", hint=hint, at=node)


def _of_difference(node: exp.Expr, field: str, sides: Sequence[Scalar], binder: Binder) -> Scalar:
    """EXTRACT of a difference of timestamps: its seconds, or its whole days.

    PostgreSQL's difference has days of 24 hours and no months, so both follow from the seconds.
    """
    parts = [_moment_of(side, binder) for side in sides]
    if any(part.is_null for part in parts):
        return arithmetic.null(node)
    parts = parts if binder.zone == UTC else in_one_zone(node, parts, binder.zone)
    if all(part.type is not None and part.type.family is Family.DATE for part in parts):
        hint = "a difference of dates is a number of days; write (a - b) * 86400 for its seconds"
        raise UnsupportedSQL("extract() of a number of days is not supported", hint=hint, at=node)
    if field not in ("EPOCH", "DAY", "HOUR", "MINUTE", "SECOND"):
        hint = "write extract(epoch FROM a - b) / 3600 for its hours, / 60 for its minutes"
        raise UnsupportedSQL(
            f"extract() does not support the field {field.lower()!r} of a difference", hint=hint, at=node
        )
    (a, x), (b, y) = (_stamp(part, UTC) for part in parts)
    between = exp.Extract(this=exp.var(field), expression=exp.Paren(this=exp.Sub(this=wrap(a), expression=wrap(b))))
    least, most = (x[0] - y[1]).days - 1, (x[1] - y[0]).days + 1
    if field == "DAY":
        return arithmetic.whole_numeric(node, between, least, most)
    if field in _OF_A_DAY:
        return arithmetic.whole_numeric(node, between, -_OF_A_DAY[field], _OF_A_DAY[field])
    if field == "SECOND":
        return arithmetic.micros(node, between, -60, 60)
    return arithmetic.micros(node, between, least * _DAY, most * _DAY)


def _of_age(node: exp.Expr, operand: Age, binder: Binder) -> Scalar:
    """EXTRACT of age(a, b): whole years, the remaining months, or the remaining days."""
    parts = [moment_argument(side, binder) for side in (operand.this, operand.args["expression"])]
    if any(part.is_null for part in parts):
        return arithmetic.null(node)
    field = field_name(node.this)
    if field not in ("YEAR", "MONTH", "DAY", *_TIMES):
        hint = "use year, month or day; for all of its days write CAST(a AS DATE) - CAST(b AS DATE)"
        raise UnsupportedSQL(f"extract() does not support the field {field.lower()!r} of age()", hint=hint, at=node)
    parts = parts if binder.zone == UTC else in_one_zone(node, parts, binder.zone)
    (a, x), (b, y) = (_stamp(part, binder.zone) for part in parts)
    # Whole years may be one less than the difference of calendar years: from December to June there is none.
    if field == "SECOND":
        return arithmetic.micros(
            node, exp.Extract(this=exp.var(field), expression=Age(this=a, expression=b)), -60, 60
        )
    least, most = x[0].year - y[1].year, x[1].year - y[0].year
    low, high = {
        "YEAR": (least - (least > 0), most + (most < 0)),
        "MONTH": (-11, 11),
        "DAY": (-31, 31),
        "HOUR": (-23, 23),
        "MINUTE": (-59, 59),
    }[field]
    between = exp.Extract(this=exp.var(field), expression=Age(this=a, expression=b))
    return arithmetic.whole_numeric(node, between, low, high)


def _stamp(part: Scalar, zone: str) -> tuple[exp.Expr, Span]:
    """SQL of a timestamp in the zone's local time, and its span."""
    sql, span = local(part, zone)
    assert part.type is not None, "typed"
    return (sql if part.type.family is not Family.DATE else cast_sql(sql, "TIMESTAMP")), span
