"""The days that conditions leave to a column, and exact day ranges of append-only tables.

`at >= '2024-10-01' AND at < '2025-01-01'` leaves three months. If two questions differ only by days, `at <
'2024-05-20'` today and `at < '2024-05-21'` tomorrow, they count the same rows on their common days. So conditions on
days alone are split off, and the other conditions are compared word for word.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from sqlglot import exp

from planner.binding.bound_query import BoundQuery, column_type
from planner.errors import PlannerError
from planner.expressions.column_ranges import literal_number
from planner.expressions.scalar import Span
from planner.policy.policy import Policy
from planner.sql import literals
from planner.sql.sql_types import Family
from planner.sql.trees import ColumnRef, bound_column


def days_left(conditions: Iterable[exp.Expr], column: ColumnRef, span: Span) -> Span:
    """The part of a span on which a date, or a timestamp at UTC, can meet all conditions.

    Only comparisons of the column with a literal count. If nothing is left, the last day is before the first.

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
    """The first and last day that a condition leaves; None where it is open."""
    name = condition.this
    if not isinstance(name, exp.Expr):
        return None, None
    first, last = (_day, _day) if _is(name, column) else (_year_begins, _year_ends)
    if last is _year_ends and not _is_year(name, column):
        return None, None
    if isinstance(condition, exp.Between):
        return first(condition.args["low"]), last(condition.args["high"])
    if isinstance(condition, (exp.GT, exp.GTE)):
        return first(condition.expression), None
    if isinstance(condition, exp.LTE):
        return None, last(condition.expression)
    if isinstance(condition, exp.LT):
        return None, last(condition.expression, before=True)
    if isinstance(condition, (exp.EQ, exp.In)):
        listed = condition.expressions if isinstance(condition, exp.In) else [condition.expression]
        lows, highs = [first(one) for one in listed], [last(one) for one in listed]
        low = None if None in lows else min((one for one in lows if one is not None), default=None)
        return low, None if None in highs else max((one for one in highs if one is not None), default=None)
    return None, None


def _is(node: exp.Expr, column: ColumnRef) -> bool:
    return isinstance(node, exp.Column) and (node.table, node.name) == column


def _is_year(node: exp.Expr, column: ColumnRef) -> bool:
    """Is it the column's year? A column that is NULL outside of a span counts, as no comparison with NULL is true."""
    node = node.this.unnest() if isinstance(node, exp.Cast) else node
    if not isinstance(node, exp.Extract) or node.this.name.upper() != "YEAR":
        return False
    inner: exp.Expr = node.expression.unnest()
    if isinstance(inner, exp.Case) and inner.args.get("default") is None and len(inner.args["ifs"]) == 1:
        inner = inner.args["ifs"][0].args["true"].unnest()
    return _is(inner, column)


def _year_begins(node: exp.Expr, *, before: bool = False) -> int | None:
    year = literal_number(node)
    return None if year is None else date(min(max(math.ceil(year), 1), 9999), 1, 1).toordinal()


def _year_ends(node: exp.Expr, *, before: bool = False) -> int | None:
    """The last day of a literal year; with `before`, of the year before it."""
    year = literal_number(node)
    if year is None:
        return None
    return date(min(max(math.ceil(year) - 1 if before else math.floor(year), 1), 9999), 12, 31).toordinal()


def _day(node: exp.Expr, *, before: bool = False) -> int | None:
    """The day of a literal datetime; with `before`, the last day with a time before it."""
    value = _moment(node)
    if value is None:
        return None
    midnight = not isinstance(value, datetime) or value.time() == time()
    return value.toordinal() - (before and midnight)


def _moment(node: exp.Expr) -> date | datetime | None:
    try:
        return literals.moment(node)
    except PlannerError:  # a cast of something else
        return None


Run = tuple[date | None, date | None]
"""The first and last day of a range; None: no end."""

ALL_DAYS: tuple[Run, ...] = ((None, None),)
_LAST_MOMENT = time.max


@dataclass(frozen=True)
class DayColumn:
    """The column of an append-only table that states the day of each row, as (alias, name).

    Attributes:
      whole_days: is it a date?
      nullable: may it be NULL?
    """

    alias: str
    name: str
    whole_days: bool
    nullable: bool

    @property
    def written(self) -> exp.Column:
        """The column's tree in plans."""
        return bound_column(self.alias, self.name)


def day_columns(bound: BoundQuery, policy: Policy) -> tuple[DayColumn, ...]:
    """The day columns of a question's append-only tables, in order, without outer joins."""
    found = []
    for entry in bound.tables:
        declared = policy.tables.get(entry.table.name)
        if declared is None or declared.append_only is None or entry.outer is not None:
            continue
        name = declared.append_only.column
        nullable = next((one.nullable for one in entry.table.columns if one.name == name), True)
        whole_days = column_type(entry.table, name).family is Family.DATE
        found.append(DayColumn(entry.alias, name, whole_days, nullable))
    return tuple(found)


def split_days(
    conditions: Iterable[exp.Expr], column: DayColumn
) -> tuple[tuple[Run, ...], tuple[exp.Expr, ...]] | None:
    """Split a conjunction into day ranges and its other conditions.

    Returns: the ranges in order, ALL_DAYS without a condition on days alone. None if no day is left, or if rows whose
      day is NULL count.
    """
    days, others, told = ALL_DAYS, [], not column.nullable
    for condition in conditions:
        runs = _runs(condition, column)
        if runs is None:
            others.append(condition)
        else:
            days, told = common_runs(days, runs), True
    return (days, tuple(others)) if days and told else None


def _runs(condition: exp.Expr, column: DayColumn) -> tuple[Run, ...] | None:
    """The day ranges of a condition on days alone; None for any other."""
    inner = condition.unnest()
    if isinstance(inner, exp.Or):
        parts = [_runs(one, column) for one in inner.flatten()]
        known = [one for one in parts if one is not None]
        return joined_runs([run for one in known for run in one]) if len(known) == len(parts) else None
    if isinstance(inner, exp.And):
        days: tuple[Run, ...] = ALL_DAYS
        for one in inner.flatten():
            runs = _runs(one, column)
            if runs is None:
                return None
            days = common_runs(days, runs)
        return days
    if inner.this != column.written:
        return None
    run = _run(inner, column.whole_days)
    return None if run is None else ((run,) if _is_stretch(run) else ())


def _run(inner: exp.Expr, whole_days: bool) -> Run | None:
    if isinstance(inner, exp.Between):
        first, last = _begins(inner.args["low"]), _exact_ends(inner.args["high"], whole_days)
        return None if first is None or last is None else (first, last)
    first = last = None
    if isinstance(inner, exp.GTE):
        first = _begins(inner.expression)
    elif isinstance(inner, exp.GT):
        before = _exact_ends(inner.expression, whole_days)
        first = None if before is None else _next(before, 1)
    elif isinstance(inner, exp.LT):
        after = _begins(inner.expression)
        last = None if after is None else _next(after, -1)
    elif isinstance(inner, exp.LTE):
        last = _exact_ends(inner.expression, whole_days)
    elif isinstance(inner, exp.EQ) and whole_days:
        first = last = _begins(inner.expression)
    return None if first is None and last is None else (first, last)


def _begins(node: exp.Expr) -> date | None:
    """The day that starts at a literal; None if no day does."""
    value = _moment(node)
    if isinstance(value, datetime):
        return value.date() if value.time() == time() else None
    return value


def _exact_ends(node: exp.Expr, whole_days: bool) -> date | None:
    """The day that ends at a literal; None if no day does."""
    value = _moment(node)
    if isinstance(value, datetime):
        last = value.time() == _LAST_MOMENT or (whole_days and value.time() == time())
        return value.date() if last else None
    return value if whole_days else None


def _next(day: date, days: int) -> date | None:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None


def _is_stretch(run: Run) -> bool:
    return run[0] is None or run[1] is None or run[0] <= run[1]


def joined_runs(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Merge day ranges that touch, in order.

    >>> march, until = (date(2024, 3, 1), date(2024, 3, 31)), (None, date(2024, 1, 31))
    >>> days = [march, until, (date(2024, 2, 1), date(2024, 2, 9))]
    >>> [tuple(map(str, run)) for run in joined_runs(days)]
    [('None', '2024-02-09'), ('2024-03-01', '2024-03-31')]
    """
    joined: list[Run] = []
    for first, last in sorted(runs, key=lambda run: run[0] or date.min):
        before = joined[-1] if joined else None
        if before is not None and (before[1] is None or (first or date.min).toordinal() <= before[1].toordinal() + 1):
            joined[-1] = before[0], None if before[1] is None or last is None else max(before[1], last)
        else:
            joined.append((first, last))
    return tuple(joined)


def common_runs(left: Sequence[Run], right: Sequence[Run]) -> tuple[Run, ...]:
    """The day ranges in both, in order.

    >>> spring, until = (date(2024, 3, 1), date(2024, 5, 31)), (None, date(2024, 4, 2))
    >>> [tuple(map(str, run)) for run in common_runs([spring], [until])]
    [('2024-03-01', '2024-04-02')]
    """
    pairs = [(_largest(one[0], other[0]), _smallest(one[1], other[1])) for one in left for other in right]
    return joined_runs([pair for pair in pairs if _is_stretch(pair)])


def without_runs(days: Sequence[Run], taken: Sequence[Run]) -> tuple[Run, ...]:
    """The days without those taken, as ranges in order.

    >>> march, until = (date(2024, 3, 1), date(2024, 3, 31)), (None, date(2024, 3, 9))
    >>> [tuple(map(str, run)) for run in without_runs([march], [until])]
    [('2024-03-10', '2024-03-31')]
    """
    left = tuple(days)
    for first, last in taken:
        sides: list[Run] = []
        if first is not None and (before := _next(first, -1)) is not None:
            sides.append((None, before))
        if last is not None and (after := _next(last, 1)) is not None:
            sides.append((after, None))
        left = common_runs(left, sides)
    return left


def _largest(one: date | None, other: date | None) -> date | None:
    return other if one is None else one if other is None else max(one, other)


def _smallest(one: date | None, other: date | None) -> date | None:
    return other if one is None else one if other is None else min(one, other)
