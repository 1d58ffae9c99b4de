"""The values that a private column can have in the rows that count, as finely as group keys distinguish them.

The policy declares them, or a condition limits them. Times form a series of days, hours or minutes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Literal

from sqlglot import exp

from planner.expressions.column_ranges import known_where
from planner.expressions.datetimes import ALWAYS, bounded_moment
from planner.expressions.scalar import Scalar, Span
from planner.group_domains.day_conditions import days_left
from planner.limits import MAX_BASE, MAX_GROUPS
from planner.policy.declared import declared_domain, whole_numbers, whole_steps
from planner.policy.policy import ColumnPolicy
from planner.policy.toml_section import DomainValue
from planner.sql.datetimes import finest, moment_type
from planner.sql.sql_types import Family, SqlType, sql_type
from planner.sql.trees import ColumnRef, TextDate, children, column_ref, replaced

TimeResolution = Literal["day", "hour", "minute"]

STEPS_PER_DAY: dict[TimeResolution, int] = {"day": 1, "hour": 24, "minute": 1440}

_TELLS: dict[str, TimeResolution] = {
    "YEAR": "day", "QUARTER": "day", "MONTH": "day", "WEEK": "day", "DAY": "day", "DOW": "day", "ISODOW": "day",
    "DOY": "day", "ISOYEAR": "day", "DECADE": "day", "CENTURY": "day", "MILLENNIUM": "day", "HOUR": "hour",
    "MINUTE": "minute",
}  # fmt: skip


def finest_step(
    trees: Iterable[exp.Expr], column: ColumnRef, kind: SqlType, declared: Span | None
) -> TimeResolution | None:
    """The coarsest step, from midnight on, whose times give these expressions of a timestamp all their values.

    Each expression must read the column only by date_trunc, EXTRACT, to_char or a cast to DATE, in the form of
    `planner.expressions.datetimes`; these are constant within one step. None for any other expression.
    """
    name = exp.Column(this=exp.to_identifier(column[1], quoted=True), table=exp.to_identifier(column[0], quoted=True))
    itself = Scalar(name, kind, name)
    found = [replace(itself, declared=within) for within in (declared, None)]
    forms = [name, *(bounded_moment(one)[0].unnest() for one in found)]  # in keys and in conditions
    steps: list[TimeResolution] = ["day"]
    stack = list(trees)
    while stack:
        node = stack.pop()
        read, bucket = _read(node), _bucket(node)
        if bucket is not None and bucket[1] in forms:
            steps.append(bucket[0])
        elif read is not None and read[1] in forms:
            step = _TELLS.get(read[0])
            if step is None:
                return None
            steps.append(step)
        elif isinstance(node, exp.Column):
            if (node.table, node.name) == column:
                return None
        else:
            stack += children(node)
    return max(steps, key=STEPS_PER_DAY.__getitem__)


def _read(node: exp.Expr) -> tuple[str, exp.Expr] | None:
    """The finest field that an expression reads, and its operand; None for other expressions."""
    if isinstance(node, exp.Extract):
        return node.this.name.upper(), _inner(node.expression)
    if isinstance(node, exp.TimestampTrunc):
        return node.args["unit"].name.upper(), _inner(node.this)
    if isinstance(node, exp.Cast) and node.to.this is exp.DataType.Type.DATE:
        return "DAY", _inner(node.this)
    if isinstance(node, exp.ToChar):
        return finest(node.args["format"].name).upper(), _inner(node.this)
    return None


def _inner(node: exp.Expr) -> exp.Expr:
    """The operand without what keeps the time of day: parentheses, casts to timestamp, and moves by whole days."""
    inner: exp.Expr = node.unnest()
    while True:
        stamp = isinstance(inner, exp.Cast) and inner.to.this is exp.DataType.Type.TIMESTAMP
        step = inner.expression if isinstance(inner, (exp.Add, exp.Sub)) else None
        days = isinstance(step, exp.Interval) and step.args["unit"].name.upper() in ("DAY", "WEEK", "MONTH", "YEAR")
        if not (stamp or days):
            return inner
        inner = inner.this.unnest()


def _bucket(node: exp.Expr) -> tuple[TimeResolution, exp.Expr] | None:
    """The step and the operand of `floor(extract(epoch FROM x) / width)`; None for anything else."""
    division = node.this.unnest() if isinstance(node, exp.Floor) else None
    width = division.right.unnest() if isinstance(division, exp.Div) else None
    fields = [] if division is None else list(division.find_all(exp.Extract))
    if not (isinstance(width, exp.Literal) and width.name.isdecimal()) or len(fields) != 1:
        return None
    second = fields[0].expression
    if fields[0].this.name.upper() != "EPOCH" or not isinstance(second, exp.TimestampTrunc):
        return None
    seconds = int(width.name)
    steps: dict[TimeResolution, int] = {"day": 86_400, "hour": 3_600, "minute": 60}
    step = next((step for step, size in steps.items() if seconds and seconds % size == 0), None)
    return None if step is None else (step, _inner(second.this))


@dataclass(frozen=True)
class BaseValues:
    """The values of a column, without NULL: a list, or a series.

    Attributes:
      listed: the values; None for a series.
      first: the first value of a series.
      count: the number of values in a series.
      step: the distance of two values, in whole numbers or in `unit`s of time.
      scale: for a series of decimals, it counts units of 10^-scale.
    """

    listed: tuple[DomainValue, ...] | None
    first: int | date = 0
    count: int = 0
    step: int = 1
    unit: Literal["number"] | TimeResolution = "number"
    scale: int = 0

    @property
    def size(self) -> int:
        """The number of values, which may exceed what `len` can return."""
        return self.count if self.listed is None else len(self.listed)

    def values(self) -> tuple[DomainValue, ...]:
        """The listed values, or the numbers of a series."""
        if self.listed is not None:
            return self.listed
        assert isinstance(self.first, int), "only a series of numbers is listed here"
        counted = whole_numbers(self.first, self.count, self.step)
        return tuple(float(Decimal(n).scaleb(-self.scale)) for n in counted) if self.scale else counted


def base_values(
    column: ColumnRef,
    kind: SqlType,
    declared: ColumnPolicy,
    uses: Sequence[exp.Expr],
    predicates: Sequence[exp.Expr],
) -> BaseValues | None:
    """The values of a private column that group keys are computed from; None if nothing public bounds them.

    Args:
      declared: the column's policy.
      uses: the group keys over it. The column itself takes the declared domain with its steps; an expression takes
        every whole number, day, hour or minute of the declared range.
      predicates: bound conditions that every join tuple meets; they may narrow a series, or list the values.
    """
    if declared.forms:
        kind = sql_type(moment_type(declared.forms))
        uses, predicates = ([of_dates(tree, column) for tree in trees] for trees in (uses, predicates))
        return _moments(column, kind, declared, uses, predicates)
    itself = any(isinstance(use, exp.Column) for use in uses)
    if itself and declared.domain is None and kind.family is Family.INTEGER and declared.range is not None:
        found = _numbers(column, kind, declared, predicates, stepped=True)
        if found is not None and found.size <= MAX_GROUPS:
            return found
        low, high = declared.range
        listed = listed_literals(column, kind, predicates) if declared.step is None else None
        within = [value for value in listed or () if isinstance(value, int) and low <= value <= high]
        return BaseValues(tuple(within)) if within else None
    known = itself or kind.family in (Family.BOOL, Family.ENUM)
    values = declared_domain(declared, kind) if known else declared.domain
    if values is not None:
        return BaseValues(values) if all(_can_be(value, kind) for value in values) else None
    literals = listed_literals(column, kind, predicates)
    if literals is not None:
        return BaseValues(literals)
    if kind.family in (Family.INTEGER, Family.NUMERIC):
        found = _numbers(column, kind, declared, predicates, stepped=itself)
        most = math.inf if kind.family is Family.INTEGER else MAX_GROUPS if itself else MAX_BASE
        return found if found is not None and found.size <= most else None
    if kind.family is Family.DATE or (kind.is_moment and not itself):
        found = _moments(column, kind, declared, uses, predicates)
        return None if itself and found is not None and found.size > MAX_GROUPS else found
    return None


def of_dates(tree: exp.Expr, column: ColumnRef) -> exp.Expr:
    """The expression over a column's dates, in place of texts that the policy declares to be dates."""

    def date_of(node: exp.Expr) -> exp.Expr | None:
        read = node.declared_column if isinstance(node, TextDate) else None
        return read if read is not None and column_ref(read) == column else None

    return replaced(tree, date_of)


def listed_literals(
    value: ColumnRef | exp.Expr, kind: SqlType, predicates: Iterable[exp.Expr]
) -> tuple[str | int, ...] | None:
    """The literals of a condition `x = 'a'` or `x IN ('a', 'b')`; None if there is none.

    Args:
      value: x, a column or the same expression as in the condition.
    """
    for condition in predicates:
        if not (_is(condition.this, value) if isinstance(value, tuple) else _same(condition.this, value)):
            continue
        if isinstance(condition, exp.In):
            written = condition.expressions
        elif isinstance(condition, exp.EQ):
            written = [condition.expression]
        else:
            continue
        found = [_literal(node, kind) for node in written]
        known = [value for value in found if value is not None]
        if len(known) == len(found):
            return tuple(dict.fromkeys(known))
    return None


def never_null(column: ColumnRef, predicates: Iterable[exp.Expr]) -> bool:
    """Does a condition on the column exclude NULL?"""
    return any(_refuses_null(condition, column) for condition in predicates)


def _refuses_null(condition: exp.Expr, column: ColumnRef) -> bool:
    if isinstance(condition, exp.Column):
        return _is(condition, column)
    if isinstance(condition, exp.Not):
        test = condition.this.unnest()
        return _is(test.this, column) and (_is_null_test(test) if isinstance(test, exp.Is) else _is_strict(test))
    if isinstance(condition, exp.Is):
        return bool(condition.args.get("negate")) and _is_null_test(condition) and _is(condition.this, column)
    return _is_strict(condition) and (_is(condition.this, column) or _is(condition.args.get("expression"), column))


def _is_strict(condition: exp.Expr) -> bool:
    return isinstance(
        condition, (exp.In, exp.Between, exp.Like, exp.ILike, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
    )


def _is_null_test(condition: exp.Is) -> bool:
    return isinstance(condition.expression, exp.Null)


def _is(node: object, column: ColumnRef) -> bool:
    if isinstance(node, exp.Paren):
        node = node.unnest()
    return isinstance(node, exp.Column) and (node.table, node.name) == column


def _same(node: object, value: exp.Expr) -> bool:
    return isinstance(node, exp.Expr) and node.unnest() == value.unnest()


def _literal(node: exp.Expr, kind: SqlType) -> str | int | None:
    node = node.unnest()
    if isinstance(node, exp.Cast):
        if kind.family is Family.INTEGER and node.to.this is exp.DataType.Type.DOUBLE:
            return None  # several whole numbers may be one double
        node = node.this
    if kind.is_string:
        return node.name if isinstance(node, exp.Literal) and node.is_string else None
    sign = 1
    if isinstance(node, exp.Neg):
        sign, node = -1, node.this.unnest()
    whole = isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() and len(node.name) < 19
    return sign * int(node.name) if kind.family is Family.INTEGER and whole else None


def _ends(
    column: ColumnRef, declared: ColumnPolicy, predicates: Sequence[exp.Expr], scale: int = 0
) -> tuple[float, float]:
    """The declared range as narrowed by conditions, in units of 10^-scale."""
    known = declared.range or (-math.inf, math.inf)
    low, high = (end if math.isinf(end) else float(Decimal(repr(end)).scaleb(scale)) for end in known)
    for condition in predicates:
        for interval in known_where(condition, lambda name: name, {}).get(column, ()):
            if interval.lo is not None:
                low = max(low, _ceil(interval.lo.scaleb(scale), strict=interval.above))
            if interval.hi is not None:
                high = min(high, -_ceil(-interval.hi.scaleb(scale), strict=interval.below))
    return low, high


def _numbers(
    column: ColumnRef, kind: SqlType, declared: ColumnPolicy, predicates: Sequence[exp.Expr], *, stepped: bool
) -> BaseValues | None:
    """The numbers in the declared range, as narrowed by conditions; `stepped`: only those on the declared steps."""
    scale, digits = kind.scale or 0, kind.precision
    if digits is None or not 0 <= scale <= digits or (kind.family is Family.NUMERIC and digits > _DOUBLE_DIGITS):
        return None
    low, high = _ends(column, declared, predicates, scale)
    if math.isinf(low) or math.isinf(high):
        return None
    largest = 10**digits - 1
    low, high = math.ceil(max(low, -largest)), math.floor(min(high, largest))
    step, start = 1, low
    if stepped and isinstance(declared.step, int) and declared.range is not None:
        step, start = declared.step * 10**scale, min(low, int(Decimal(repr(declared.range[0])).scaleb(scale)))
    first, count = whole_steps(start, low, high, step)
    return BaseValues(None, first, count, step, "number", scale)


_DOUBLE_DIGITS = 15
"""Doubles distinguish decimals with at most these digits."""


def _ceil(value: Decimal, *, strict: bool) -> int:
    return math.floor(value) + 1 if strict else math.ceil(value)


def _moments(
    column: ColumnRef,
    kind: SqlType,
    declared: ColumnPolicy,
    uses: Sequence[exp.Expr],
    predicates: Sequence[exp.Expr],
) -> BaseValues | None:
    """The days of the declared range, as narrowed by conditions; hours or minutes if an expression needs them."""
    unit: TimeResolution | None = "day"
    if kind.family is not Family.DATE:
        unit = finest_step(uses, column, kind, declared.dates)
    first, last = days_left(predicates, column, declared.dates or ALWAYS)
    days = max(0, last.toordinal() - first.toordinal() + 1)
    if unit is None or (declared.dates is None and days > MAX_BASE):
        return None
    return BaseValues(None, first, days * STEPS_PER_DAY[unit], 1, unit)


def _can_be(value: DomainValue, kind: SqlType) -> bool:
    """Can every database convert the value to this type?"""
    if kind.is_moment:
        try:
            datetime.fromisoformat(str(value))
        except ValueError:
            return False
        return True
    if kind.family is Family.NUMERIC:
        scale = kind.scale or 0
        return kind.precision is not None and abs(float(value)) < 10.0 ** (kind.precision - scale)
    return kind.family in (Family.INTEGER, Family.TEXT, Family.CHAR, Family.BOOL, Family.ENUM)
