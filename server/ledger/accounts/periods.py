"""Calendar periods in UTC: which one a time lies in, and what an account that renews has behind it.

A period is a whole number that grows by one from each to the next, so that the order of periods is that of numbers.
A person in the data for k periods is protected at their sum: an account says how much all that ended come to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import assert_never

from server.ledger.account import Renewal

_DAY_MS = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()
_MONDAY = date(1969, 12, 29).toordinal()  # of the week of the epoch
_LAST_YEAR = 9998
"""The last whole year of Python's calendar but one: every period has a next one."""


@dataclass(frozen=True)
class Periods:
    """The periods of an account, in whole amounts.

    Attributes:
      current: the period whose budget is being spent.
      previous: the one that was being spent before it was renewed last; the one before `current` at first.
      past_nano, past_atto: nano-epsilon and atto-delta that all ended periods come to.
      peak_nano, peak_atto: the most that was granted to this period before its grant was changed, by an account that
        counts in zCDP or Renyi; 0 where it was not changed.
    """

    current: int
    previous: int
    past_nano: int = 0
    past_atto: int = 0
    peak_nano: int = 0
    peak_atto: int = 0

    @classmethod
    def beginning(cls, period: int) -> Periods:
        """As an account stands in its first period, with none behind it."""
        return cls(period, period - 1)

    def set_back(self, now: int) -> Periods:
        """After it was noticed that the clock had been ahead; `now` is the period in which it is.

        A period that had not begun was lent: its budget is that of the one after both the present one and the one
        before the loan. So each loan is paid back by one period without, and however far the clock was ahead, no more
        than that is waited for.
        """
        if self.current <= now:
            return self
        current = min(self.current, max(now, self.previous) + 1)
        return replace(self, current=current)


def period_at(renew: Renewal, utc_ms: int) -> int:
    """The number of the period in which a time lies.

    >>> period_at("month", 0), period_at("quarter", 0), period_at("week", 4 * 86_400_000)
    (23640, 7880, 1)
    """
    day = utc_ms // _DAY_MS + _EPOCH
    at = date.fromordinal(min(max(day, 1), date(_LAST_YEAR, 12, 31).toordinal()))
    match renew:
        case "day":
            return at.toordinal() - _EPOCH
        case "week":
            return (at.toordinal() - _MONDAY) // 7
        case "month":
            return 12 * at.year + at.month - 1
        case "quarter":
            return 4 * at.year + (at.month - 1) // 3
        case "year":
            return at.year
        case _:
            assert_never(renew)


def period_start_ms(renew: Renewal, period: int) -> int:
    """When a period begins, in milliseconds since the epoch."""
    return (_first_day(renew, period).toordinal() - _EPOCH) * _DAY_MS


def period_name(renew: Renewal, period: int) -> str:
    """A period for people.

    >>> period_name("month", 23640), period_name("quarter", 7880), period_name("week", 0)
    ('1970-01', '1970-Q1', '1970-W01')
    """
    day = _first_day(renew, period)
    match renew:
        case "day":
            return day.isoformat()
        case "week":
            year, week, _ = day.isocalendar()
            return f"{year:04}-W{week:02}"
        case "month":
            return f"{day.year:04}-{day.month:02}"
        case "quarter":
            return f"{day.year:04}-Q{(day.month + 2) // 3}"
        case "year":
            return f"{day.year:04}"
        case _:
            assert_never(renew)


def day_of(utc_ms: int) -> str:
    """The day of a time, for people."""
    return (datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=utc_ms)).strftime("%Y-%m-%d")


def _first_day(renew: Renewal, period: int) -> date:
    match renew:
        case "day":
            return date.fromordinal(period + _EPOCH)
        case "week":
            return date.fromordinal(7 * period + _MONDAY)
        case "month":
            return date(period // 12, period % 12 + 1, 1)
        case "quarter":
            return date(period // 4, 3 * (period % 4) + 1, 1)
        case "year":
            return date(period, 1, 1)
        case _:
            assert_never(renew)
