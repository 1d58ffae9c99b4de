"""Result types: how answers show each SQL type, and which types may be group keys.

`server/results/result_types.py` has the forms for clients. A new type needs an entry in both.
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
    Family.INTERVAL: ("interval", None),
}
"""The result type of each SQL type in public answers, and the cast that asks for it; None: no cast. Datetimes become
ISO text, which every driver can hold.
"""
_NO_KEYS = frozenset({Family.FLOAT, Family.TIMESTAMPTZ, Family.UUID, Family.TIME, Family.INET, Family.OTHER,
                      Family.INTERVAL})  # fmt: skip
_KEYS = {family: shown for family, (shown, _) in _SHOWN.items() if family not in _NO_KEYS}
MOMENTS: Mapping[ResultType, Family] = {
    "date": Family.DATE,
    "timestamp": Family.TIMESTAMP,
    "timestamptz": Family.TIMESTAMPTZ,
}
"""The SQL type of a text that is compared with a result of these types."""


def result_type(kind: SqlType) -> ResultType | None:
    """The result type of a group key; None if the type cannot be a key."""
    return _KEYS.get(kind.family)


def shown_as(column: exp.Expr, kind: SqlType) -> tuple[ResultType, exp.Expr]:
    """The result type and the SQL of a public table's column in an answer."""
    if kind == REAL:
        return "float4", column
    shown, target = _SHOWN[kind.family]
    if kind.family is Family.TIMESTAMPTZ:
        column = exp.AtTimeZone(this=column, zone=exp.Literal.string("UTC"))
    return shown, column if target is None else cast_sql(column, target)


def allows_partition_selection(kind: SqlType) -> bool:
    """Whether partition selection can sort and show values of this type as group keys.

    The labels of an enum are known without selection.
    """
    return kind.family in _KEYS and kind.family is not Family.ENUM


def day_key(day: date, family: Family) -> str:
    """The text of a day as a group key; a timestamp key shows its midnight.

    >>> day_key(date(2024, 2, 29), Family.DATE), day_key(date(2024, 2, 29), Family.TIMESTAMP)
    ('2024-02-29', '2024-02-29 00:00:00')
    """
    return moment_text(day if family is Family.DATE else datetime(day.year, day.month, day.day))
