"""Time zones of sessions: their names, and conversions between local time and UTC, by zoneinfo."""

from __future__ import annotations

import re
from datetime import UTC as _UTC
from datetime import date, datetime, timedelta, timezone, tzinfo
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

UTC = "UTC"
"""The default zone of a session, in which no conversion is needed."""

_SAME_AS_UTC = frozenset(
    {"utc", "etc/utc", "uct", "etc/uct", "gmt", "etc/gmt", "z", "zulu", "etc/zulu", "universal", "etc/universal",
     "greenwich", "etc/greenwich", "gmt0", "etc/gmt0", "gmt+0", "etc/gmt+0", "gmt-0", "etc/gmt-0", "+00", "+00:00"}
)  # fmt: skip
"""Names of UTC, in lower case."""

_NUMBER = re.compile(r"(?P<sign>[+-]?)(?P<hours>[0-9]{1,2})(?:\.0*)?", re.ASCII)
_FIXED = re.compile(r"<[+-][0-9]{2}>(?P<sign>[+-])(?P<hours>[0-9]{2})", re.ASCII)
_MOST_HOURS = 14


def zone_named(text: str) -> str | None:
    """The name of a time zone as PostgreSQL shows it; None for an unknown zone.

    Names are IANA's, in any case. A whole number means hours east of UTC. Abbreviations such as PST, and written
    rules, are not supported.

    >>> [zone_named(text) for text in ("europe/zurich", "UTC", "-7", "Mars/Olympus")]
    ['Europe/Zurich', 'UTC', '<-07>+07', None]
    """
    name = text.strip()
    number = _NUMBER.fullmatch(name)
    if number is not None:
        hours = int(f"{number['sign']}{number['hours']}")
        return None if abs(hours) > _MOST_HOURS else f"<{hours:+03}>{-hours:+03}" if hours else UTC
    if _FIXED.fullmatch(name) and abs(int(name[-3:])) <= _MOST_HOURS:
        return name
    return _names().get(name.lower()) or (name if name.lower() in _SAME_AS_UTC else None)


def is_utc(zone: str) -> bool:
    """Whether a name of a time zone means UTC.

    >>> is_utc("GMT"), is_utc("Europe/London")
    (True, False)
    """
    return zone.strip().lower() in _SAME_AS_UTC


def instant(local: datetime, zone: str) -> datetime:
    """Convert a zone's local time to UTC; neither value has a tzinfo.

    As in PostgreSQL, a skipped time continues from the time before, and of a repeated time the later one counts.
    Raises: OverflowError beyond the years 1 to 9999.

    >>> [str(instant(datetime(2024, month, 31 if month == 3 else 27, 2, 30), "Europe/Zurich")) for month in (3, 10)]
    ['2024-03-31 01:30:00', '2024-10-27 01:30:00']
    """
    there = local.replace(tzinfo=_rules(zone))
    first, second = there.utcoffset(), there.replace(fold=1).utcoffset()
    assert first is not None and second is not None, "of a zone"
    return local - (second if first > second else first)


def local_time(moment: datetime, zone: str) -> datetime:
    """Convert UTC to a zone's local time; neither value has a tzinfo. Raises: OverflowError, as `instant`.

    >>> str(local_time(datetime(2024, 3, 31, 1, 30), "Europe/Zurich"))
    '2024-03-31 03:30:00'
    """
    return moment.replace(tzinfo=_UTC).astimezone(_rules(zone)).replace(tzinfo=None, fold=0)


def text_in(text: str, zone: str) -> str:
    """Write the text of a moment at UTC in a zone, with its distance from UTC, as PostgreSQL does.

    A moment beyond the years 1 to 9999 stays at UTC.

    >>> [text_in(f"{moment}+00", "Asia/Kolkata") for moment in ("2024-05-17 12:30:00.25", "9999-12-31 23:00:00")]
    ['2024-05-17 18:00:00.25+05:30', '9999-12-31 23:00:00+00']
    """
    try:
        there = datetime.fromisoformat(text).astimezone(_rules(zone))
    except (ValueError, OverflowError):
        return text
    written = there.isoformat(" ", "seconds")
    local, distance = written[:19], written[19:]
    return f"{local}{text[19:].removesuffix('+00')}{distance.removesuffix(':00')}"


def days_shown(first: date, last: date, zone: str) -> tuple[date, date]:
    """The first and last local day from the start of `first` to the end of `last`, both at UTC.

    Raises: OverflowError beyond the years 1 to 9999.

    >>> print(*days_shown(date(2024, 1, 1), date(2024, 12, 31), "Europe/Zurich"))
    2024-01-01 2025-01-01
    """
    start, end = (datetime(day.year, day.month, day.day) for day in (first, last + _DAY))
    early = first - _DAY if _changes(start, zone) else local_time(start, zone).date()
    late = last + _DAY if _changes(end - _DAY - _HOUR, zone) else local_time(end - _HOUR / 3600, zone).date()
    return early, late


def _changes(start: datetime, zone: str) -> bool:
    """Does the zone change its clock within the day, so that a time repeats or a day differs?"""
    shown = (local_time(start + hour * _HOUR, zone) - hour * _HOUR for hour in range(26))
    return len(set(shown)) > 1


_DAY, _HOUR = timedelta(days=1), timedelta(hours=1)


@lru_cache(maxsize=64)
def _rules(zone: str) -> tzinfo:
    fixed = _FIXED.fullmatch(zone)
    return ZoneInfo(zone) if fixed is None else timezone(-timedelta(hours=int(f"{fixed['sign']}{fixed['hours']}")))


@cache
def _names() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones() if name not in ("Factory", "localtime")}
