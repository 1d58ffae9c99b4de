"""Dates made from numbers and from texts: make_date, to_timestamp, date_bin, to_date and a cast of text.

PostgreSQL fails for month 13, and for a text of another form. Here such a row gives NULL. Numbers are moved into
their ranges before they make a date, and the date counts only if they were there before.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from sqlglot import exp

from planner.errors import PlannerError, UnsupportedSQL
from planner.expressions.coercion import settle, text, text_literal
from planner.expressions.datetimes import ALWAYS, bounded_moment, moment_argument, moved_by
from planner.expressions.scalar import Binder, Scalar, Span, repeated, wrap
from planner.sql import literals
from planner.sql.datetimes import date_form, moment_type
from planner.sql.sql_types import Family, SqlType, sql_type
from planner.sql.trees import TextDate, cast_sql, copied

DECLARED_FORM = "declared form"
"""Marks a column of texts that the policy declares to be dates or times; it has the forms."""

_DATE = SqlType(Family.DATE)
_RANGES = ((1, 9999), (1, 12), (1, 31))
_EPOCH = datetime(1970, 1, 1)
_MOST_SECONDS = int((datetime(9999, 12, 31) - _EPOCH).total_seconds())
_LEAST_SECONDS = int((datetime(1, 1, 1) - _EPOCH).total_seconds())


def make_date(node: exp.Expr, binder: Binder) -> Scalar:
    """`make_date(year, month, day)` of whole numbers; NULL for numbers that are no date. Raises: UnsupportedSQL."""
    parts = [
        settle(binder.scalar(node.args[name]), SqlType(Family.INTEGER), binder) for name in ("year", "month", "day")
    ]
    if any(part.is_null for part in parts):
        return Scalar(node, None, exp.Null())
    for part in parts:
        if part.plain is None or part.digits is None or part.digits.scale:
            raise UnsupportedSQL("make_date() takes whole numbers", hint="write x::int", at=part.node)
    if all(part.value is not None for part in parts):  # the parser has read those that are one
        hint = "write date_trunc('month', x)::date, or a literal date"
        raise UnsupportedSQL("these numbers are no date", hint=hint, at=node)
    return _made(node, [part.sql for part in parts], _years(parts[0]))


def _years(year: Scalar) -> tuple[int, int]:
    """The years that are known of a number."""
    try:
        bounds = year.bounds
    except PlannerError:  # nothing bounds the column
        return _RANGES[0]
    if bounds is None:
        return _RANGES[0]
    low, high = (int(min(max(end, 1.0), 9999.0)) for end in (bounds.lo, bounds.hi))
    return low, high


def _made(node: exp.Expr, numbers: list[exp.Expr], years: tuple[int, int]) -> Scalar:
    """The date of three numbers, whatever they are.

    The month's first day exists for every year and month within the ranges. Fewer than 31 days later it is another
    month's day, if this month has none of that number. So the day of the result is the one asked for, or there is
    none.
    """
    year, month, day = numbers
    clamped = [
        _clamped(repeated(number, node), low, high) for number, (low, high) in zip(numbers, _RANGES, strict=True)
    ]
    first = exp.DateFromParts(year=clamped[0], month=clamped[1], day=exp.Literal.number(1))
    later = exp.Paren(this=exp.Sub(this=wrap(clamped[2]), expression=exp.Literal.number(1)))
    moved = exp.Add(this=first, expression=later)
    valid: exp.Expr = exp.EQ(
        this=exp.Extract(this=exp.var("DAY"), expression=exp.Paren(this=moved)), expression=copied(day)
    )
    for number, (low, high) in zip((day, month, year), _RANGES[::-1], strict=True):
        within = exp.Between(this=wrap(copied(number)), low=exp.Literal.number(low), high=exp.Literal.number(high))
        valid = exp.And(this=within, expression=valid)
    sql = exp.Case(ifs=[exp.If(this=valid, true=copied(moved))])
    return Scalar(node, _DATE, sql, span=(date(years[0], 1, 1), date(years[1], 12, 31)))


def _clamped(number: exp.Expr, low: int, high: int) -> exp.Expr:
    if isinstance(number, exp.Literal) and low <= int(number.name) <= high:
        return copied(number)
    greatest = exp.Greatest(this=copied(number), expressions=[exp.Literal.number(low)], ignore_nulls=True)
    return cast_sql(exp.Least(this=greatest, expressions=[exp.Literal.number(high)], ignore_nulls=True), "INT")


def to_date(node: exp.Expr, binder: Binder) -> Scalar:
    """`to_date(text, 'DD/MM/YYYY')`; NULL for a text of another form, and for one that is no date."""
    form = text_literal(node.args["format"], "to_date() by a format", "YYYY-MM-DD")
    part = binder.scalar(node.this)
    if DECLARED_FORM in node.meta:
        return stated(node, text(part, binder), node.meta[DECLARED_FORM], declared=True)
    if part.type == _DATE:  # a column of texts that the policy declares to be dates
        return part
    return of_text(node, part, form, binder)


def of_text(node: exp.Expr, part: Scalar, form: str, binder: Binder) -> Scalar:
    """The date that a text states in this form; NULL for any other text. Raises: UnsupportedSQL for the form."""
    if date_form(form) is None:
        hint = "use YYYY, MM and DD, with signs between them"
        raise UnsupportedSQL(f"the format {form!r} of a date is not supported", hint=hint, at=node)
    return stated(node, text(part, binder), [form])


def stated(
    node: exp.Expr, part: Scalar, forms: Sequence[str], within: Span = ALWAYS, *, declared: bool = False
) -> Scalar:
    """The date or timestamp that a text states in one of these forms; NULL for others, and for days beyond it."""
    if part.is_null:
        return Scalar(node, None, exp.Null())
    kind = sql_type(moment_type(forms))
    listed = list(map(exp.Literal.string, forms))
    sql: exp.Expr = TextDate(this=part.sql, expressions=listed, declared=declared)
    if within != ALWAYS:
        sql, within = bounded_moment(Scalar(node, kind, sql, declared=within))
    return Scalar(node, kind, sql, span=within)


def to_timestamp(node: exp.Expr, binder: Binder) -> Scalar:
    """`to_timestamp(seconds)` of a whole number of seconds since 1970; NULL outside the years 1 to 9999."""
    if any(value for part, value in node.args.items() if part != "this"):
        raise UnsupportedSQL(
            "this form of to_timestamp() is not supported", hint="write to_date(x, 'YYYY-MM-DD')", at=node
        )
    seconds = settle(binder.scalar(node.this), SqlType(Family.INTEGER), binder)
    if seconds.is_null:
        return Scalar(node, None, exp.Null())
    start = Scalar(node, SqlType(Family.TIMESTAMP), literals.moment_sql(_EPOCH), span=(_EPOCH.date(), _EPOCH.date()))
    second = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("SECOND"))
    return moved_by(node, start, seconds, second, (_LEAST_SECONDS, _MOST_SECONDS), zoned=True)


def date_bin(node: exp.Expr, binder: Binder) -> Scalar:
    """`date_bin(interval, x, origin)` with literals: the start of the step that a moment is in.

    Steps of whole days start at the origin's midnight. Shorter ones must divide the time since 1970, as steps of a
    quarter of an hour from any full hour do.
    """
    step, origin = literals.constant(node.this), literals.moment(node.args["unit"])
    if not isinstance(step, exp.Interval) or step.text("unit") != "SECOND" or origin is None:
        hint = "write date_bin('15 minutes', x, TIMESTAMP '2024-01-01')"
        raise UnsupportedSQL("date_bin() takes a constant step and a constant origin", hint=hint, at=node)
    part = moment_argument(node.expression, binder)
    if part.is_null:
        return part
    seconds, passed = int(step.this.name), literals.midnight(origin) - _EPOCH
    whole = int(passed / timedelta(seconds=1))
    if seconds % 86_400 == 0 and whole % 86_400 == 0:
        written = _of_days(node.expression, literals.midnight(origin).date(), seconds // 86_400)
    elif passed % timedelta(seconds=seconds) == timedelta():
        written = _of_seconds(node.expression, seconds)
    else:
        hint = "let the origin be a multiple of the step after midnight"
        raise UnsupportedSQL("this origin of date_bin() is not supported", hint=hint, at=node.args["unit"])
    found = binder.scalar(written)
    return Scalar(node, SqlType(Family.TIMESTAMP), found.sql, span=found.span, zoned=part.has_zone)


def _of_days(moment: exp.Expr, origin: date, days: int) -> exp.Expr:
    since = exp.Sub(this=cast_sql(copied(moment), "DATE"), expression=literals.moment_sql(origin))
    size = exp.Literal.number(days)
    rest = exp.Mod(this=exp.Paren(this=since), expression=size)  # negative before the origin
    rest = exp.Mod(
        this=exp.Paren(this=exp.Add(this=exp.Paren(this=rest), expression=copied(size))), expression=copied(size)
    )
    day = exp.Sub(this=cast_sql(copied(moment), "DATE"), expression=exp.Paren(this=rest))
    return cast_sql(exp.Paren(this=day), "TIMESTAMP")


def _of_seconds(moment: exp.Expr, step: int) -> exp.Expr:
    epoch = exp.Extract(this=exp.var("EPOCH"), expression=copied(moment))
    steps = exp.Floor(this=exp.Div(this=epoch, expression=exp.Literal.number(step)))
    return exp.UnixToTime(this=exp.Mul(this=steps, expression=exp.Literal.number(step)))
