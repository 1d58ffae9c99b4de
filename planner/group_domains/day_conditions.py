"""Which days a conjunction leaves to a column: `at >= '2024-10-01' AND at < '2025-01-01'` leaves three months."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time

from sqlglot import exp

from planner.errors import PlannerError
from planner.expressions.scalar import Span
from planner.sql import literals
from planner.sql.columns import ColumnRef


def days_left(conditions: Iterable[exp.Expr], column: ColumnRef, span: Span) -> Span:
    """The days of a span on which a date or timestamp can lie that passes every condition.

    Args:
      conditions: bound, columns before literals; those that compare the column with a literal count.
      column: of a date, or of a timestamp at UTC.
      span: first and last day.
    Returns: the span's part; its last day comes before its first where nothing is left.

    >>> from sqlglot import parse_one
    >>> until = parse_one("a.at < CAST('2025-01-01' AS DATE)")
    >>> print(*days_left([until], ("a", "at"), (date(2024, 1, 1), date(2026, 1, 1))))
    2024-01-01 2024-12-31
    """
    first, last = (day.toordinal() for day in span)
    for condition in conditions:
        low, high = _ends(condition, column)
        first = first if low is None else max(first, low)
        last = last if high is None else min(last, high)
    if last < first:
        return date(1, 1, 2), date(1, 1, 1)
    return date.fromordinal(first), date.fromordinal(last)


def _ends(condition: exp.Expr, column: ColumnRef) -> tuple[int | None, int | None]:
    """The first and the last day that a condition leaves; None where it leaves them open."""
    name = condition.this
    if not isinstance(name, exp.Column) or (name.table, name.name) != column:
        return None, None
    if isinstance(condition, exp.Between):
        return _day(condition.args["low"]), _day(condition.args["high"])
    if isinstance(condition, (exp.GT, exp.GTE)):
        return _day(condition.expression), None
    if isinstance(condition, exp.LTE):
        return None, _day(condition.expression)
    if isinstance(condition, exp.LT):
        return None, _day(condition.expression, before=True)
    if isinstance(condition, exp.EQ):
        day = _day(condition.expression)
        return day, day
    return None, None


def _day(node: exp.Expr, *, before: bool = False) -> int | None:
    """The day of a literal datetime; with `before` the last day on which one before it can lie."""
    try:
        value = literals.moment(node)
    except PlannerError:  # a cast of something else
        return None
    if value is None:
        return None
    midnight = not isinstance(value, datetime) or value.time() == time()
    return value.toordinal() - (before and midnight)
