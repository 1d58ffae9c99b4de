"""Casts that cannot fail for any value. Others are refused, since one row could make the question fail."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.expressions import arithmetic, coercion, intervals
from planner.expressions.coercion import settle
from planner.expressions.datetimes import converted, interval, literal, local, meant_in, shown_in
from planner.expressions.made_dates import of_text
from planner.expressions.numeric_functions import near
from planner.expressions.scalar import Binder, Digits, Scalar
from planner.expressions.strings import MAX_TEXT, text_of, to_text, whole_field
from planner.sql.literals import OF_TYPE, is_named, type_written
from planner.sql.sql_types import REAL, Family, SqlType, sql_type
from planner.sql.trees import cast_sql
from planner.sql.zones import UTC

_TARGETS: dict[str, Family] = {
    "SMALLINT": Family.INTEGER,
    "INT": Family.INTEGER,
    "BIGINT": Family.INTEGER,
    "DECIMAL": Family.NUMERIC,
    "FLOAT": Family.FLOAT,
    "DOUBLE": Family.FLOAT,
    "TEXT": Family.TEXT,
    "VARCHAR": Family.TEXT,
    "CHAR": Family.CHAR,
    "BOOLEAN": Family.BOOL,
    "DATE": Family.DATE,
    "TIMESTAMP": Family.TIMESTAMP,
    "TIMESTAMPTZ": Family.TIMESTAMPTZ,
    "UUID": Family.UUID,
    "TIME": Family.TIME,
    "INET": Family.INET,
}

_ADVICE = {Family.TIME: "compare the parts of a time: extract(hour FROM x) >= 12"}


def cast(node: exp.Expr, binder: Binder) -> Scalar:
    """`CAST(x AS type)`, `x::type`, `type 'literal'`. Raises: UnsupportedSQL."""
    written = node.this
    while isinstance(written, exp.Paren):
        written = written.this
    enum = type_written(node.args["to"])
    if enum is not None:
        return _of_enum(node, written, enum, binder)
    if node.args["to"].this is exp.DType.INTERVAL:
        part = binder.scalar(written)
        return part if part.is_interval else interval(node, binder)
    target = _target(node)
    if isinstance(written, exp.Literal) and written.is_string and target.is_moment:
        known = literal(node, binder)
        assert known is not None, "a quoted literal is a datetime, or refused"
        return replace(known, zoned=target.family is Family.TIMESTAMPTZ)
    part = settle(binder.scalar(written), target, binder)
    if part.is_null:
        return _null(node, target)
    if target.is_string or target.family is Family.INTEGER:
        part = replace(whole_field(part) or part, node=node)
    assert part.type is not None, "typed"
    same = part.type == target or part.type.family is target.family not in (Family.NUMERIC, Family.FLOAT)
    if same and not (target.precision and target != REAL) and not (binder.zone != UTC and part.zoned):
        return replace(part, zoned=False)
    if part.is_number and target.is_number:
        return _number(node, part, target)
    if target.is_string:
        written = to_text(node, part, binder.zone)
        if written is not None:
            return _cut(node, written, target)
    if part.type.is_moment and target.is_moment:
        if binder.zone != UTC and part.has_zone is not (target.family is Family.TIMESTAMPTZ):
            return shown_in(part, target, binder.zone) if part.has_zone else meant_in(part, binder.zone)
        moment = converted(part, target if target.family is Family.DATE else SqlType(Family.TIMESTAMP))
        return replace(moment, zoned=target.family is Family.TIMESTAMPTZ)
    if part.type.is_string and target.family is Family.DATE:
        return of_text(node, part, "YYYY-MM-DD", binder)
    if part.type.is_moment and target.family is Family.TIME and part.type.family is not Family.DATE:
        return Scalar(node, target, cast_sql(local(part, binder.zone)[0], "TIME"))
    if part.type.family is Family.BOOL and target.family is Family.INTEGER:
        return arithmetic.whole_number(node, cast_sql(part.sql, "INT"), 0, 1)
    raise _refused(node, f"a cast from {part.kind} to {target.shown}", _ADVICE.get(target.family))


def _of_enum(node: exp.Expr, written: exp.Expr, name: str, binder: Binder) -> Scalar:
    """`'ok'::mood`: a literal, to compare with values of that type; or a value that has the type already."""
    part = binder.scalar(written)
    if part.is_null or (part.type is not None and is_named(part.type, name)):
        return part
    if part.type is not None or not isinstance(written, (exp.Literal, exp.Parameter)):
        raise _refused(node, f"a cast to {name}", "compare the label with its text: status::text")
    literal = written.copy()  # with its own notes
    literal.meta[OF_TYPE] = name
    return replace(part, plain=literal)


_OTHER_TYPES = "cast to numeric, double precision, integer, text, date or timestamp; or compare without a cast"


def _target(node: exp.Expr) -> SqlType:
    written: exp.DataType = node.args["to"]
    name = str(getattr(written.this, "value", written.this))
    family = _TARGETS.get(name)
    if family is None:
        shown = written.sql("postgres").lower()
        hint = "write DATE '...' or TIMESTAMP '...'" if "TIME" in name else _OTHER_TYPES
        if name == "TIMETZ":
            hint = "compare the parts of a time, extract(hour FROM x), or all of it with a TIMESTAMP '...'"
        raise UnsupportedSQL(f"the type {shown} is not supported here", hint=hint, at=node)
    if name == "FLOAT":  # the parser's name for PostgreSQL's real
        return REAL
    if not written.expressions:
        return SqlType(family, 1 if family is Family.CHAR else None)
    kind = sql_type(written.sql("postgres").lower())
    if kind.family is Family.NUMERIC or (kind.is_string and 0 < (kind.precision or 0) <= MAX_TEXT):
        return kind
    raise UnsupportedSQL(
        "a cast to a text type with a length, such as varchar(10), is not supported",
        hint="shorten the text: left(x, n)",
        at=node,
    )


def _cut(node: exp.Expr, text: Scalar, target: SqlType) -> Scalar:
    """A text as varchar(n), which drops the rest, or as char(n), whose comparisons ignore trailing blanks."""
    known = None if text.type is None else text.type.precision
    if target.precision is None or (target.family is not Family.CHAR and known and known <= target.precision):
        return text
    sql: exp.Expr = exp.Left(this=text.sql, expression=exp.Literal.number(target.precision))
    if target.family is not Family.CHAR:
        return text_of(node, sql, target.precision)
    kind = SqlType(Family.CHAR, target.precision)
    return Scalar(node, kind, cast_sql(sql, f"CHAR({target.precision})"))


def _number(node: exp.Expr, part: Scalar, target: SqlType) -> Scalar:
    if target == REAL:
        return coercion.as_real(node, part)
    if target.family is Family.FLOAT:
        return coercion.double(node, part)
    if part.type == REAL and target == SqlType(Family.NUMERIC):
        return coercion.decimal_digits(node, part)
    places = 0 if target.family is Family.INTEGER else target.scale
    fractional = part.through(lambda sql: sql, intervals.fractional)
    exact = arithmetic.exact_form(part)
    if exact is None and target.family is Family.NUMERIC and places is None:
        return part  # a double as numeric is the same number; infinity is excluded
    if places is None:
        assert exact is not None and part.digits is not None, "exact"
        digits, sql = Digits(part.digits.whole, part.digits.scale, False), cast_sql(exact[0], "DECIMAL")
        return Scalar(node, digits.type, sql, fractional, digits, part.value, unranged=part.unranged)
    if exact is None and target.family is Family.INTEGER:
        return _whole(node, part)
    if exact is None:
        raise _refused(node, "a cast that rounds a floating point number", "write floor(x), ceil(x) or round(x)")
    scale, integral = min(places, exact[1].scale), target.family is Family.INTEGER
    digits = Digits(exact[1].whole + (1 if exact[1].scale > places else 0), max(scale, 0), integral)
    if target.precision is not None and digits.whole > max(target.precision - places, 0):
        raise _refused(node, f"a cast to numeric({target.precision}, {places}), which could overflow")
    if integral and exact[1].integral:
        return Scalar(node, digits.type, exact[0], part.clamped, digits, part.value, unranged=part.unranged)
    if not integral and exact[1].scale <= places:
        return Scalar(node, digits.type, exact[0], fractional, digits, part.value, unranged=part.unranged)

    def rounding(sql: exp.Expr) -> exp.Expr:
        if integral:  # no whole number is NaN, so it becomes NULL
            sql = exp.Nullif(this=sql, expression=exp.Literal.string("NaN"))
        return exp.Round(this=sql, decimals=exp.Literal.number(places))

    return arithmetic.monotone(node, part, rounding, digits, lambda known: intervals.rounded(known, places))


def _whole(node: exp.Expr, part: Scalar) -> Scalar:
    """A number without counted digits as a bigint, rounded as `round(x)`. Its range proves that it fits."""
    sql, bounds = near(node, part).measured()
    if bounds is None:
        return arithmetic.null(node)
    if bounds.size > _EXACT:
        hint = "limit it, for example LEAST(GREATEST(x, 0), 1000)"
        raise _refused(node, "a cast of so large a number to a whole one", hint)
    return arithmetic.whole_number(node, sql, int(bounds.lo), int(bounds.hi))


_EXACT = 2.0**50
"""Up to here halves of doubles are rounded without an error, and fit a bigint."""


def _null(node: exp.Expr, target: SqlType) -> Scalar:
    if target.is_number:
        return arithmetic.null(node)
    return Scalar(node, None, exp.Null())


def _refused(node: exp.Expr, what: str, hint: str | None = None) -> UnsupportedSQL:
    advice = hint or "compare without a cast, which could fail for some row"
    return UnsupportedSQL(f"{what} is not supported", hint=advice, at=node)
