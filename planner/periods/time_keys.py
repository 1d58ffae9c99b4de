"""Group keys that say when: which value a key has on each day, where it is a function of the day alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

from sqlglot import exp

from planner.binding.bound_query import BoundKey
from planner.expressions.datetimes import moored, not_a_number
from planner.expressions.scalar import Scalar, Span
from planner.sql.datetimes import floor
from planner.sql.result_types import KeyCell, day_key
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import ColumnRef, bound_column, field_of

_Day = Callable[[date], date]

_FIELDS: Mapping[str, Callable[[date], int]] = {
    "YEAR": lambda day: day.year,
    "QUARTER": lambda day: (day.month + 2) // 3,
    "MONTH": lambda day: day.month,
    "WEEK": lambda day: day.isocalendar().week,
    "DAY": lambda day: day.day,
    "DOW": lambda day: day.isoweekday() % 7,
    "ISODOW": lambda day: day.isoweekday(),
    "DOY": lambda day: day.timetuple().tm_yday,
    "ISOYEAR": lambda day: day.isocalendar().year,
}
"""As PostgreSQL numbers them: weeks are those of ISO 8601, Sunday is 0 or 7."""

_UNITS = frozenset({"DAY", "WEEK", "MONTH", "QUARTER", "YEAR"})


@dataclass(frozen=True)
class TimeKey:
    """A group key that is a function of the day of a column.

    Attributes:
      place: of the key in the plan.
      of_day: the value that an answer's groups have on a day of the declared range.
    """

    place: int
    of_day: Callable[[date], KeyCell]


def time_key(place: int, key: BoundKey, column: ColumnRef, kind: SqlType, declared: Span | None) -> TimeKey | None:
    """How a key follows from the day of a column; None where it does not, or this file does not see that it does.

    Args:
      place: of the key.
      key: bound.
      column: bound, of a date or a moment.
      kind, declared: its type, and its declared range: dates outside of it are in no group.
    """
    name = bound_column(*column)
    moment, _ = moored(Scalar(name, kind, name, lambda: not_a_number(name, kind), declared=declared))
    node, family, told = _plain(key.value), key.type.family, field_of(key.value)
    if told is not None:
        field, read = _FIELDS.get(told.this.name.upper()), _day_of(told.expression, (name, moment))
        if field is None or read is None or family is not Family.INTEGER:
            return None
        return TimeKey(place, lambda one: field(read(one)))
    whole_days = kind.family is Family.DATE or not _is(node, (name, moment))
    day = _day_of(node, (name, moment))
    if day is None or not whole_days or family not in (Family.DATE, Family.TIMESTAMP):
        return None
    return TimeKey(place, lambda one: day_key(day(one), family))


def _day_of(node: exp.Expr, itself: tuple[exp.Expr, exp.Expr]) -> _Day | None:
    """The day of an expression's value, by the day of the column; None where other things decide it."""
    node = _plain(node)
    if _is(node, itself):
        return lambda one: one
    if isinstance(node, exp.TimestampTrunc):
        unit, day = node.args["unit"].name.upper(), _day_of(node.this, itself)
        return None if unit not in _UNITS or day is None else lambda one: floor(day(one), unit.lower())
    if isinstance(node, exp.Cast) and node.to.this is exp.DataType.Type.DATE:
        return _day_of(node.this, itself)
    return None


def _is(node: exp.Expr, itself: tuple[exp.Expr, exp.Expr]) -> bool:
    return node in itself


def _plain(node: exp.Expr) -> exp.Expr:
    """Without parentheses, and without conversions that keep the day."""
    inner: exp.Expr = node.unnest()
    while isinstance(inner, exp.Cast) and inner.to.this is exp.DataType.Type.TIMESTAMP:
        inner = inner.this.unnest()
    return inner
