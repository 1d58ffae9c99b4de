"""Rule: clamp a column to its declared range, as a double that is never NaN; NULL stays NULL."""

from __future__ import annotations

import math
from decimal import Decimal

from sqlglot import exp

from planner.expressions.intervals import Bounds
from planner.sql.literals import number_sql
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import copied

STEPS = "steps"
"""Key of the meta of a clamped column that has whole steps: those of 1, of the lower and of the upper bound."""

_SCALE = 60
_STEP_DIGITS, _EXACT_STEPS = 18, 1 << 53
_FLUSH = 1e-60


def clamp_column(column: exp.Expr, kind: SqlType, low: float, high: float) -> tuple[exp.Expr, Bounds]:
    """Bound a column by what the policy declares, whatever the table really holds.

    The bounds are compared in the column's own type, before the conversion that could raise. NaN is greater
    than every number, so it would pass for the highest value: it becomes NULL, which weighs nothing.

    Args:
      column: a number, of any type that the catalog has.
      kind: its type.
      low, high: the declared range, in the column's own unit, both included.

    >>> from sqlglot import parse_one
    >>> sql, bounds = clamp_column(parse_one("price"), SqlType(Family.NUMERIC, 15, 2), 0.0, 105000.0)
    >>> print(sql.sql("postgres", pretty=True))
    CAST(CASE
      WHEN price BETWEEN 0 AND 105000
      THEN price
      WHEN price < 0
      THEN 0
      WHEN price <> 'NaN'
      THEN 105000
    END AS DOUBLE PRECISION)
    >>> bounds
    Bounds(lo=0.0, hi=105000.0, least=0.01, integral=False, nonzero=False, digits=2)
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
    """How many of its last digits make 1 and the bounds of a numeric(p, s), where a bigint holds all its values.

    A double is then the quotient of two whole numbers that doubles hold, which is the one nearest to the numeric.
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
    """The column without values so close to zero that a double cannot hold their product; and the smallest size.

    Only where zero is within the bounds: elsewhere the nearest end is the smallest, and zero would lie outside.
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
