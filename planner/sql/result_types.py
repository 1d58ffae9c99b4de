"""Result types: the one table of what the planner knows of the types that columns of answers have.

Which SQL types are shown as which, how, and which of them may be group keys; how a day or a time that follows from
public knowledge alone is written, as the key of a group. The forms for clients stand in
`server/results/result_types.py`; a new type is an entry in each of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from types import MappingProxyType

from sqlglot import exp

from planner.sql.datetimes import moment_text
from planner.sql.sql_types import REAL, Family, ResultType, SqlType
from planner.sql.trees import cast_sql

KeyCell = str | int | float | bool | None

Shown = Callable[[exp.Expr], exp.Expr]
"""From a column to what an answer has of it: moments as ISO text, which every driver can hold."""


def _itself(column: exp.Expr) -> exp.Expr:
    return column


def _as_bigint(column: exp.Expr) -> exp.Expr:
    return cast_sql(column, "BIGINT")


def _as_text(column: exp.Expr) -> exp.Expr:
    return cast_sql(column, "TEXT")


def _as_text_at_utc(column: exp.Expr) -> exp.Expr:
    return cast_sql(exp.AtTimeZone(this=column, zone=exp.Literal.string("UTC")), "TEXT")


@dataclass(frozen=True)
class ResultTypeFacts:
    """What the planner knows of a result type.

    Attributes:
      shown: the SQL types that public answers show as it, and how.
      keys: the SQL types of which a private question's group keys have it.
      moment: as which SQL type a text that is compared with it is read; None: as a text.
    """

    shown: Mapping[Family, Shown]
    keys: frozenset[Family] = frozenset()
    moment: Family | None = None


_SHOWN_AS_TEXT = (Family.UUID, Family.TIME, Family.INET, Family.ENUM, Family.OTHER)

RESULT_TYPES: Mapping[ResultType, ResultTypeFacts] = MappingProxyType(
    {
        "int8": ResultTypeFacts({Family.INTEGER: _as_bigint}, frozenset({Family.INTEGER})),
        "float4": ResultTypeFacts({}),  # of REAL, whose family float8 has
        "float8": ResultTypeFacts({Family.FLOAT: _itself}),
        "numeric": ResultTypeFacts({Family.NUMERIC: _itself}, frozenset({Family.NUMERIC})),
        "text": ResultTypeFacts(
            {Family.TEXT: _itself, Family.CHAR: _itself, **dict.fromkeys(_SHOWN_AS_TEXT, _as_text)},
            frozenset({Family.TEXT, Family.CHAR, Family.ENUM}),
        ),
        "bool": ResultTypeFacts({Family.BOOL: _itself}, frozenset({Family.BOOL})),
        "date": ResultTypeFacts({Family.DATE: _as_text}, frozenset({Family.DATE}), moment=Family.DATE),
        "timestamp": ResultTypeFacts(
            {Family.TIMESTAMP: _as_text}, frozenset({Family.TIMESTAMP}), moment=Family.TIMESTAMP
        ),
        "timestamptz": ResultTypeFacts({Family.TIMESTAMPTZ: _as_text_at_utc}, moment=Family.TIMESTAMPTZ),
    }
)

_SHOWN = {family: (kind, shown) for kind, facts in RESULT_TYPES.items() for family, shown in facts.shown.items()}
_KEYS = {family: kind for kind, facts in RESULT_TYPES.items() for family in facts.keys}


def result_type(kind: SqlType) -> ResultType | None:
    """The type that a group key of this type has in an answer; None where it cannot be a key."""
    return _KEYS.get(kind.family)


def shown_type(kind: SqlType) -> ResultType:
    """The type that a column of a public table has in an answer: of what answers have no type for, text."""
    return shown_as(exp.Null(), kind)[0]


def shown_as(column: exp.Expr, kind: SqlType) -> tuple[ResultType, exp.Expr]:
    """A column of a public table as an answer has it: type and SQL."""
    if kind == REAL:
        return "float4", column
    shown, written = _SHOWN[kind.family]
    return shown, written(column)


def is_discoverable(kind: SqlType) -> bool:
    """May values of this type, found in private rows, be sorted and shown as group keys?

    NaN has no order; the labels of an enum need not be found.
    """
    return kind.family in _KEYS and kind.family not in (Family.NUMERIC, Family.ENUM)


def moment_type(value: date | datetime) -> ResultType:
    """The type of a date or a time that the statement itself says."""
    return "timestamp" if isinstance(value, datetime) else "date"


def day_key(day: date, family: Family) -> str:
    """A day as the key of a group: the text that an answer has of it, at midnight where the key is a time.

    >>> day_key(date(2024, 2, 29), Family.DATE), day_key(date(2024, 2, 29), Family.TIMESTAMP)
    ('2024-02-29', '2024-02-29 00:00:00')
    """
    return moment_text(day if family is Family.DATE else datetime(day.year, day.month, day.day))
