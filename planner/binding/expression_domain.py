"""The values of a group key that follow from the expression itself, whatever the rows hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice

from sqlglot import exp

from planner.errors import PlannerError
from planner.expressions.canonical_value import ROUNDING
from planner.expressions.datetimes import ALWAYS
from planner.expressions.intervals import Bounds
from planner.expressions.scalar import Scalar, repeated, wrap
from planner.limits import MAX_GROUPS
from planner.sql.calendar_steps import steps
from planner.sql.constants import constant
from planner.sql.datetime_texts import moment_text
from planner.sql.literals import number_sql
from planner.sql.result_types import KeyCell, day_key
from planner.sql.sql_nodes import cast_sql, field_of
from planner.sql.sql_types import Family
from planner.sql.trees import children, copied, holds
from planner.sql.zones import UTC, instant

Values = tuple[KeyCell, ...]

_MOST = 2.0**53
"""Doubles count up to here one by one."""


def expression_domain(node: exp.Expr, scalar: Scalar) -> Values | None:
    """The finite domain of an expression; None where nothing public bounds it.

    A condition is true or false; a CASE of literals is one of them; a whole number lies within its interval;
    date_trunc steps through the declared range of its dates. Values beyond (those of columns that leave
    their declared range) belong to no group.
    """
    labels = _labels(node)
    if labels is not None:
        return labels
    if scalar.type is None:
        return None
    if scalar.type.family is Family.BOOL:
        return (False, True)
    if scalar.type.family is Family.INTEGER:
        return _whole_numbers(scalar)
    return _moments(scalar)


@dataclass(frozen=True)
class Buckets:
    """A whole-valued number as a group key.

    Attributes:
      sql: SQL of a bigint; NULL for what is NULL, NaN or beyond the values.
      values: all that it can be; None where that is for its columns to say.
    """

    sql: exp.Expr
    values: tuple[int, ...] | None


def buckets(node: exp.Expr, scalar: Scalar) -> Buckets | None:
    """`floor(x / n)`, `round(x, -1)`, `n * floor(x / n)` and the like; None where it may have a fraction or no bound.

    Here are numerics and doubles whose every value is proved to be whole, also where a cast says so, between bounds
    that follow from declared ranges; other numbers of family INTEGER have their domain from `expression_domain`. The
    key itself is checked against the bounds before it is converted: a value beyond could overflow, and a numeric may
    hold NaN.

    Bounds are rounded outwards, so the last value may be one that never occurs: the group is empty, like any other.

    Raises: StatementTooComplex when the expression is too large to be written twice.
    """
    if scalar.type is None or not scalar.type.is_number:
        return None
    try:
        sql, bounds = scalar.sql, scalar.bounds
    except PlannerError:  # a range that it would need is not declared
        return None
    if scalar.type.family is Family.INTEGER and not holds(sql, *ROUNDING):
        return None
    whole = bounds is not None and (bounds.whole if scalar.digits is None else scalar.digits.scale == 0)
    if bounds is None or not whole or not bounds.safe or max(abs(bounds.lo), abs(bounds.hi)) > _MOST:
        return None
    step = _calendar_step(node)
    values = range(math.ceil(bounds.lo / step) * step, math.floor(bounds.hi) + 1, step)
    few = 0 < len(values) <= MAX_GROUPS
    if of_fields(sql):  # of dates that are clamped: always there, and within the bounds
        few = few and not _is_any_year(sql, bounds)
        return Buckets(cast_sql(field_of(sql) or sql, "BIGINT"), tuple(values) if few else None)
    if not few:
        return None
    ends = (number_sql(Decimal(values[place])) for place in (0, -1))
    inside = exp.Between(this=wrap(repeated(sql, node)), low=next(ends), high=next(ends))
    return Buckets(exp.Case().when(inside, cast_sql(copied(sql), "BIGINT"), copy=False), tuple(values))


def _calendar_step(node: exp.Expr) -> int:
    """A whole number that divides every value of a whole-valued expression: 10 for `10 * floor(x)`; 1 at worst."""
    return abs(_divisor(node)) or 1


def _divisor(node: exp.Expr) -> int:
    """As `_step`; 0 for the number 0, which everything divides."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        return _divisor(node.this)
    if _is_whole(node):
        return int(node.name)
    if isinstance(node, (exp.Least, exp.Greatest)):  # one of its arguments, or NULL
        return math.gcd(*(_divisor(argument) for argument in (node.this, *node.expressions)))
    if isinstance(node, exp.Mul):
        left, right = node.left.unnest(), node.right.unnest()
        literal, other = (left, right) if isinstance(left, exp.Literal) else (right, left)
        if _is_whole(literal) and isinstance(other, ROUNDING) and other.args.get("decimals") is None:
            return max(1, int(literal.name))
    if isinstance(node, (exp.Round, exp.Trunc)):
        places = node.args.get("decimals")
        digits = places.this.unnest() if isinstance(places, exp.Neg) else None
        if digits is not None and _is_whole(digits):
            return int(10 ** int(digits.name))
    return 1


def _labels(node: exp.Expr) -> Values | None:
    """The literals of a CASE, in the order in which it names them; last NULL, if it can be."""
    if not isinstance(node, exp.Case):
        return None
    results = [constant(branch.args["true"]) for branch in node.args["ifs"]]
    default = node.args.get("default")
    if default is not None:
        results.append(constant(default))
    known = [result for result in results if not isinstance(result, exp.Null)]
    null: Values = (None,) if default is None or len(known) < len(results) else ()
    texts = [result.name for result in known if isinstance(result, exp.Literal) and result.is_string]
    numbers = [int(result.name) for result in known if _is_whole(result)]
    if known and len(texts) == len(known):
        return (*dict.fromkeys(texts), *null)
    return (*dict.fromkeys(numbers), *null) if known and len(numbers) == len(known) else None


def _is_whole(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() and len(node.name) < 19


def _is_any_year(sql: exp.Expr, bounds: Bounds) -> bool:
    """The year of dates without a declared range, or the years to one: thousands of groups would be noise.

    So are the years between two such dates: where all years of one of them remain, nobody has said any.
    """
    field = field_of(sql)
    if field is None and bounds.hi - bounds.lo >= ALWAYS[1].year - ALWAYS[0].year:
        return any(part.this.name.upper() in _YEARS for part in sql.find_all(exp.Extract))
    unknown = field is not None and field.this.name.upper() in _YEARS and bounds.hi - bounds.lo > _MOST_YEARS
    return unknown or (field is not None and bounds.hi == ALWAYS[1].year)


_YEARS = frozenset({"YEAR", "ISOYEAR", "DECADE"})

_MOST_YEARS = 900
"""As many decades are in all years."""


def of_fields(sql: exp.Expr) -> bool:
    """Does an expression read columns by EXTRACT alone? Then it is no NaN, and the same wherever the fields are."""
    if not holds(sql, exp.Extract):
        return False
    stack = [sql]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Column):
            return False
        if not isinstance(node, exp.Extract):
            stack += children(node)
    return True


def _whole_numbers(scalar: Scalar) -> Values | None:
    try:
        bounds = scalar.bounds
    except PlannerError:  # a range that it would need is not declared
        return None
    if bounds is None or not bounds.integral or bounds.hi - bounds.lo >= MAX_GROUPS:
        return None
    return tuple(range(int(bounds.lo), int(bounds.hi) + 1))


def _moments(scalar: Scalar) -> Values | None:
    """The steps of its calendar within its span."""
    calendar = scalar.calendar
    span = scalar.span if calendar is None or calendar.within is None else calendar.within
    if calendar is None or span is None or scalar.type is None:
        return None
    moved = timedelta(days=calendar.days)
    try:
        first, last = span[0] - moved, span[1] - moved
        if last == ALWAYS[1]:
            return None
        found = [day + moved for day in islice(steps(first, last, calendar.unit), MAX_GROUPS + 1)]
        if calendar.zone != UTC:
            midnights = (datetime(day.year, day.month, day.day) for day in found[: MAX_GROUPS + 1])
            moments = tuple(moment_text(instant(midnight, calendar.zone)) for midnight in midnights)
            return None if len(moments) > MAX_GROUPS else moments
    except OverflowError:
        return None
    if len(found) > MAX_GROUPS:
        return None
    return tuple(day_key(day, scalar.type.family) for day in found)
