"""Choices between values: CASE, COALESCE, NULLIF, LEAST and GREATEST."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

from sqlglot import exp

from planner.errors import StatementTooComplex, UnsupportedSQL
from planner.expressions import arithmetic, intervals
from planner.expressions.coercion import align, all_real, check_ordered, fits_float
from planner.expressions.column_ranges import clamp_column
from planner.expressions.datetimes import converted
from planner.expressions.intervals import Bounds
from planner.expressions.scalar import Binder, Digits, Measured, Scalar, Span, repeated, unranged
from planner.expressions.strings import as_text
from planner.sql.sql_types import REAL, Family, SqlType
from planner.sql.trees import cast_sql, copied, nodes

_LARGEST = 10**290
"""The largest double with room for sums, as in intervals."""

_MOST_SUBJECTS = 4_096
"""The most nodes of the expression after CASE, which is compared at every WHEN, in all comparisons together."""

_Build = Callable[[Sequence[exp.Expr]], exp.Expr]


def case(node: exp.Expr, binder: Binder) -> Scalar:
    """`CASE WHEN condition THEN value ... ELSE value END`, and `CASE x WHEN value THEN ...`."""
    subject = node.args.get("this")
    if subject is not None and len(nodes(subject)) * len(node.args["ifs"]) > _MOST_SUBJECTS:
        hint = "write a shorter expression after CASE, or fewer WHEN"
        raise StatementTooComplex("the expression after CASE would be compared too often", hint=hint, at=subject)
    conditions, values, otherwise = [], [], binder
    for branch in node.args["ifs"]:
        condition = _condition(subject, branch.this)
        conditions.append(binder.predicate(condition))
        values.append(otherwise.where(condition).scalar(branch.args["true"]))
        otherwise = otherwise.where(condition, holds=False)
    default = node.args.get("default")
    if default is not None:
        values.append(otherwise.scalar(default))

    def build(parts: Sequence[exp.Expr]) -> exp.Expr:
        branches = [
            exp.If(this=copied(condition), true=part) for condition, part in zip(conditions, parts, strict=False)
        ]
        return exp.Case(ifs=branches, default=parts[-1] if default is not None else None)

    return _choice(node, values, build, binder)


def _condition(subject: exp.Expr | None, written: exp.Expr) -> exp.Expr:
    if subject is None:
        return written
    repeated(subject, subject)
    if isinstance(written.unnest(), exp.Null):
        hint = "write CASE WHEN x IS NULL THEN ..."
        raise UnsupportedSQL("CASE ... WHEN NULL never matches, because no value equals NULL", hint=hint, at=written)
    return exp.EQ(this=copied(subject), expression=copied(written))


def coalesced(node: exp.Expr, binder: Binder) -> Scalar:
    """`COALESCE(x, ...)`: the first value that is not NULL, in a common type."""
    values = [binder.scalar(part) for part in (node.this, *node.expressions)]
    return _choice(node, values, lambda parts: exp.Coalesce(this=parts[0], expressions=list(parts[1:])), binder)


def extreme(node: exp.Expr, binder: Binder) -> Scalar:
    """LEAST and GREATEST, which skip NULL. So only literals bound the result.

    `LEAST(GREATEST(x, 0), 100)`, with literals, gives a column without a declared range a range of its own.
    """
    values = [binder.scalar(part) for part in _operands(node)]
    opposite = exp.Greatest if isinstance(node, exp.Least) else exp.Least
    nested = [place for place, part in enumerate(_operands(node)) if isinstance(part.unnest(), opposite)]
    if len(nested) == 1 and values[nested[0]].unranged:
        (place,) = nested
        others = [part for at, part in enumerate(values) if at != place]
        values[place] = _clamped_within(_operands(node)[place].unnest(), others, binder) or values[place]
    return _extreme_of(node, values, binder)


def _operands(node: exp.Expr) -> tuple[exp.Expr, ...]:
    return (node.this, *node.expressions)


def _clamped_within(inner: exp.Expr, outer: Sequence[Scalar], binder: Binder) -> Scalar | None:
    """Clamp a column to the literals of two nested extremes; None for other forms.

    The clamp is as for a declared range, so the bound holds for all data. The two extremes around it change no
    clamped value. NULL stays for them to skip, and NaN becomes NULL. The range is rounded outward to whole numbers,
    because a whole column's range is rounded inward.
    """
    if any(part.find(exp.Least, exp.Greatest) for part in _operands(inner)):
        return None  # no column; binding it twice per level would take exponential time
    parts = [binder.scalar(part) for part in _operands(inner)]
    columns = [place for place, part in enumerate(parts) if part.value is None]
    within, around = ([part.value for part in side if part.value is not None] for side in (parts, outer))
    if len(columns) != 1 or not within or len(around) != len(outer) or not around:
        return None
    (place,) = columns
    column = parts[place]
    low, high = (within, around) if isinstance(inner, exp.Greatest) else (around, within)
    lowest, highest = math.floor(max(low)), math.ceil(min(high))
    plain, kind = column.plain, column.type
    if not isinstance(plain, exp.Column) or kind is None or not kind.is_number or max(low) > min(high):
        return None
    if max(abs(lowest), abs(highest)) > _LARGEST:
        return None
    parts[place] = replace(
        column, clamped=lambda: clamp_column(plain, kind, float(lowest), float(highest)), unranged=()
    )
    return _extreme_of(inner, parts, binder)


def _extreme_of(node: exp.Expr, values: Sequence[Scalar], binder: Binder) -> Scalar:
    check_ordered(node, values)
    values = all_real(node, values)
    literals = [float(part.value) for part in values if part.value is not None]

    def build(parts: Sequence[exp.Expr]) -> exp.Expr:
        return type(node)(this=parts[0], expressions=list(parts[1:]), ignore_nulls=True)

    def tighten(known: Bounds) -> Bounds:
        least = isinstance(node, exp.Least)
        low, high = (None, min(literals, default=None)) if least else (max(literals, default=None), None)
        return intervals.within(known, low, high)

    return _choice(node, values, build, binder, tighten)


def nullified(node: exp.Expr, binder: Binder) -> Scalar:
    """`NULLIF(x, y)`. NULLIF(x, 0) is never zero."""
    left, right = align(node, [binder.scalar(node.this), binder.scalar(node.args["expression"])], binder)
    if left.is_null or right.is_null:
        return left
    if left.is_interval:
        return _nullified(node, left.seconds, right.seconds).interval
    return _nullified(node, left, right)


def _nullified(node: exp.Expr, left: Scalar, right: Scalar) -> Scalar:
    kind = left.type
    plain = exp.Nullif(this=left.sql, expression=right.sql)
    if kind is None or not kind.is_number:
        return Scalar(node, kind, plain, span=left.span)
    digits = _promoted(left, right)

    def clamped() -> Measured:
        (a, x), (b, y) = left.measured(), right.measured()
        if x is not None and right.value == 0:
            x = replace(x, nonzero=True)
        return exp.Nullif(this=a, expression=b), x if x is None or y is None or y.integral else intervals.fractional(
            x
        )

    missing = unranged([left, right])
    double = kind if kind == REAL else SqlType(Family.FLOAT)
    if left.plain is None or right.plain is None:
        return Scalar(node, double, None, clamped, unranged=missing)
    if right.type is not None and right.type.family is Family.FLOAT:
        return Scalar(node, double, plain, clamped, unranged=missing)
    return Scalar(
        node, digits.type if digits and not digits.integral else kind, plain, clamped, digits, unranged=missing
    )


def _promoted(left: Scalar, right: Scalar) -> Digits | None:
    """The digits of NULLIF(x, y), which has the type of x in `x = y`: numeric beside a numeric."""
    if left.digits is None or right.digits is None:
        return left.digits and replace(left.digits, integral=False)
    return replace(left.digits, integral=left.digits.integral and right.digits.integral)


def _choice(
    node: exp.Expr,
    values: Sequence[Scalar],
    build: _Build,
    binder: Binder,
    tighten: Callable[[Bounds], Bounds] = lambda known: known,
) -> Scalar:
    values = _of_one_type(node, values, binder)
    kind = next((part.type for part in values if part.type is not None), None)
    if kind is None:
        return arithmetic.null(node)
    if kind.family is Family.INTERVAL:
        return _choice(node, [part.seconds for part in values], build, binder, tighten).interval
    if not kind.is_number:
        return _plain_choice(node, values, build)

    def clamped() -> Measured:
        measured = [part.measured() for part in values]
        known = [bounds for _, bounds in measured if bounds is not None]
        sql = build([sql for sql, _ in measured])
        return sql, tighten(reduce(intervals.either, known)) if known else None

    plain, digits, found = _plain_number(values, build)
    return Scalar(node, found, plain, clamped, digits, unranged=unranged(values))


def _plain_number(values: Sequence[Scalar], build: _Build) -> tuple[exp.Expr | None, Digits | None, SqlType]:
    """The plain form, digits and type of a choice between numbers."""
    known = [part for part in values if not part.is_null]
    digits = [part.digits for part in known]
    families = {part.type.family for part in known if part.type is not None}
    if any(part.plain is None for part in known):
        return None, None, SqlType(Family.FLOAT)
    plain = build([_as_double(part) for part in values])
    exact = [entry for entry in digits if entry is not None]
    if len(exact) == len(digits):
        whole, scale = max(entry.whole for entry in exact), max(entry.scale for entry in exact)
        result = Digits(whole, scale, all(entry.integral for entry in exact))
        return plain, result, result.type if families != {Family.INTEGER} else SqlType(Family.INTEGER, whole)
    if Family.FLOAT not in families:
        return plain, None, SqlType(Family.NUMERIC)
    fits = all(part.type is not None and fits_float(part.type) for part in known)
    kind = REAL if all(part.type == REAL for part in known) else SqlType(Family.FLOAT)
    return (plain if fits else None), None, kind


def _as_double(part: Scalar) -> exp.Expr:
    """A real as a double; beside a real column, a database would round doubles to reals."""
    real = part.type is not None and part.type.family is Family.FLOAT
    return cast_sql(part.sql, "DOUBLE PRECISION") if real else part.sql


def _plain_choice(node: exp.Expr, values: Sequence[Scalar], build: _Build) -> Scalar:
    known = [part for part in values if part.type is not None]
    kind = known[0].type
    assert kind is not None, "typed"
    if kind.is_string:
        sizes = [part.type.precision for part in known if part.type is not None]
        kind = SqlType(Family.TEXT, max(s for s in sizes if s is not None) if None not in sizes else None)
    sql, zoned = build([part.sql for part in values]), any(part.zoned for part in known)
    span, declared = _all([part.span for part in known]), _all([part.span or part.declared for part in known])
    return Scalar(node, kind, sql, span=span, declared=declared, zoned=zoned)


def _all(spans: Sequence[Span | None]) -> Span | None:
    """The days from the first to the last of all spans; None if one is unknown."""
    known = [span for span in spans if span is not None]
    return (min(s[0] for s in known), max(s[1] for s in known)) if len(known) == len(spans) else None


def _of_one_type(node: exp.Expr, values: Sequence[Scalar], binder: Binder) -> list[Scalar]:
    """Give values one type: text for char(n) and text, timestamp for date and timestamp."""
    aligned = align(node, values, binder)
    families = {part.type.family for part in aligned if part.type is not None}
    if families & {Family.CHAR}:
        return [part if part.type is None else as_text(part) for part in aligned]
    if len(families) > 1 and families <= {Family.DATE, Family.TIMESTAMP, Family.TIMESTAMPTZ}:
        stamps = [part if part.type is None else converted(part, SqlType(Family.TIMESTAMP)) for part in aligned]
        zoned = any(part.has_zone for part in aligned)
        return [part if part.type is None else replace(part, zoned=zoned) for part in stamps]
    return all_real(node, aligned)
