"""Numbers of single precision, PostgreSQL's real.

In SQL each is the double of the same value, which no comparison tells from the real: what makes a real of another
number rounds it, and everything else of a real is exact or double precision, as in PostgreSQL.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.expressions import intervals
from planner.expressions.clamp_column import clamp_column
from planner.expressions.intervals import Bounds
from planner.expressions.scalar import Measured, Scalar, repeated, wrap
from planner.sql.literals import number_sql
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import REAL, Family, SqlType
from planner.sql.trees import copied, position_of

_LARGEST = 3.4028234663852886e38
_HALF_OF_SMALLEST = 2.0**-150
"""What is no larger becomes 0, where PostgreSQL fails."""

_MOST_WHOLE, _MOST_SCALE = 38, 44
"""Decimals of as many digits before and behind the point lie between the two."""


def nearest_real(value: Decimal) -> float | None:
    """The real nearest to a number, ties to even; None beyond the range of reals.

    >>> nearest_real(Decimal("0.3")), nearest_real(Decimal("16777217")), nearest_real(Decimal("1e39"))
    (0.30000001192092896, 16777216.0, None)
    """
    try:
        (near,) = struct.unpack("!f", struct.pack("!f", float(value)))
    except OverflowError:
        return None
    if not near:
        return None if value else 0.0
    (bits,) = struct.unpack("!i", struct.pack("!f", near))  # the double may have been rounded onto the middle
    around = [struct.unpack("!f", struct.pack("!i", bits + step))[0] for step in (-1, 0, 1)]
    exact = Fraction(value)
    ranked = [(abs(Fraction(one) - exact), place) for place, one in enumerate(around) if abs(one) <= _LARGEST]
    distance = min(ranked)[0]
    nearest = [place for far, place in ranked if far == distance]
    even = [place for place in nearest if (bits + place) % 2]  # of bits + place - 1
    return float(around[(even or nearest)[0]])


def as_real(node: exp.Expr, part: Scalar) -> Scalar:
    """A number as real: a literal is rounded here, anything else by the database.

    Raises: UnsupportedSQL for a literal that no real comes near.
    """
    assert part.type is not None, "typed"
    if part.type == REAL:
        return part
    if part.value is not None:
        return _constant(node, part.value)

    def clamped() -> Measured:
        sql, known = part.measured()
        return (sql, None) if known is None else (rounded(sql, node), real_bounds(known))

    return Scalar(node, REAL, _plain(node, part), clamped, unranged=part.unranged)


def all_real(node: exp.Expr, values: Sequence[Scalar]) -> list[Scalar]:
    """Values of which one is chosen: beside a real, and no double, PostgreSQL makes a real of every number."""
    floats = [part for part in values if part.type is not None and part.type.family is Family.FLOAT]
    if not floats or any(part.type != REAL for part in floats):
        return list(values)
    return [as_real(node, part) if part.is_number and not part.is_null else part for part in values]


def of_reals(left: Scalar, right: Scalar, result: Scalar) -> Scalar:
    """What an operator gives: of two reals a real, which is the double that it gives, rounded once more.

    Source: Figueroa, When is double rounding innocuous?, 1995: 53 digits are enough for operands of 24.
    """
    if left.type != REAL or right.type != REAL:
        return result

    def clamped() -> Measured:
        sql, known = result.clamped()
        return (sql, None) if known is None else (rounded(sql, result.node), real_bounds(known))

    return replace(result, type=REAL, clamped=clamped)


def decimal_digits(node: exp.Expr, part: Scalar) -> Scalar:
    """A real as numeric, which has six digits, 0.3 of 0.3::real; as a double, since its digits cannot be counted."""
    assert part.type == REAL, "a real"

    def clamped() -> Measured:
        sql, known = part.measured()
        if known is None:
            return sql, None
        value = _six_digits(sql if part.plain is None else part.sql, node)
        within, bounds = clamp_column(repeated(wrap(value), node), SqlType(Family.FLOAT), known.lo, known.hi)
        return within, intervals.fractional(bounds)

    plain = None if part.plain is None else _six_digits(part.sql, node)
    return Scalar(node, SqlType(Family.FLOAT), plain, clamped, unranged=part.unranged)


def rounded(sql: exp.Expr, node: exp.Expr) -> exp.Expr:
    """A double as the nearest real, which is a double again; 0 where PostgreSQL fails for too small a number, and
    NULL for too large a one.
    """
    size = exp.Abs(this=repeated(sql, node))
    case = exp.Case().when(exp.LTE(this=size, expression=_double(_HALF_OF_SMALLEST)), _double(0.0), copy=False)
    return case.when(exp.LTE(this=copied(size), expression=_double(_LARGEST)), _cast(copied(sql)), copy=False)


def real_bounds(known: Bounds) -> Bounds:
    """Of what is rounded, which is monotone."""
    low, high = max(known.lo, -_LARGEST), min(known.hi, _LARGEST)
    least = nearest_real(Decimal(known.least)) or 2.0**-149
    lo, hi = (nearest_real(Decimal(end)) or 0.0 for end in (low, high))
    nonzero = known.nonzero and known.least > _HALF_OF_SMALLEST
    return Bounds(lo, hi, least, integral=False, nonzero=nonzero, digits=0 if known.whole else None)


def _cast(sql: exp.Expr) -> exp.Expr:
    return cast_sql(exp.Cast(this=sql, to=exp.DataType.build("REAL")), "DOUBLE PRECISION")


def _double(value: float) -> exp.Expr:
    return cast_sql(number_sql(Decimal(repr(value)).normalize()), "DOUBLE PRECISION")


def _constant(node: exp.Expr, value: Decimal) -> Scalar:
    near = nearest_real(value)
    if near is None:
        hint = "write a number between 1e-45 and 3.4e38"
        raise UnsupportedSQL("a number that is no real", hint=hint, position=position_of(node))
    exact = Decimal(repr(near))
    sql = cast_sql(number_sql(exact), "DOUBLE PRECISION")
    return Scalar(node, REAL, sql, lambda: (copied(sql), intervals.constant(near, False)), value=exact)


def _plain(node: exp.Expr, part: Scalar) -> exp.Expr | None:
    if part.plain is None or part.type is None:
        return None
    if part.digits is None:
        return rounded(part.sql, node) if part.type.family is Family.FLOAT else None
    if part.digits.whole > _MOST_WHOLE or part.digits.scale > _MOST_SCALE:
        return None
    whole = part.type.family is Family.INTEGER
    return _cast(part.sql if whole else cast_sql(part.sql, "DOUBLE PRECISION"))


def _six_digits(sql: exp.Expr, node: exp.Expr) -> exp.Expr:
    real = exp.Cast(this=repeated(sql, node), to=exp.DataType.build("REAL"))
    finite = exp.Between(this=wrap(copied(sql)), low=_double(-_LARGEST), high=_double(_LARGEST))
    digits = cast_sql(cast_sql(real, "DECIMAL"), "DOUBLE PRECISION")
    return exp.Case().when(finite, digits, copy=False).else_(cast_sql(copied(sql), "DOUBLE PRECISION"), copy=False)
