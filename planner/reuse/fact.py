"""Facts about a value in all rows of a cached group: the value, a span of time, or values that it is not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal

from planner.sql.datetimes import floor, read_moment

Plain = str | bool | int | Decimal | datetime | None
"""A value that compares exactly: a date as its midnight, a time with time zone at UTC; None is NULL."""

TimeUnit = Literal["year", "quarter", "month", "week", "day", "hour", "minute", "second"]

_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_TIMES = {"hour": timedelta(hours=1), "minute": timedelta(minutes=1), "second": timedelta(seconds=1)}
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Known:
    """The same value in every row."""

    value: Plain


@dataclass(frozen=True)
class Within:
    """A moment from `first` on and before `end`, never NULL. None means no end on that side.

    Attributes:
      whole_days: is it always midnight, so that the last moment is the day before `end`?
    """

    first: datetime | None
    end: datetime | None
    whole_days: bool = False

    @property
    def last(self) -> datetime | None:
        """The last moment that lies before `end`."""
        return None if self.end is None else self.end - (_DAY if self.whole_days else timedelta(microseconds=1))


@dataclass(frozen=True)
class Other:
    """A value that is not NULL and none of these."""

    values: frozenset[Plain]


@dataclass(frozen=True)
class Unknown:
    """Any value, which may differ from row to row."""


Fact = Known | Within | Other | Unknown

NULL = Known(None)
UNKNOWN = Unknown()


def truth(value: bool | None) -> Known:
    """Return a condition's value as a fact; None is NULL."""
    return Known(value)


def plain(value: object) -> Plain | Unknown:
    """Read a group key of a cached answer as a value that compares exactly.

    A text stays a text. `moment_of` reads one that is known to be a date.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return Decimal(repr(value)) if value == value and abs(value) < 1e300 else UNKNOWN
    if isinstance(value, Decimal):
        return value if value.is_finite() else UNKNOWN
    if isinstance(value, datetime):
        return value if value.tzinfo is None else UNKNOWN
    return datetime(value.year, value.month, value.day) if isinstance(value, date) else UNKNOWN


def moment_of(text: object) -> datetime | None:
    """Read a moment from a group key's text, at UTC. None for `infinity`, years before 1, and other texts."""
    found = read_moment(text) if isinstance(text, str) else None
    return None if found is None else found.utc


def floored(moment: datetime, unit: TimeUnit) -> datetime:
    """Truncate a moment to the beginning of its unit, as date_trunc does."""
    if unit in _TIMES:
        within = {"hour": (0, 0), "minute": (moment.minute, 0), "second": (moment.minute, moment.second)}[unit]
        return moment.replace(minute=within[0], second=within[1], microsecond=0)
    return datetime.combine(floor(moment.date(), unit), time())


def after(start: datetime, unit: TimeUnit) -> datetime | None:
    """Return the beginning of the next unit; None beyond the year 9999."""
    try:
        if unit in _MONTHS:
            months = start.year * 12 + start.month - 1 + _MONTHS[unit]
            return datetime(months // 12, months % 12 + 1, 1)
        return start + (_TIMES.get(unit) or (7 * _DAY if unit == "week" else _DAY))
    except (OverflowError, ValueError):
        return None


def less(left: Fact, right: Fact) -> bool | Unknown | None:
    """Decide left < right for all rows: True, False, None for NULL; Unknown where rows may differ."""
    if NULL in (left, right):
        return None
    if isinstance(left, Known) and isinstance(right, Known):
        return _compared(left.value, right.value)
    if isinstance(left, Within) and isinstance(right, Known) and isinstance(right.value, datetime):
        if left.end is not None and (left.end <= right.value or (left.whole_days and _last(left) < right.value)):
            return True
        return False if left.first is not None and left.first >= right.value else UNKNOWN
    if isinstance(right, Within) and isinstance(left, Known) and isinstance(left.value, datetime):
        if right.first is not None and right.first > left.value:
            return True
        before = right.end is not None and (
            right.end <= left.value or (right.whole_days and _last(right) <= left.value)
        )
        return False if before else UNKNOWN
    return UNKNOWN


def equal(left: Fact, right: Fact) -> bool | Unknown | None:
    """Decide left = right for all rows: True, False, None for NULL; Unknown where rows may differ."""
    if NULL in (left, right):
        return None
    if isinstance(left, Known) and isinstance(right, Known):
        return _equals(left.value, right.value)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Other) and isinstance(other, Known):
            return False if other.value in one.values else UNKNOWN
        if isinstance(one, Within) and isinstance(other, Known):
            if less(one, other) is True or less(other, one) is True:
                return False
            if one.whole_days and one.first is not None and one.first == one.last == other.value:
                return True
    return UNKNOWN


def _last(span: Within) -> datetime:
    assert span.last is not None, "it has an end"
    return span.last


def _compared(left: Plain, right: Plain) -> bool | Unknown:
    """Compare numbers and moments. Only the database knows the order of texts."""
    numbers = _is_number(left) and _is_number(right)
    moments = isinstance(left, datetime) and isinstance(right, datetime)
    return left < right if numbers or moments else UNKNOWN  # type: ignore[operator]


def _equals(left: Plain, right: Plain) -> bool | Unknown:
    if isinstance(left, str) and isinstance(right, str):  # blanks at an end do not count in char(n)
        return left == right if left == left.rstrip(" ") and right == right.rstrip(" ") else UNKNOWN
    alike = type(left) is type(right) or (_is_number(left) and _is_number(right))
    return left == right if alike else UNKNOWN


def _is_number(value: Plain) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)
