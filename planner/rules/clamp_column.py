"""Rule: clamp a column to its declared range, as a double that is never NaN; NULL stays NULL."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from planner.literals import number_sql
from planner.ranges import Bounds
from planner.sql_nodes import cast_sql
from planner.sql_types import Family, SqlType

_SCALE = 60
_FLUSH = 1e-60


def clamp_column(column: exp.Expr, kind: SqlType, low: float, high: float) -> tuple[exp.Expr, Bounds]:
    """Bound a column by what the policy declares, whatever the table really holds.

    The bounds are compared in the column's own type, before the conversion that could raise. NaN is greater
    than every number, so it would pass for the highest value: it becomes NULL, which weighs nothing.

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
    Bounds(lo=0.0, hi=105000.0, least=0.01, integral=False, nonzero=False)
    """
    if kind.family is Family.FLOAT:  # `real` cannot hold every bound; widening it never fails
        column = cast_sql(column.copy(), "DOUBLE PRECISION")
    low_sql, high_sql = (number_sql(Decimal(repr(bound)).normalize()) for bound in (low, high))
    inside, least = _without_underflow(column, kind)
    above: exp.Expr = exp.GT(this=column.copy(), expression=high_sql.copy())
    if kind.family is not Family.INTEGER:
        above = exp.NEQ(this=column.copy(), expression=exp.Literal.string("NaN"))
    between = exp.Between(this=column.copy(), low=low_sql.copy(), high=high_sql.copy())
    clamped = (
        exp.Case()
        .when(between, inside, copy=False)
        .when(exp.LT(this=column.copy(), expression=low_sql.copy()), low_sql.copy(), copy=False)
        .when(above, high_sql.copy(), copy=False)
    )
    ends = [abs(bound) for bound in (low, high) if bound]
    bounds = Bounds(low, high, min([least, *ends]), kind.family is Family.INTEGER)
    return cast_sql(clamped, "DOUBLE PRECISION"), bounds


def _without_underflow(column: exp.Expr, kind: SqlType) -> tuple[exp.Expr, float]:
    """The column without values so close to zero that a double cannot hold their product."""
    if kind.family is Family.INTEGER:
        return column.copy(), 1.0
    if kind.family is Family.NUMERIC and kind.scale is not None and kind.scale <= _SCALE:
        return column.copy(), 10.0 ** -max(kind.scale, 0)
    if kind.family is Family.NUMERIC:
        return exp.Round(this=column.copy(), decimals=exp.Literal.number(_SCALE)), _FLUSH
    tiny = number_sql(Decimal(repr(_FLUSH)))
    near_zero = exp.LT(this=exp.Abs(this=column.copy()), expression=tiny)
    return exp.Case().when(near_zero, exp.Literal.number(0)).else_(column.copy()), _FLUSH
