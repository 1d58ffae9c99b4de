"""Rule: turn a bounded number into a whole, non-negative weight in units of 2^-30 of its bound."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from planner.sql.literals import number_sql
from planner.sql.sql_nodes import cast_sql
from planner.sql.trees import copied

UNITS = 1 << 30
"""The weight 1.0 in units."""


def guard_weight(number: exp.Expr, bound: float) -> exp.Cast:
    """`floor(number / bound * 2^30)`, 0 for NULL and for what is not positive, at most 2^30.

    COALESCE stands inside LEAST and GREATEST because those skip a NULL and would return the bound itself;
    the division is by a literal, so nothing here can raise for a number within [-bound, bound].

    Args:
      number: SQL of a double, NULL allowed, whose bounds are `weighable`.
      bound: W > 0.
    Returns: SQL of a bigint in [0, 2^30], never NULL.

    >>> from sqlglot import parse_one
    >>> print(guard_weight(parse_one("price"), 105000.0).sql("postgres"))
    CAST(GREATEST(0, LEAST(1073741824, COALESCE(FLOOR(price / 105000 * 1073741824), 0))) AS BIGINT)
    """
    units = exp.Literal.number(UNITS)
    inner = number if isinstance(number, (exp.Column, exp.Cast)) else exp.Paren(this=number)
    share = exp.Div(this=inner, expression=number_sql(Decimal(repr(bound)).normalize()), typed=True)
    floor = exp.Floor(this=exp.Mul(this=share, expression=copied(units)))
    known = exp.Coalesce(this=floor, expressions=[exp.Literal.number(0)])
    least = exp.Least(this=copied(units), expressions=[known], ignore_nulls=True)
    clamped = exp.Greatest(this=exp.Literal.number(0), expressions=[least], ignore_nulls=True)
    return cast_sql(clamped, "BIGINT")


def whole_weight() -> exp.Cast:
    """The weight of a row that counts one: 2^30 units.

    >>> print(whole_weight().sql("postgres"))
    CAST(1073741824 AS BIGINT)
    """
    return cast_sql(exp.Literal.number(UNITS), "BIGINT")


def whole_weight_where(condition: exp.Expr) -> exp.Cast:
    """The weight of a row that counts one where a condition is true, and nothing where it is false or NULL.

    >>> from sqlglot import parse_one
    >>> print(whole_weight_where(parse_one("NOT x IS NULL")).sql("postgres"))
    CAST(CASE WHEN NOT x IS NULL THEN 1073741824 ELSE 0 END AS BIGINT)
    """
    weight = exp.Case().when(condition, exp.Literal.number(UNITS)).else_(exp.Literal.number(0))
    return cast_sql(weight, "BIGINT")
