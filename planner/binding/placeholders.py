"""Replaces `$1`, `$2` and now() by literals.

The time of now() is snapped to the policy's grain, so that a dashboard that refreshes all day asks one question.
Placeholders are typed from their context before their values are known. A value becomes a tree node and never SQL
text; the binder reads it like a written literal.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TypeVar

from sqlglot import exp

from planner.errors import InvalidSetting, UnsupportedSQL
from planner.parsing.spellings import among, written_intervals
from planner.sql import zones
from planner.sql.datetimes import moment_text
from planner.sql.literals import BOUND_ARRAY, array_elements, moment_sql
from planner.sql.trees import cast_sql, copied, holds, nodes, position_of

Query = TypeVar("Query", bound=exp.Query)

SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)
"""A clock for work that does not depend on the time."""

_CLOCK = (exp.CurrentTimestamp, exp.CurrentDate, exp.Localtimestamp)


def replace_clock(select: Query, now: datetime | None, grain: str, zone: str = zones.UTC) -> Query:
    """Replace the clock's functions by literals; a statement without them is returned as it is.

    Args:
      now: with a time zone; None: there is no clock.
      grain: one of GRAINS.
      zone: the session's time zone, in which days begin.
    Raises: UnsupportedSQL without a clock.

    >>> from sqlglot import parse_one
    >>> select = parse_one("SELECT WHERE day < current_date AND at < now()", dialect="postgres")
    >>> replace_clock(select, datetime(2024, 5, 17, 13, 30, tzinfo=UTC), "day").sql("postgres")
    "SELECT WHERE day < CAST('2024-05-17' AS DATE) AND at < CAST('2024-05-17 00:00:00' AS TIMESTAMP)"
    """
    if not holds(select, *_CLOCK):
        return select
    copy = copied(select)
    for node in list(copy.find_all(*_CLOCK)):
        if now is None:
            raise UnsupportedSQL("there is no clock here", hint="write the date, DATE '2024-01-31'", at=node)
        moment = snapped(now, grain, zone)
        local = moment if zone == zones.UTC else zones.local_time(moment, zone)
        literal = moment_sql(local.date() if isinstance(node, exp.CurrentDate) else local)
        if zone != zones.UTC and isinstance(node, exp.CurrentTimestamp):
            literal = cast_sql(exp.Literal.string(f"{moment_text(moment)}+00"), "TIMESTAMPTZ")
        literal.meta.update(node.meta)
        node.replace(literal)
    return copy


def snapped(now: datetime, grain: str, zone: str = zones.UTC) -> datetime:
    """Round a time down to the start of its time grain, by the clocks of a zone. Returns UTC without tzinfo.

    >>> moment = datetime(2024, 5, 17, 13, 30, 59, tzinfo=UTC)
    >>> [str(snapped(moment, grain)) for grain in ("minute", "week", "month")]
    ['2024-05-17 13:30:00', '2024-05-13 00:00:00', '2024-05-01 00:00:00']
    """
    moment = now.astimezone(UTC).replace(tzinfo=None, second=0, microsecond=0)
    if grain == "minute":
        return moment
    if zone != zones.UTC:
        return zones.instant(_snapped(zones.local_time(moment, zone), grain), zone)
    return _snapped(moment, grain)


def _snapped(moment: datetime, grain: str) -> datetime:
    moment = moment.replace(minute=0)
    if grain == "hour":
        return moment
    moment = moment.replace(hour=0)
    if grain == "week":
        return moment - timedelta(days=moment.weekday())
    return moment.replace(day=1) if grain == "month" else moment


Element = str | int | float | Decimal | bool | date | datetime | None

Value = Element | tuple[Element, ...]
"""The value of a placeholder: a text takes the type of its context, a datetime its own; an array is a tuple."""


class IntervalText(str):
    """A text that the client sends as an interval; any other text takes the type of its context."""

    __slots__ = ()


MAX_PARAMETERS = 256
"""The most values of one statement."""

MAX_VALUE_LENGTH = 8_192
"""The most characters of one value."""

MAX_ELEMENTS = 1_000
"""The most elements of one array."""

_SMALLEST, _LARGEST = Decimal("1e-100"), Decimal("1e100")


def substitute(select: Query, values: Sequence[Value]) -> Query:
    """Return the statement with every placeholder replaced by its value.

    A text takes the type of its context, as a quoted literal does.

    Raises: InvalidSetting for too few values, too many, or one that no literal can hold.

    >>> from sqlglot import parse_one
    >>> select = parse_one("SELECT WHERE a = $1 AND b > $2", dialect="postgres")
    >>> substitute(select, ["it's", -2]).sql("postgres")
    "SELECT WHERE a = 'it''s' AND b > (-2)"
    """
    count = highest_number(select)
    if count != len(values):
        asked = f"{count} placeholder{'' if count == 1 else 's'}"
        sent = f"{len(values)} value{' was' if len(values) == 1 else 's were'}"
        places = (_place(node) for node in placeholders_in(select) if number_of(node) > len(values))
        hint = "send them in parameters, in the order of their numbers"
        raise InvalidSetting(f"the statement has {asked}, but {sent} sent", hint=hint, position=next(places, None))
    if not count:
        return select
    copy = copied(select)
    for node in placeholders_in(copy):
        if BOUND_ARRAY in node.meta:
            _write_elements(node, values[number_of(node) - 1])
    literals = {number: _literal(values[number - 1], number) for number in set(map(number_of, placeholders_in(copy)))}
    for node in placeholders_in(copy):
        literal = literals[number_of(node)].copy()  # with its own meta
        literal.meta.update(node.meta)
        node.replace(literal)
    written_intervals(copy)
    return copy


def placeholders_in(select: exp.Query) -> list[exp.Parameter]:
    """List every `$n` of a statement, repetitions included."""
    return [node for node in nodes(select) if isinstance(node, exp.Parameter)]


def _place(node: exp.Parameter) -> int | None:
    """Return the position of its `$`; the tree stores that of the number."""
    position = position_of(node)
    return None if position is None else position - 1


def number_of(node: exp.Parameter) -> int:
    """Return the n of `$n`. Raises: UnsupportedSQL."""
    text = node.this.name if isinstance(node.this, exp.Literal) else ""
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and 1 <= int(text) <= MAX_PARAMETERS):
        hint = f"number them from $1 to ${MAX_PARAMETERS}"
        raise UnsupportedSQL("a placeholder is not a number after $", hint=hint, at=node)
    return int(text)


def highest_number(select: exp.Query) -> int:
    """Return the highest n of all placeholders `$n` of a statement; 0 without any."""
    return max((number_of(node) for node in placeholders_in(select)), default=0)


def _write_elements(node: exp.Parameter, value: Value) -> None:
    """Replace an array placeholder by its elements in an IN list. Raises: InvalidSetting."""
    index = number_of(node)
    inside = node.find_ancestor(exp.In)
    assert inside is not None, "array_membership put it there"
    if value is None:
        inside.replace(exp.EQ(this=inside.this, expression=exp.Null()))
        return
    elements = array_elements(value, MAX_ELEMENTS) if isinstance(value, str) else value
    if not isinstance(elements, tuple):
        hint = "send a list, or the text of an array: {a,b}"
        raise InvalidSetting(
            f"the value of ${index} is not a one-dimensional array", hint=hint, position=_place(node)
        )
    if len(elements) > MAX_ELEMENTS:
        raise InvalidSetting(f"the array of ${index} has more than {MAX_ELEMENTS:,} elements", position=_place(node))
    (form,) = inside.expressions
    written = []
    for element in elements:
        literal = _literal(element, index)
        literal.meta.update(node.meta)
        if form is node:
            written.append(literal)
        else:
            cast = form.copy()
            cast.find(exp.Parameter).replace(literal)
            written.append(cast)
    inside.replace(among(inside.this, written))


def _literal(value: Value, index: int) -> exp.Expr:
    if isinstance(value, tuple):
        hint = f"compare with its elements: x = ANY(${index})"
        raise InvalidSetting(f"the value of ${index} is an array, but one value is expected", hint=hint)
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        if len(value) > MAX_VALUE_LENGTH or any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value):
            raise InvalidSetting(f"the value of ${index} is too long, or contains a character that text cannot hold")
        text = exp.Literal.string(value)
        return cast_sql(text, "INTERVAL") if isinstance(value, IntervalText) else text
    if isinstance(value, datetime) and value.tzinfo is not None:
        at_utc = moment_text(value.astimezone(UTC).replace(tzinfo=None))
        return cast_sql(exp.Literal.string(f"{at_utc}+00"), "TIMESTAMPTZ")
    if isinstance(value, date):
        return moment_sql(value)
    number = Decimal(digits_of(value))
    if not number.is_finite() or (number and not _SMALLEST <= number.copy_abs() <= _LARGEST):
        raise InvalidSetting(f"the value of ${index} is not a number between 1e-100 and 1e100")
    literal = exp.Literal.number(format(number.copy_abs(), "f"))
    return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal


def digits_of(value: int | float | Decimal) -> str:
    """Return the decimal digits of a number.

    >>> digits_of(0.1), digits_of(Decimal("1.50")), digits_of(7)
    ('0.1', '1.50', '7')
    """
    return repr(value) if isinstance(value, float) else str(value)
