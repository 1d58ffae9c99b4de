"""Texts of dates and times in ISO 8601's order, read as PostgreSQL reads them where its TimeZone is UTC."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta

_HOURS = r"\d{1,2}(?:\d{2})?|\d{1,2}(?::\d{1,2}){1,2}"
_MOMENT = re.compile(
    rf"""\s*(?:(?P<year>\d{{4}})-(?P<month>\d{{1,2}})-(?P<day>\d{{1,2}})|(?P<digits>\d{{8}}))
    (?:(?:\s+|\s*[Tt]\s*)(?P<hour>\d{{1,2}}):(?P<minute>\d{{1,2}})(?::(?P<second>\d{{1,2}})(?P<fraction>\.\d{{0,12}})?)?
       (?:\s*(?P<zone>[Zz]|[Uu][Tt][Cc]|[+-](?:{_HOURS})))?
      |\s*(?P<day_zone>[Zz]|[Uu][Tt][Cc]|[+](?:{_HOURS})))?\s*""",
    re.VERBOSE | re.ASCII,
)
_MOST_HOURS = 15
"""Of an offset."""


@dataclass(frozen=True)
class MomentText:
    """What a text says.

    Attributes:
      day: as written.
      local: as written, without its offset; None beyond the years 1 to 9999.
      utc: at UTC, the same where no offset is written; None beyond these years.
      zoned: is an offset written?
    """

    day: date
    local: datetime | None
    utc: datetime | None
    zoned: bool


def read_moment(text: str) -> MomentText | None:
    """Read `2023-06-01`, `2023-6-1 12:00`, `20230601T120000.5+05:30` without its blanks; None for anything else.

    A date takes the day of a text, a timestamp without time zone ignores its offset, one with time zone heeds it: the
    type of the column or of the cast says which of the three is meant. 24:00 and second 60 are the next minute's, and
    fractions are rounded to microseconds. Neither `infinity` nor `today` is read.

    >>> read_moment("2023-6-1T23:30:00-0530").utc
    datetime.datetime(2023, 6, 2, 5, 0)
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    parts = found.groupdict()
    digits = parts["digits"]
    written = (digits[:4], digits[4:6], digits[6:]) if digits else (parts["year"], parts["month"], parts["day"])
    zone = parts["zone"] or parts["day_zone"]
    passed, offset = _time(parts), _offset(zone)
    if passed is None or offset is None:
        return None
    try:
        day = date(int(written[0]), int(written[1]), int(written[2]))
    except ValueError:
        return None
    return MomentText(day, _after(day, passed), _after(day, passed - offset), zone is not None)


def moment_text(value: date | datetime) -> str:
    """A date or a time as PostgreSQL writes it in ISO 8601's order: the text that literals and answers have of it.

    >>> moment_text(date(2024, 5, 17)), moment_text(datetime(2024, 5, 17))
    ('2024-05-17', '2024-05-17 00:00:00')
    """
    return value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()


_BEFORE_CHRIST = " BC"
_ENDLESS = ("infinity", "-infinity")


def zoned_text(text: str) -> str:
    """A moment at UTC as PostgreSQL writes one of a timestamptz, from the text of one without time zone.

    >>> [zoned_text(text) for text in ("2024-05-17 12:30:00", "infinity", "0044-03-15 12:00:00 BC")]
    ['2024-05-17 12:30:00+00', 'infinity', '0044-03-15 12:00:00+00 BC']
    """
    if text in _ENDLESS:
        return text
    era = _BEFORE_CHRIST if text.endswith(_BEFORE_CHRIST) else ""
    return f"{text.removesuffix(era)}+00{era}"


def _after(day: date, passed: timedelta) -> datetime | None:
    try:
        return datetime(day.year, day.month, day.day) + passed
    except OverflowError:
        return None


def _time(parts: dict[str, str | None]) -> timedelta | None:
    """What has passed of the day; None for no time of a day."""
    hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
    micros = round(float(f"0{parts['fraction'] or '.'}0") * 1_000_000)
    whole = timedelta(hours=hour, minutes=minute, seconds=second, microseconds=micros)
    return whole if minute <= 59 and second <= 60 and whole <= timedelta(days=1) else None


def _offset(zone: str | None) -> timedelta | None:
    """East of Greenwich; None for no offset that PostgreSQL takes."""
    if zone is None or zone[0] not in "+-":
        return timedelta()
    fields = zone[1:].split(":")
    if len(fields) == 1 and len(zone) > len("+00"):
        fields = [zone[1:-2], zone[-2:]]
    hours, minutes, seconds = (*map(int, fields), 0, 0)[:3]
    if hours > _MOST_HOURS or minutes > 59 or seconds > 59:
        return None
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return -offset if zone[0] == "-" else offset
