"""Formats of to_char: which patterns of a date or time are written, what each is, and how DuckDB's strftime has it.

PostgreSQL reads a format by its longest patterns and copies the rest, so an unknown letter may be the start of a
pattern of another version: only signs and quoted texts are copied here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Finest = Literal["day", "hour", "minute", "second"]
"""What a pattern tells of a time: the same for all moments of such a step."""


@dataclass(frozen=True)
class Pattern:
    """One pattern, or a text that is copied.

    Attributes:
      written: for PostgreSQL.
      width: the most characters of what it gives.
      strftime: the same for DuckDB's strftime; None where it has none.
      finest: how finely it tells times apart; None for a text.
      field: the field of EXTRACT whose number it is, where strftime has none.
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
    )
}  # fmt: skip

_LONGEST = max(map(len, _PATTERNS))

_CASED = frozenset({"MONTH", "MON", "DAY", "DY", "AM", "PM"})
"""Whose letters' case says how they are written; numbers are as well written in small letters."""

_LONGER = ("SSSS", "IDDD")
"""Patterns of PostgreSQL that begin like two of these."""

_FINEST_FIRST: tuple[Finest, ...] = ("second", "minute", "hour", "day")

_MOST = 200


def patterns(text: str) -> tuple[Pattern, ...] | str:
    """The patterns of a format in order; the first piece that is none.

    >>> [pattern.written for pattern in patterns('YYYY-"W"IW')]
    ['YYYY', '-', '"W"', 'IW']
    >>> patterns("YYYY-J"), patterns("TMMonth")
    ('J', 'TMMonth')
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
        elif sign.isascii() and sign.isprintable() and not sign.isalnum() and sign != "\\":
            found.append(Pattern(sign, 1, "%%" if sign == "%" else sign))
            place += 1
        else:
            pattern = _at(text, place)
            after = text[place + len(pattern.written) : place + len(pattern.written) + 2] if pattern else ""
            if pattern is None or after.upper() in ("TH", "SP"):  # suffixes: 1ST
                return _word(text, place)
            found.append(pattern)
            place += len(pattern.written)
    return tuple(found)


def finest(text: str) -> Finest:
    """How finely a text of this format tells times apart.

    >>> finest("YYYY-MM"), finest("MM HH24"), finest('"HH24:MI"')
    ('day', 'hour', 'day')
    """
    found = patterns(text)
    steps = {"second"} if isinstance(found, str) else {pattern.finest for pattern in found}
    return next((step for step in _FINEST_FIRST if step in steps), "day")


def _at(text: str, place: int) -> Pattern | None:
    """The longest pattern there."""
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
