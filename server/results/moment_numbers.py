"""Days and microseconds of moments' texts, as PostgreSQL's binary form and Arrow count them: also far from today."""

from __future__ import annotations

import re
from datetime import date

_MOMENT = re.compile(
    r"(?P<sign>[+-]?)(?P<year>\d{4,7})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?:[ T](?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<fraction>\d{1,6}))?)?"
    r"(?:[+-]00(?::?00)?|Z)?(?P<before_christ> \(?BC\)?)?",
    re.ASCII,
)
_ENDLESS = {"infinity": 1, "-infinity": -1}
_YEARS, _DAYS = 400, 146_097
"""After so many years, of so many days, the calendar repeats itself."""

_DAY_US = 86_400_000_000


def endless(text: str) -> int:
    """1 for `infinity`, -1 for `-infinity`, else 0.

    >>> [endless(text) for text in ("infinity", "-infinity", "2024-05-17")]
    [1, -1, 0]
    """
    return _ENDLESS.get(text, 0)


def days_after(text: str, start: date) -> int:
    """Days from a date to the one of a text, in the Gregorian calendar carried on to both sides, as PostgreSQL does.

    Args:
      text: a finite date or moment at UTC as a database writes it: `2024-05-17`, `12024-05-17`, `0044-03-15 BC`.
      start: where counting begins.
    Raises: ValueError for other texts.

    >>> days_after("2000-01-02", date(2000, 1, 1)), days_after("0001-12-31 BC", date(1, 1, 1))
    (1, -1)
    >>> days_after("10000-01-01", date(9999, 12, 31))
    1
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError
    year = int(found["year"])
    if found["before_christ"]:
        year = 1 - year  # the year 1 BC is the year 0 of astronomers and of ISO 8601
    elif found["sign"] == "-":
        year = -year
    turns, rest = divmod(year - 1, _YEARS)
    day = date(rest + 1, int(found["month"]), int(found["day"]))
    return turns * _DAYS + day.toordinal() - start.toordinal()


def microseconds_after(text: str, start: date) -> int:
    """Microseconds from the midnight of a date to the moment of a text.

    Args:
      text, start: as of `days_after`.
    Raises: ValueError for other texts.

    >>> microseconds_after("2000-01-01 00:00:01.5+00", date(2000, 1, 1))
    1500000
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError
    seconds = 3_600 * int(found["hour"] or 0) + 60 * int(found["minute"] or 0) + int(found["second"] or 0)
    return days_after(text, start) * _DAY_US + seconds * 1_000_000 + int((found["fraction"] or "0").ljust(6, "0"))
