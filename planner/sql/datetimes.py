"""Dates and times as PostgreSQL reads and writes them: texts, formats of to_char, steps of the calendar.

Texts are read as PostgreSQL reads them with DateStyle ISO and TimeZone UTC. PostgreSQL reads a to_char format by its
longest patterns and copies the rest. A later version may know more patterns, so only signs and quoted texts are
copied here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

_HOURS = r"\d{1,2}(?:\d{2})?|\d{1,2}(?::\d{1,2}){1,2}"
_MOMENT = re.compile(
    rf"""\s*(?:(?P<year>\d{{4}})-(?P<month>\d{{1,2}})-(?P<day>\d{{1,2}})|(?P<digits>\d{{8}}))
    (?:(?:\s+|\s*[Tt]\s*)(?P<hour>\d{{1,2}}):(?P<minute>\d{{1,2}})(?::(?P<second>\d{{1,2}})(?P<fraction>\.\d{{0,12}})?)?
       (?:\s*(?P<zone>[Zz]|[Uu][Tt][Cc]|[+-](?:{_HOURS})))?
      |\s*(?P<day_zone>[Zz]|[Uu][Tt][Cc]|[+](?:{_HOURS})))?\s*""",
    re.VERBOSE | re.ASCII,
)
_MOST_HOURS = 15
"""The largest offset from UTC."""


@dataclass(frozen=True)
class MomentText:
    """The date or time that a text states.

    Attributes:
      day: as written.
      local: the time as written, without its offset; None beyond the years 1 to 9999.
      utc: the time at UTC, equal to `local` without an offset; None beyond these years.
      zoned: does the text state an offset?
    """

    day: date
    local: datetime | None
    utc: datetime | None
    zoned: bool


def read_moment(text: str) -> MomentText | None:
    """Read a date or a time, such as `2023-06-01`, `2023-6-1 12:00` or `20230601T120000.5+05:30`.

    A date uses `day`, a timestamp without time zone `local`, one with time zone `utc`. 24:00 and second 60 belong to
    the next minute. Fractions are rounded to microseconds.
    Returns: None for any other text, and for `infinity` and `today`.

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
    """The text of a date or time in ISO 8601's order, as in literals and answers.

    >>> moment_text(date(2024, 5, 17)), moment_text(datetime(2024, 5, 17))
    ('2024-05-17', '2024-05-17 00:00:00')
    """
    return value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()


_BEFORE_CHRIST = " BC"
_ENDLESS = ("infinity", "-infinity")


def zoned_text(text: str) -> str:
    """The text of a timestamptz at UTC, from the text of the same timestamp without time zone.

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
    """The time of day; None if there is no such time."""
    hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
    micros = round(float(f"0{parts['fraction'] or '.'}0") * 1_000_000)
    whole = timedelta(hours=hour, minutes=minute, seconds=second, microseconds=micros)
    return whole if minute <= 59 and second <= 60 and whole <= timedelta(days=1) else None


def _offset(zone: str | None) -> timedelta | None:
    """The offset east of Greenwich; None if PostgreSQL takes no such offset."""
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


Finest = Literal["day", "hour", "minute", "second"]
"""The finest step of time that a pattern shows: its text is the same for all moments of the step."""


@dataclass(frozen=True)
class Pattern:
    """One pattern of a format, or a copied text.

    Attributes:
      written: the pattern for PostgreSQL.
      width: the most characters of its text.
      strftime: the same pattern for DuckDB's strftime; None if it has none.
      finest: the finest step that it shows; None for a copied text.
      field: the EXTRACT field with the same number, where strftime has no pattern.
    """

    written: str
    width: int
    strftime: str | None
    finest: Finest | None = None
    field: str | None = None


_PATTERNS: dict[str, Pattern] = {
    pattern.written: pattern
    for pattern in (
        Pattern("YYYY", 4, "%Y", "day"), Pattern("YY", 2, "%y", "day"), Pattern("IYYY", 4, "%G", "day"),
        Pattern("MM", 2, "%m", "day"), Pattern("MONTH", 9, None, "day"), Pattern("Month", 9, None, "day"),
        Pattern("month", 9, None, "day"), Pattern("MON", 3, None, "day"), Pattern("Mon", 3, "%b", "day"),
        Pattern("mon", 3, None, "day"), Pattern("Q", 1, None, "day", "QUARTER"), Pattern("IW", 2, "%V", "day"),
        Pattern("DDD", 3, "%j", "day"), Pattern("DD", 2, "%d", "day"), Pattern("ID", 1, "%u", "day"),
        Pattern("DAY", 9, None, "day"), Pattern("Day", 9, None, "day"), Pattern("day", 9, None, "day"),
        Pattern("DY", 3, None, "day"), Pattern("Dy", 3, "%a", "day"), Pattern("dy", 3, None, "day"),
        Pattern("HH24", 2, "%H", "hour"), Pattern("HH12", 2, "%I", "hour"), Pattern("HH", 2, "%I", "hour"),
        Pattern("AM", 2, "%p", "hour"), Pattern("PM", 2, "%p", "hour"), Pattern("MI", 2, "%M", "minute"),
        Pattern("SS", 2, "%S", "second"), Pattern("MS", 3, "%g", "second"), Pattern("US", 6, "%f", "second"),
        Pattern("FMMonth", 9, "%B", "day"), Pattern("FMDay", 9, "%A", "day"), Pattern("FMMM", 2, "%-m", "day"),
        Pattern("FMDD", 2, "%-d", "day"), Pattern("FMHH24", 2, "%-H", "hour"),
        Pattern("FMmonth", 9, None, "day"), Pattern("FMMONTH", 9, None, "day"), Pattern("FMday", 9, None, "day"),
        Pattern("FMDAY", 9, None, "day"), Pattern("D", 1, None, "day", "DOW"), Pattern("WW", 2, None, "day", "DOY"),
    )
}  # fmt: skip

_LONGEST = max(map(len, _PATTERNS))

_CASED = frozenset({"MONTH", "MON", "DAY", "DY", "AM", "PM"})
"""Patterns whose case decides the case of the text. Patterns of numbers may be in lower case."""

_NAMES = frozenset({"MONTH", "MON", "DAY", "DY"})
"""Patterns of names."""

_LONGER = ("SSSS", "IDDD")
"""PostgreSQL's patterns that start with two of these."""

_FINEST_FIRST: tuple[Finest, ...] = ("second", "minute", "hour", "day")

_MOST = 200


def patterns(text: str) -> tuple[Pattern, ...] | str:
    """Split a format into its patterns; for an unsupported format, return its first unsupported piece.

    >>> [pattern.written for pattern in patterns('YYYY-"W"IW')]
    ['YYYY', '-', '"W"', 'IW']
    >>> patterns("YYYY-J"), patterns("TMMonth")[0].written
    ('J', 'FMMonth')
    """
    found: list[Pattern] = []
    place = 0
    if len(text) > _MOST:
        return text
    while place < len(text):
        sign = text[place]
        if sign == '"':
            end = text.find('"', place + 1)
            quoted = text[place + 1 : end]
            if end < 0 or "\\" in quoted or not quoted.isprintable():
                return text[place:]
            found.append(Pattern(text[place : end + 1], len(quoted), quoted.replace("%", "%%")))
            place = end + 1
        elif sign.isascii() and sign.isprintable() and not sign.isalpha() and sign != "\\":
            found.append(Pattern(sign, 1, "%%" if sign == "%" else sign))
            place += 1
        else:
            pattern = _at(text, place)
            after = text[place + len(pattern.written) : place + len(pattern.written) + 2] if pattern else ""
            if pattern is None and text[place : place + 2] == "TM":  # names in the language of the server: English
                pattern = _at("FM" + text[place + 2 :], 0) or _at(text[place + 2 :], 0)
                if pattern is not None and pattern.written.removeprefix("FM").upper() in _NAMES:
                    found.append(pattern)
                    place += 2 + len(pattern.written.removeprefix("FM"))
                    continue
                pattern = None
            if pattern is None or after.upper() in ("TH", "SP"):  # suffixes: 1ST
                return _word(text, place)
            found.append(pattern)
            place += len(pattern.written)
    return tuple(found)


_PARTS = {
    "YYYY": (0, 4), "MM": (1, 2), "DD": (2, 2), "FMMM": (1, 2), "FMDD": (2, 2), "HH24": (3, 2), "FMHH24": (3, 2),
    "MI": (4, 2), "SS": (5, 2),
}  # fmt: skip
_YEAR = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_FOURTH = "(?:0[48]|[2468][048]|[13579][26])"
_LEAP_YEAR = f"(?:[0-9]{{2}}{_FOURTH}|{_FOURTH}00)"
_MONTH, _DAY = "(?:0?[1-9]|1[0-2])", "(?:0?[1-9]|[12][0-9]|3[01])"
_DATES = (
    (_YEAR, _MONTH, "(?:0?[1-9]|1[0-9]|2[0-8])"),
    (_YEAR, "(?:0?[13-9]|1[0-2])", "(?:29|30)"),
    (_YEAR, "(?:0?[13578]|1[02])", "31"),
    (_LEAP_YEAR, "0?2", "29"),
)
"""Regular expressions of years, months and days, each with each; together they match all dates."""

_TIME = ("(?:[01]?[0-9]|2[0-3])", "[0-5]?[0-9]", "[0-5]?[0-9]")
_NO_TIME = {(0,), (0, 1), (0, 2), (0, 1, 2)}
_WITH_TIME = {(0, 1, 2, 3), (0, 1, 2, 3, 4), (0, 1, 2, 3, 4, 5)}


def date_form(form: str) -> str | None:
    """As `moment_form`, for forms of dates only."""
    return None if shows_time(form) else moment_form(form)


def shows_time(form: str) -> bool:
    """Whether a form of `moment_form` states a time of day."""
    return any(part >= 3 for part, _ in _pieces(form) if part is not None)


def moment_type(forms: Sequence[str]) -> str:
    """The type of what a text states in these forms."""
    return "timestamp without time zone" if any(map(shows_time, forms)) else "date"


def moment_form(form: str) -> str | None:
    """The regular expression of all texts that state a date in this form, or a date and a time.

    A month or day may have one digit where a sign follows or it ends. Without a month or day it is the first one. No
    text matches whose date the calendar lacks, or beyond the years 1 to 9999; so no database fails to read one.
    Returns: None for a form with other patterns, without a year, or with copied digits, which could join the numbers.

    >>> date_form("MM/YYYY")
    '^(?:(?:0?[1-9]|1[0-2])/(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000))$'
    >>> found = re.compile(moment_form("YYYYMMDD"))
    >>> [text for text in ("20240229", "20230229", "00000101", "20240431", "2024123") if found.match(text)]
    ['20240229']
    >>> moment_form("YYYY-MM-DD HH24:SS"), moment_form("YYYY-MM HH24"), moment_form("Mon DD")
    (None, None, None)
    """
    pieces = _pieces(form)
    parts = tuple(sorted(part for part, _ in pieces if part is not None))
    if parts not in _NO_TIME | _WITH_TIME:
        return None

    def written(numbers: Sequence[str], some: Sequence[tuple[int | None, str]]) -> str:
        read = (*numbers, *_TIME)
        return "".join(text if part is None else _fixed(read[part], text) for part, text in some)

    if parts[:3] != (0, 1, 2):
        return f"^(?:{written((_YEAR, _MONTH, _DAY), pieces)})$"
    *common, leap = _DATES
    first, last = (ends([place for place, (part, _) in enumerate(pieces) if part in (1, 2)]) for ends in (min, max))
    days = "|".join(written(one, pieces[first : last + 1]) for one in common)
    before, after = written(common[0], pieces[:first]), written(common[0], pieces[last + 1 :])
    return f"^(?:{before}(?:{days}){after}|{written(leap, pieces)})$"


def _fixed(number: str, few: str) -> str:
    return number.replace("]?", "]").replace("0?", "0") if few == "" else number


def _pieces(form: str) -> list[tuple[int | None, str]]:
    """The parts of a date in a form's order, with "?" if one digit may do; and the copied texts between them.

    It is empty for other forms.
    """
    found = patterns(form)
    if isinstance(found, str):
        return []
    pieces: list[tuple[int | None, str]] = []
    for place, pattern in enumerate(found):
        copied = pattern.written.strip('"')
        if pattern.finest is None and not re.search(r"\d", copied):
            pieces.append((None, re.escape(copied)))
        elif pattern.written in _PARTS:
            beside = [found[at] for at in (place - 1, place + 1) if 0 <= at < len(found)]
            pieces.append((_PARTS[pattern.written][0], "?" if all(one.finest is None for one in beside) else ""))
        else:
            return []
    return pieces


def ambiguous(form: str, other: str) -> bool:
    """May one text state two different dates in these forms?

    Copied texts have no digits, so both forms must read a text's runs of digits by pairs. If they differ in what a
    pair means, let that pair be 11 and the others 12: both forms then read a date, and another one.

    >>> ambiguous("DD/MM/YYYY", "MM/DD/YYYY"), ambiguous("DD.MM.YYYY", "YYYY-MM-DD"), ambiguous("YYYYMM", "MMYYYY")
    (True, False, True)
    """
    (shape, meant), (other_shape, other_meant) = map(_shape, (form, other))
    return shape == other_shape and meant != other_meant


def _shape(form: str) -> tuple[str, list[tuple[int, int]]]:
    """The copied texts with a zero byte for each pair of digits, and the part of a date that each pair is."""
    shape, meant = "", []
    for part, text in _pieces(form):
        pairs = [] if part is None else [(part, half) for half in range(2 if part == 0 else 1)]
        shape += "\0" * len(pairs) or text
        meant += pairs
    return shape, meant


def strptime_form(form: str) -> str:
    """The form for DuckDB's strptime, and for Python's."""
    found = patterns(form)
    assert not isinstance(found, str), "forms are checked where they are declared"
    return "".join((pattern.strftime or "").replace("%-", "%") for pattern in found)


def longest_text(form: str) -> int:
    """The most characters of a text in a form of `moment_form`."""
    found = patterns(form)
    return 0 if isinstance(found, str) else sum(pattern.width for pattern in found)


def read_date(text: str, form: str) -> date | None:
    """The date that a text states in a form of `date_form`; None for any other text.

    >>> read_date("1/12/2024", "DD/MM/YYYY"), read_date("31.02.2024", "DD.MM.YYYY")
    (datetime.date(2024, 12, 1), None)
    """
    found = date_form(form)
    if found is None or re.fullmatch(found, text) is None:
        return None
    return datetime.strptime(text, strptime_form(form)).date()


def date_text(day: date, form: str) -> str:
    """The text of a day, or of a moment, in a form of `moment_form`.

    >>> date_text(date(2024, 5, 7), "DD/MM/YYYY"), date_text(date(987, 5, 7), "YYYYMM")
    ('07/05/2024', '098705')
    """
    found = patterns(form)
    assert not isinstance(found, str), "forms are checked where they are declared"
    numbers = day.timetuple()
    pieces = []
    for pattern in found:
        part, width = _PARTS.get(pattern.written, (0, 0))
        pieces.append(f"{numbers[part]:0{width}}" if width else pattern.written.strip('"'))
    return "".join(pieces)


def finest(text: str) -> Finest:
    """The finest step of time that a text of this format shows.

    >>> finest("YYYY-MM"), finest("MM HH24"), finest('"HH24:MI"')
    ('day', 'hour', 'day')
    """
    found = patterns(text)
    steps = {"second"} if isinstance(found, str) else {pattern.finest for pattern in found}
    return next((step for step in _FINEST_FIRST if step in steps), "day")


def _at(text: str, place: int) -> Pattern | None:
    """The longest pattern at this place."""
    if text[place : place + 4].upper() in _LONGER:
        return None
    for size in range(_LONGEST, 0, -1):
        written = text[place : place + size]
        if len(written) < size:
            continue
        small = written.islower() and written.upper().removeprefix("FM") not in _CASED
        found = _PATTERNS.get(written.upper() if small else written)
        if found is not None:
            return found
    return None


def _word(text: str, place: int) -> str:
    end = place
    while end < len(text) and text[end].isalnum():
        end += 1
    return text[place : max(end, place + 1)]


_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def floor(day: date, unit: str) -> date:
    """The first day of the day's week, month, quarter or year, as in date_trunc. Weeks start on Monday.

    >>> floor(date(2024, 5, 17), "quarter"), floor(date(2024, 5, 17), "week")
    (datetime.date(2024, 4, 1), datetime.date(2024, 5, 13))
    """
    if unit == "day":
        return day
    if unit == "week":
        return date.fromordinal(max(1, day.toordinal() - day.weekday()))
    months = _MONTHS[unit]
    return date(day.year, (day.month - 1) // months * months + 1, 1)


OF_A_DAY = ("hour", "minute", "second")


def begun(moment: date | datetime, unit: str) -> datetime | None:
    """The start of the moment's unit of time, as in date_trunc; None for other units.

    >>> print(begun(datetime(2024, 5, 17, 13, 45), "hour"), begun(date(2024, 5, 17), "month"), begun(date.max, "era"))
    2024-05-17 13:00:00 2024-05-01 00:00:00 None
    """
    if unit in OF_A_DAY:
        start = moment if isinstance(moment, datetime) else datetime(moment.year, moment.month, moment.day)
        minute, second = 0 if unit == "hour" else start.minute, start.second if unit == "second" else 0
        return start.replace(minute=minute, second=second, microsecond=0)
    if unit not in ("day", "week", *_MONTHS):
        return None
    day = floor(date(moment.year, moment.month, moment.day), unit)
    return datetime(day.year, day.month, day.day)


def steps(first: date, last: date, unit: str) -> Iterator[date]:
    """The steps of the calendar from the one with `first` to the one with `last`.

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
