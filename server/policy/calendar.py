"""The closed periods that are checked one by one: months, recent days, and everything before them.

A month becomes one period once it has been over for `_BY_DAYS`. Until then its days are periods. So cached answers
about the first half of a month stay valid after the second half is closed, since a period has one version only.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

_BEFORE = "<"
_EARLIEST = date(2000, 1, 1)
"""Where the months begin if a table declares no range."""

_MOST_MONTHS = 1_200

_BY_DAYS = timedelta(days=92)


def closed_periods(before: date, declared_first: date | None = None) -> Iterator[str]:
    """The names of the periods that cover all days before one, in order; they are public.

    Args:
      before: the first day that is not closed.
      declared_first: the first day of the declared range, in whose month the months begin.

    >>> found = list(closed_periods(date(2024, 6, 3), date(2024, 1, 15)))
    >>> found[:4], found[-2:]
    (['<2024-01-01', '2024-01', '2024-02', '2024-03-01'], ['2024-06-01', '2024-06-02'])
    >>> list(closed_periods(date(2024, 3, 3), date(2025, 1, 1)))
    ['<2024-03-03']
    """
    month = max((declared_first or _EARLIEST).replace(day=1), _months_before(before))
    yield f"{_BEFORE}{min(month, before)}"
    while (after := _next_month(month)) + _BY_DAYS <= before:
        yield f"{month:%Y-%m}"
        month = after
    for ordinal in range(month.toordinal(), before.toordinal()):
        yield str(date.fromordinal(ordinal))


def days_of(period: str) -> tuple[date, date]:
    """The first and last day of a period by its name; the earliest date for the period before all others.

    >>> [str(day) for name in ("<2024-01-01", "2024-02", "2024-03-01") for day in days_of(name)]
    ['0001-01-01', '2023-12-31', '2024-02-01', '2024-02-29', '2024-03-01', '2024-03-01']
    """
    if period.startswith(_BEFORE):
        return date.min, date.fromisoformat(period.removeprefix(_BEFORE)) - timedelta(days=1)
    if len(period) == len("2024-02"):
        first = date.fromisoformat(f"{period}-01")
        return first, _next_month(first) - timedelta(days=1)
    day = date.fromisoformat(period)
    return day, day


def _next_month(day: date) -> date:
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


def _months_before(day: date) -> date:
    months = max(12, day.year * 12 + day.month - 1 - _MOST_MONTHS)
    return date(months // 12, months % 12 + 1, 1)
