"""Result types: the one table of what the planner knows of the types that columns of answers have.

Which SQL types are shown as which, how, and which of them may be group keys; how a day or a time that follows from
public knowledge alone is written, as the key of a group. The forms for clients stand in
`server/results/result_types.py`; a new type is an entry in each of the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime

from sqlglot import exp

from planner.sql.datetimes import moment_text
from planner.sql.sql_types import REAL, Family, ResultType, SqlType
from planner.sql.trees import cast_sql

KeyCell = str | int | float | bool | None

_SHOWN: Mapping[Family, tuple[ResultType, str | None]] = {
    Family.INTEGER: ("int8", "BIGINT"),
    Family.FLOAT: ("float8", None),
    Family.NUMERIC: ("numeric", None),
    **dict.fromkeys((Family.TEXT, Family.CHAR), ("text", None)),
    **dict.fromkeys((Family.UUID, Family.TIME, Family.INET, Family.ENUM, Family.OTHER), ("text", "TEXT")),
    Family.BOOL: ("bool", None),
    Family.DATE: ("date", "TEXT"),
    Family.TIMESTAMP: ("timestamp", "TEXT"),
    Family.TIMESTAMPTZ: ("timestamptz", "TEXT"),
}
"""How public answers show a SQL type, and as what they ask for it: of moments the ISO text, which every driver can
hold; None: as it is.
"""
_NO_KEYS = frozenset({Family.FLOAT, Family.TIMESTAMPTZ, Family.UUID, Family.TIME, Family.INET, Family.OTHER})
_KEYS = {family: shown for family, (shown, _) in _SHOWN.items() if family not in _NO_KEYS}
MOMENTS: Mapping[ResultType, Family] = {
    "date": Family.DATE,
    "timestamp": Family.TIMESTAMP,
    "timestamptz": Family.TIMESTAMPTZ,
}
"""As which SQL type a text is read that is compared with a result of these types."""


def result_type(kind: SqlType) -> ResultType | None:
    """The type that a group key of this type has in an answer; None where it cannot be a key."""
    return _KEYS.get(kind.family)


def shown_as(column: exp.Expr, kind: SqlType) -> tuple[ResultType, exp.Expr]:
    """A column of a public table as an answer has it: type and SQL."""
    if kind == REAL:
        return "float4", column
    shown, target = _SHOWN[kind.family]
    if kind.family is Family.TIMESTAMPTZ:
        column = exp.AtTimeZone(this=column, zone=exp.Literal.string("UTC"))
    return shown, column if target is None else cast_sql(column, target)


def is_discoverable(kind: SqlType) -> bool:
    """May values of this type, found in private rows, be sorted and shown as group keys?

    NaN has no order; the labels of an enum need not be found.
    """
    return kind.family in _KEYS and kind.family not in (Family.NUMERIC, Family.ENUM)


def day_key(day: date, family: Family) -> str:
    """A day as the key of a group: the text that an answer has of it, at midnight where the key is a time.

    >>> day_key(date(2024, 2, 29), Family.DATE), day_key(date(2024, 2, 29), Family.TIMESTAMP)
    ('2024-02-29', '2024-02-29 00:00:00')
    """
    return moment_text(day if family is Family.DATE else datetime(day.year, day.month, day.day))
