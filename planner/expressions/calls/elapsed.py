"""EXTRACT of what lies between two moments: the seconds and days of a difference, the years and months of an age."""

from __future__ import annotations

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.expressions import arithmetic, datetimes
from planner.expressions.coercion import in_one_zone
from planner.expressions.datetimes import field_name, local, moment_argument
from planner.expressions.scalar import Binder, Scalar, Span, wrap
from planner.sql.calls import Age
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family
from planner.sql.trees import position_of
from planner.sql.zones import UTC

_DAY = 86_400


def extracted_of_difference(node: exp.Expr, binder: Binder) -> Scalar:
    """EXTRACT(field FROM x) of a moment, of a difference of moments, or of an age. Raises: UnsupportedSQL."""
    operand = node.args["expression"].unnest()
    if isinstance(operand, Age):
        return _of_age(node, operand, binder)
    if isinstance(operand, exp.Sub) and not any(
        isinstance(part.unnest(), exp.Interval) for part in (operand.left, operand.right)
    ):
        right = binder.scalar(operand.right)
        if right.type is not None and right.type.is_moment:
            return _of_difference(node, operand, binder)
    return datetimes.extracted(node, binder)


def age(node: exp.Expr, binder: Binder) -> Scalar:
    """age(a, b) itself: an interval, of which months have no length. Raises: UnsupportedSQL."""
    hint = "write extract(year FROM age(a, b)), or CAST(a AS DATE) - CAST(b AS DATE), a number of days"
    raise UnsupportedSQL("an interval of age() stands here", hint=hint, position=position_of(node))


def _of_difference(node: exp.Expr, operand: exp.Sub, binder: Binder) -> Scalar:
    """Of `a - b`, timestamps: its seconds, with a fraction, or its whole days.

    PostgreSQL's interval between timestamps has days of 24 hours and no months, so both follow from the seconds.
    """
    parts = [moment_argument(side, binder) for side in (operand.left, operand.right)]
    if any(part.is_null for part in parts):
        return arithmetic.null(node)
    parts = parts if binder.zone == UTC else in_one_zone(node, parts, binder.zone)
    if all(part.type is not None and part.type.family is Family.DATE for part in parts):
        hint = "a difference of dates is a number of days; write (a - b) * 86400 for its seconds"
        raise UnsupportedSQL("extract() of a number of days", hint=hint, position=position_of(node))
    field = field_name(node.this)
    if field not in ("EPOCH", "DAY"):
        hint = "write extract(epoch FROM a - b) / 3600 for its hours, / 60 for its minutes"
        message = f"the field {field.lower()!r} of a difference is not supported"
        raise UnsupportedSQL(message, hint=hint, position=position_of(node))
    (a, x), (b, y) = (_stamp(part, UTC) for part in parts)
    between = exp.Extract(this=exp.var(field), expression=exp.Paren(this=exp.Sub(this=wrap(a), expression=wrap(b))))
    least, most = (x[0] - y[1]).days - 1, (x[1] - y[0]).days + 1
    if field == "DAY":
        return arithmetic.whole_numeric(node, between, least, most)
    return arithmetic.micros(node, between, least * _DAY, most * _DAY)


def _of_age(node: exp.Expr, operand: Age, binder: Binder) -> Scalar:
    """Of age(a, b): its whole years, the months beyond them, the days beyond those."""
    parts = [moment_argument(side, binder) for side in (operand.this, operand.args["expression"])]
    if any(part.is_null for part in parts):
        return arithmetic.null(node)
    field = field_name(node.this)
    if field not in ("YEAR", "MONTH", "DAY"):
        hint = "use year, month or day; for all of its days write CAST(a AS DATE) - CAST(b AS DATE)"
        message = f"the field {field.lower()!r} of an age is not supported"
        raise UnsupportedSQL(message, hint=hint, position=position_of(node))
    parts = parts if binder.zone == UTC else in_one_zone(node, parts, binder.zone)
    (a, x), (b, y) = (_stamp(part, binder.zone) for part in parts)
    # Whole years may be one nearer to zero than the difference of the calendar's: December to June has none.
    least, most = x[0].year - y[1].year, x[1].year - y[0].year
    low, high = {
        "YEAR": (least - (least > 0), most + (most < 0)),
        "MONTH": (-11, 11),
        "DAY": (-31, 31),
    }[field]
    between = exp.Extract(this=exp.var(field), expression=Age(this=a, expression=b))
    return arithmetic.whole_numeric(node, between, low, high)


def _stamp(part: Scalar, zone: str) -> tuple[exp.Expr, Span]:
    """SQL of a timestamp, of one with time zone as clocks of the zone show it, and its span."""
    sql, span = local(part, zone)
    assert part.type is not None, "typed"
    return (sql if part.type.family is not Family.DATE else cast_sql(sql, "TIMESTAMP")), span
