"""Rule: turn a bounded number into a whole, non-negative weight in units of 2^-30 of its bound."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from sqlglot import exp

from planner.schema import Table
from planner.sql.literals import number_sql
from planner.sql.sql_types import Family, sql_type
from planner.sql.trees import bound_column, cast_sql, column_ref, columns_of, copied

UNITS = 1 << 30
"""The weight 1.0 in units."""
WEIGHT = "weight"
"""Metadata key of a cast that `guard_weight` makes."""


class GuardedWeight(NamedTuple):
    """SQL of a bigint in [0, 2^30] that cannot fail; the number of 2^30 units; whether numbers are rounded."""

    sql: exp.Cast
    bound: float
    rounded: bool


def guard_weight(
    number: exp.Expr, most: float, digits: int | None = None, offset: exp.Expr | None = None
) -> GuardedWeight:
    """The weight of a number in [0, most], in units of 2^-30 of a bound W that is `most` or slightly more.

    If a number has a known count of decimal digits, each last digit weighs a whole number of units where there is
    room. Then sums of whole numbers and of cents are exact. W is less than twice `most`, and less than 1 + 1/n times
    `most` if a last digit weighs n units. Any other number is rounded: up if it is more than 1 - offset above a unit,
    else down. If offsets are spread evenly over the rows, such sums are unbiased.

    NULL and negative numbers weigh 0. COALESCE stands inside LEAST and GREATEST, because those skip a NULL and would
    return the bound. All factors are literals, so nothing can fail for a number within [-most, most].
    Args:
      number: SQL of a double, possibly NULL, with `weighable` bounds.
      digits: the proved decimal digits (`Bounds.digits`).
      offset: SQL of a double in [0, 1], never NULL, of the same row (`row_offset`); None means 0.5.

    >>> from sqlglot import parse_one
    >>> weight = guard_weight(parse_one("price"), 105000.0, 2)
    >>> print(weight.sql.sql("postgres"), weight.bound == 2**30 / 10200)
    CAST(GREATEST(0, LEAST(1073741824, COALESCE(FLOOR(price * 10200 + 0.5), 0))) AS BIGINT) True
    """
    units = exp.Literal.number(UNITS)
    inner = number if isinstance(number, (exp.Column, exp.Cast)) else exp.Paren(this=number)
    places = 0 if digits is None else math.ceil(Fraction(repr(most)) * 10**digits)
    scale = UNITS // places * 10 ** (digits or 0) if places > 0 else 0
    added: exp.Expr = exp.Literal.number("0.5")
    if scale:
        weight, bound = exp.Mul(this=inner, expression=exp.Literal.number(scale)), UNITS / scale
    else:
        share = exp.Div(this=inner, expression=number_sql(Decimal(repr(most)).normalize()), typed=True)
        weight, bound = exp.Mul(this=share, expression=copied(units)), most
        added = added if offset is None else offset
    floor = exp.Floor(this=exp.Add(this=weight, expression=added))
    known = exp.Coalesce(this=floor, expressions=[exp.Literal.number(0)])
    least = exp.Least(this=copied(units), expressions=[known], ignore_nulls=True)
    clamped = exp.Greatest(this=exp.Literal.number(0), expressions=[least], ignore_nulls=True)
    written = cast_sql(clamped, "BIGINT")
    written.meta[WEIGHT] = True
    return GuardedWeight(written, bound, not scale)


_PRIME = 2**31 - 1
_STEPS = 1327217885, 888871237, 1645333507
"""Each is close to a golden section of the prime, so that its multiples fill [0, 1) evenly."""


def row_offset(number: exp.Expr, tables: Mapping[str, Table]) -> exp.Expr | None:
    """SQL of a double in [0, 1], spread evenly over the rows of the tables that a number is computed from.

    It is a function of the row's key alone, so a row always weighs the same, whoever else has rows. Databases hash
    texts differently, so a weight may differ by one unit between them. None if no table has a key of whole numbers,
    texts or UUIDs; then numbers are rounded to the nearest unit.
    """
    columns: list[exp.Expr] = []
    for alias in dict.fromkeys(alias for alias, _ in map(column_ref, columns_of(number))):
        table = tables.get(alias)
        keys = () if table is None else table.unique_keys
        hashed = sorted((_numbers(alias, table, key) for key in keys if table is not None), key=len)
        columns += next(filter(None, hashed), [])
    if not columns:
        return None

    def modulo(inner: exp.Expr) -> exp.Expr:
        return exp.Mod(this=inner, expression=exp.Literal.number(_PRIME))

    place: exp.Expr | None = None
    for turn, column in enumerate(columns):
        step = exp.Literal.number(_STEPS[turn % len(_STEPS)])
        one = modulo(exp.Paren(this=exp.Mul(this=modulo(column), expression=step)))
        place = one if place is None else modulo(exp.Paren(this=exp.Add(this=place, expression=one)))
    assert place is not None, "there are columns"
    known = exp.Coalesce(this=exp.Abs(this=place), expressions=[exp.Literal.number(0)])
    return exp.Div(this=cast_sql(known, "DOUBLE PRECISION"), expression=exp.Literal.number(_PRIME), typed=True)


def _numbers(alias: str, table: Table, key: Sequence[str]) -> list[exp.Expr]:
    """The key's columns as whole numbers, hashed if necessary; empty if a column has another type."""
    types = {column.name: sql_type(column.type).family for column in table.columns}
    if any(types[name] not in (Family.INTEGER, Family.TEXT, Family.UUID) for name in key):
        return []
    columns = {name: bound_column(alias, name) for name in key}
    hashed = (
        column if types[name] is Family.INTEGER else exp.FarmFingerprint(expressions=[cast_sql(column, "TEXT")])
        for name, column in columns.items()
    )
    return [cast_sql(number, "BIGINT") for number in hashed]


def whole_weight() -> exp.Cast:
    """The weight of a row that counts one: 2^30 units.

    >>> print(whole_weight().sql("postgres"))
    CAST(1073741824 AS BIGINT)
    """
    return cast_sql(exp.Literal.number(UNITS), "BIGINT")


def whole_weight_where(condition: exp.Expr) -> exp.Cast:
    """The weight of a row that counts one if a condition is true, else 0.

    >>> from sqlglot import parse_one
    >>> print(whole_weight_where(parse_one("NOT x IS NULL")).sql("postgres"))
    CAST(CASE WHEN NOT x IS NULL THEN 1073741824 ELSE 0 END AS BIGINT)
    """
    counts = exp.If(this=copied(condition), true=exp.Literal.number(UNITS))
    return cast_sql(exp.Case(ifs=[counts], default=exp.Literal.number(0)), "BIGINT")
