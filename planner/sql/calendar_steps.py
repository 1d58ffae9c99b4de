"""Days, weeks, months: the dates and times that a calendar's steps fall on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def floor(day: date, unit: str) -> date:
    """The first day of the day's week, month, quarter or year, as date_trunc has it: weeks begin on Monday.

    >>> floor(date(2024, 5, 17), "quarter"), floor(date(2024, 5, 17), "week")
    (datetime.date(2024, 4, 1), datetime.date(2024, 5, 13))
    """
    if unit == "day":
        return day
    if unit == "week":
        return date.fromordinal(max(1, day.toordinal() - day.weekday()))
    months = _MONTHS[unit]
    return date(day.year, (day.month - 1) // months * months + 1, 1)


def steps(first: date, last: date, unit: str) -> Iterator[date]:
    """The steps from the one that `first` falls in to the one that `last` falls in.

    >>> [str(day) for day in steps(date(2023, 11, 5), date(2024, 1, 1), "month")]
    ['2023-11-01', '2023-12-01', '2024-01-01']
    """
    current = floor(first, unit)
    while current <= last:
        yield current
        try:
            current = _next(current, unit)
        except (ValueError, OverflowError):  # the calendar ends
            return


def _next(day: date, unit: str) -> date:
    if unit in ("day", "week"):
        return day + timedelta(days=1 if unit == "day" else 7)
    months = day.year * 12 + day.month - 1 + _MONTHS[unit]
    return date(months // 12, months % 12 + 1, 1)
