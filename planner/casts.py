"""Casts that no value can fail; the others are refused, since one row could make the whole question fail."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from planner import numbers, ranges
from planner.alignment import fits_float, settle
from planner.errors import UnsupportedSQL
from planner.moments import converted, literal, not_a_number
from planner.positions import position_of
from planner.scalar import Binder, Digits, Measured, Scalar
from planner.sql_nodes import cast_sql
from planner.sql_types import Family, SqlType, sql_type
from planner.texts import as_text

_TARGETS: dict[str, Family] = {
    "SMALLINT": Family.INTEGER,
    "INT": Family.INTEGER,
    "BIGINT": Family.INTEGER,
    "DECIMAL": Family.NUMERIC,
    "FLOAT": Family.FLOAT,
    "DOUBLE": Family.FLOAT,
    "TEXT": Family.TEXT,
    "VARCHAR": Family.TEXT,
    "BOOLEAN": Family.BOOL,
    "DATE": Family.DATE,
    "TIMESTAMP": Family.TIMESTAMP,
    "UUID": Family.UUID,
}


def cast(node: exp.Expr, binder: Binder) -> Scalar:
    """`CAST(x AS type)`, `x::type`, `type 'literal'`."""
    target = _target(node)
    written = node.this
    while isinstance(written, exp.Paren):
        written = written.this
    if isinstance(written, exp.Literal) and written.is_string and target.is_moment:
        known = literal(node)
        assert known is not None, "a quoted literal is a moment, or refused"
        return known
    part = settle(binder.scalar(written), target, binder)
    if part.is_null:
        return _null(node, target)
    assert part.type is not None, "typed"
    if part.type.family is target.family and target.family is not Family.NUMERIC:
        return part
    if part.is_number and target.is_number:
        return _number(node, part, target)
    if part.type.is_string and target.is_string:
        return as_text(part)
    if target.is_string and part.type.family in (Family.INTEGER, Family.BOOL, Family.UUID, Family.ENUM):
        kind = SqlType(Family.TEXT, None if part.type.family is Family.ENUM else 40)
        return Scalar(node, kind, cast_sql(part.sql, "TEXT"), lambda: not_a_number(node, kind))
    if part.type.is_moment and target.family in (Family.DATE, Family.TIMESTAMP):
        return converted(part, target)
    if part.type.family is Family.BOOL and target.family is Family.INTEGER:
        return numbers.whole_number(node, cast_sql(part.sql, "INT"), 0, 1)
    raise _refused(node, f"a cast from {part.kind} to {target.family.value}")


def _target(node: exp.Expr) -> SqlType:
    written: exp.DataType = node.args["to"]
    name = str(getattr(written.this, "value", written.this))
    family = _TARGETS.get(name)
    if family is None:
        shown = written.sql("postgres").lower()
        hint = "write DATE '...' or TIMESTAMP '...'" if "TIME" in name else None
        raise UnsupportedSQL(f"the type {shown} is not supported here", hint=hint, position=position_of(node))
    if not written.expressions:
        return SqlType(family)
    kind = sql_type(written.sql("postgres").lower())
    if kind.family is not Family.NUMERIC:
        hint = "cut text by left(x, n)"
        raise UnsupportedSQL("a cast to a type with a length", hint=hint, position=position_of(node))
    return kind


def _number(node: exp.Expr, part: Scalar, target: SqlType) -> Scalar:
    if target.family is Family.FLOAT:
        return _to_double(node, part)
    places = 0 if target.family is Family.INTEGER else target.scale
    exact = numbers.exact_form(part)
    if exact is None and target.family is Family.NUMERIC and places is None:
        return part  # a double as numeric: the same number, and infinity has no place there
    if places is None:
        assert exact is not None and part.digits is not None, "exact"
        digits = Digits(part.digits.whole, part.digits.scale, False)
        return Scalar(
            node,
            digits.type,
            cast_sql(exact[0], "DECIMAL"),
            _fractional(part),
            digits,
            part.value,
            unranged=part.unranged,
        )
    if exact is None:
        raise _refused(node, "a cast that rounds a floating point number", "write floor(x), ceil(x) or round(x)")
    scale, integral = min(places, exact[1].scale), target.family is Family.INTEGER
    digits = Digits(exact[1].whole + (1 if exact[1].scale > places else 0), max(scale, 0), integral)
    if target.precision is not None and digits.whole > max(target.precision - places, 0):
        raise _refused(node, f"a cast to numeric({target.precision}, {places}), which could overflow")
    if integral and exact[1].integral:
        return Scalar(node, digits.type, exact[0], part.clamped, digits, part.value, unranged=part.unranged)
    if not integral and exact[1].scale <= places:
        return Scalar(node, digits.type, exact[0], _fractional(part), digits, part.value, unranged=part.unranged)

    def rounding(sql: exp.Expr) -> exp.Expr:
        if integral:  # no whole number is NaN: it is unknown
            sql = exp.Nullif(this=sql, expression=exp.Literal.string("NaN"))
        return exp.Round(this=sql, decimals=exp.Literal.number(places))

    return numbers.monotone(node, part, rounding, digits, lambda known: ranges.rounded(known, places))


def _fractional(part: Scalar) -> Callable[[], Measured]:
    """The clamped form of the same number, of which division keeps the fraction."""

    def clamped() -> Measured:
        sql, known = part.measured()
        return sql, known and ranges.fractional(known)

    return clamped


def _to_double(node: exp.Expr, part: Scalar) -> Scalar:
    """As double precision: of a numeric only where its digits fit, or clamped to its range."""
    assert part.type is not None, "typed"
    fits = part.plain is not None and fits_float(part.type)
    plain = cast_sql(part.sql, "DOUBLE PRECISION") if fits else None
    return Scalar(node, SqlType(Family.FLOAT), plain, _fractional(part), unranged=part.unranged)


def _null(node: exp.Expr, target: SqlType) -> Scalar:
    if target.is_number:
        return numbers.null(node)
    return Scalar(node, None, exp.Null(), lambda: not_a_number(node, target))


def _refused(node: exp.Expr, what: str, hint: str | None = None) -> UnsupportedSQL:
    advice = hint or "compare the value as it is; a cast can fail for some row"
    return UnsupportedSQL(f"{what} is not supported", hint=advice, position=position_of(node))
