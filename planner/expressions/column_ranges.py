"""The range of a column, as declared and as conditions narrow it; values are clamped to it and never NaN.

Where `x > 3` holds, x is clamped to (3, hi] instead of its whole range. So the SQL stays within its bounds wherever
an engine evaluates it. Clamping is monotone, so the narrower clamp gives the same value where the condition holds.
NULL stays NULL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from planner.errors import PlannerError
from planner.expressions.intervals import Bounds
from planner.sql import literals
from planner.sql.literals import number_sql
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import MIRRORED, ColumnRef, cast_sql, copied

STEPS = "steps"
"""Metadata key of a clamped column with whole steps: the steps in 1, in the lower and in the upper bound."""

_SCALE = 60
_STEP_DIGITS, _EXACT_STEPS = 18, 1 << 53
_FLUSH = 1e-60


def clamp_column(column: exp.Expr, kind: SqlType, low: float, high: float) -> tuple[exp.Expr, Bounds]:
    """Clamp a column to its declared range, ends included.

    Bounds are compared in the column's own type, before a conversion that could fail. NaN is greater than every
    number and would become the highest value, so it becomes NULL, which weighs nothing.

    >>> sql, bounds = clamp_column(exp.column("x"), SqlType(Family.NUMERIC, 15, 2), 0.0, 50.0)
    >>> print(sql.sql("postgres"))
    CAST(CASE WHEN x BETWEEN 0 AND 50 THEN x WHEN x < 0 THEN 0 WHEN x <> 'NaN' THEN 50 END AS DOUBLE PRECISION)
    >>> bounds
    Bounds(lo=0.0, hi=50.0, least=0.01, integral=False, nonzero=False, digits=2)
    """
    whole = kind.family is Family.INTEGER or (kind.family is Family.NUMERIC and kind.scale == 0)
    if whole:
        low, high = float(math.ceil(low)), float(math.floor(high))
        high = max(low, high)
    if kind.family is Family.FLOAT:  # `real` cannot hold every bound; widening it never fails
        column = cast_sql(copied(column), "DOUBLE PRECISION")
    low_sql, high_sql = (number_sql(Decimal(repr(bound)).normalize()) for bound in (low, high))
    inside, least = _without_underflow(column, kind, low, high)
    above: exp.Expr = exp.GT(this=copied(column), expression=copied(high_sql))
    if kind.family is not Family.INTEGER:
        above = exp.NEQ(this=copied(column), expression=exp.Literal.string("NaN"))
    between = exp.Between(this=copied(column), low=copied(low_sql), high=copied(high_sql))
    clamped = (
        exp.Case()
        .when(between, inside, copy=False)
        .when(exp.LT(this=copied(column), expression=copied(low_sql)), copied(low_sql), copy=False)
        .when(above, copied(high_sql), copy=False)
    )
    sql = cast_sql(clamped, "DOUBLE PRECISION")
    steps = _steps(column, kind, low, high)
    if steps is not None:
        sql.meta[STEPS] = steps
    ends = [abs(bound) for bound in (low, high) if bound]
    digits = 0 if whole else max(kind.scale, 0) if kind.scale is not None else None
    bounds = Bounds(low, high, min([least, *ends]), kind.family is Family.INTEGER, digits=digits)
    return sql, bounds


def _steps(column: exp.Expr, kind: SqlType, low: float, high: float) -> tuple[int, int, int] | None:
    """The number of last digits in 1 and in the bounds of a numeric(p, s) that fits a bigint; None for other types.

    A double is then the quotient of two whole numbers, which is the double nearest to the numeric.
    """
    if not isinstance(column, exp.Column) or kind.family is not Family.NUMERIC:
        return None
    if kind.precision is None or kind.scale is None or not 0 < kind.scale <= kind.precision <= _STEP_DIGITS:
        return None
    ends = [Decimal(repr(bound)).scaleb(kind.scale) for bound in (low, high)]
    if any(end != end.to_integral_value() or abs(end) > _EXACT_STEPS for end in ends):
        return None
    return 10**kind.scale, int(ends[0]), int(ends[1])


def _without_underflow(column: exp.Expr, kind: SqlType, low: float, high: float) -> tuple[exp.Expr, float]:
    """The column with tiny values set to 0, so that products do not underflow; and the smallest nonzero size.

    Only where 0 is within the bounds; elsewhere the nearer bound is the smallest value.
    """
    if kind.family is Family.INTEGER:
        return copied(column), 1.0
    if low > 0 or high < 0:
        return copied(column), min(abs(low), abs(high))
    if kind.family is Family.NUMERIC and kind.scale is not None and kind.scale <= _SCALE:
        return copied(column), 10.0 ** -max(kind.scale, 0)
    if kind.family is Family.NUMERIC:
        return exp.Round(this=copied(column), decimals=exp.Literal.number(_SCALE)), _FLUSH
    tiny = number_sql(Decimal(repr(_FLUSH)))
    near_zero = exp.LT(this=exp.Abs(this=copied(column)), expression=tiny)
    return exp.Case().when(near_zero, exp.Literal.number(0)).else_(copied(column)), _FLUSH


_NEGATED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GTE, exp.LTE: exp.GT, exp.GT: exp.LTE, exp.GTE: exp.LT, exp.NEQ: exp.EQ,
}  # fmt: skip

_ORDERS = frozenset(_NEGATED.values())
_FAR = 1e15


@dataclass(frozen=True)
class Interval:
    """Numbers from lo to hi; `above` and `below` exclude the ends."""

    lo: Decimal | None = None
    hi: Decimal | None = None
    above: bool = False
    below: bool = False

    def within(self, low: float, high: float, kind: SqlType) -> tuple[float, float]:
        """The part of [low, high] within the interval; the nearest end if there is none."""
        lo = low if self.lo is None else _next(self.lo, kind, up=True) if self.above else float(self.lo)
        hi = high if self.hi is None else _next(self.hi, kind, up=False) if self.below else float(self.hi)
        lo, hi = min(max(lo, low), high), max(min(hi, high), low)
        return (lo, hi) if lo <= hi else (lo, lo)


def _next(end: Decimal, kind: SqlType, *, up: bool) -> float:
    """The next number of an exact type after an excluded end; the end itself for other types."""
    scale = 0 if kind.family is Family.INTEGER else kind.scale if kind.family is Family.NUMERIC else None
    if scale is None or not 0 <= scale <= 12 or abs(end) > 10**15:
        return float(end)
    steps = end.scaleb(scale)
    whole = math.floor(steps) + 1 if up else math.ceil(steps) - 1
    return float(Decimal(whole).scaleb(-scale))


def span(intervals: Collection[Interval]) -> tuple[float, float] | None:
    """The range that all intervals share, if both ends are known: `WHERE x BETWEEN 0 AND 100` declares a range, too.

    None if the ends are too large to compute with.

    >>> above = Interval(Decimal(0))
    >>> span([above, Interval(hi=Decimal(100)), Interval(hi=Decimal(90))]), span([above])
    ((0.0, 90.0), None)
    """
    lows = [float(one.lo) for one in intervals if one.lo is not None]
    highs = [float(one.hi) for one in intervals if one.hi is not None]
    if not lows or not highs or max(map(abs, (*lows, *highs))) > _FAR:
        return None
    return max(lows), max(*lows, min(highs))


Known = Mapping[ColumnRef, tuple[Interval, ...]]


def known_where(
    condition: exp.Expr, resolve: Callable[[exp.Column], exp.Expr], known: Known, *, holds: bool = True
) -> Known:
    """The intervals of columns where a condition is true, or with `holds` false, where it is false or NULL.

    Args:
      condition: as written or bound.
      resolve: the meaning of its names.
      known: the intervals known before.
    """
    found = dict(known)
    for column, interval in _intervals(condition.unnest(), resolve, holds):
        found[column] = (*found.get(column, ()), interval)
    return found


def _intervals(
    node: exp.Expr, resolve: Callable[[exp.Column], exp.Expr], holds: bool
) -> Iterator[tuple[ColumnRef, Interval]]:
    if isinstance(node, exp.And if holds else exp.Or):
        for part in node.flatten():
            yield from _intervals(part.unnest(), resolve, holds)
    elif isinstance(node, exp.Not):
        yield from _intervals(node.this.unnest(), resolve, not holds)
    elif isinstance(node, exp.Between) and holds and not node.args.get("symmetric"):
        yield from _compared(exp.GTE, node.this, node.args["low"], resolve)
        yield from _compared(exp.LTE, node.this, node.args["high"], resolve)
    elif isinstance(node, exp.Binary):
        operator = type(node) if holds else _NEGATED.get(type(node))
        yield from _compared(operator, node.left, node.right, resolve)
        yield from _compared(MIRRORED.get(operator) if operator else None, node.right, node.left, resolve)


def _compared(
    operator: type[exp.Expr] | None, left: exp.Expr, right: exp.Expr, resolve: Callable[[exp.Column], exp.Expr]
) -> Iterator[tuple[ColumnRef, Interval]]:
    left, value = left.unnest(), literal_number(right.unnest())
    if operator is None or operator not in _ORDERS or not isinstance(left, exp.Column) or value is None:
        return
    column = resolve(left)
    if not isinstance(column, exp.Column):
        return
    intervals: dict[type[exp.Expr], Interval] = {
        exp.LT: Interval(hi=value, below=True),
        exp.LTE: Interval(hi=value),
        exp.GT: Interval(lo=value, above=True),
        exp.GTE: Interval(lo=value),
        exp.EQ: Interval(lo=value, hi=value),
    }
    yield (column.table, column.name), intervals[operator]


def literal_number(node: exp.Expr) -> Decimal | None:
    """The value of a numeric literal, with or without a sign; None for anything else."""
    if isinstance(node, exp.Neg):
        inner = literal_number(node.this.unnest())
        return None if inner is None else -inner
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    try:
        return literals.number(node)
    except PlannerError:
        return None
