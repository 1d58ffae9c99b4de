"""One SQL value for all equal values, for counts of distinct values and for group keys."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from planner.expressions.scalar import wrap
from planner.expressions.strings import MAX_TEXT
from planner.sql.literals import number_sql
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import behind_length, cast_sql, copied, field_of, holds, joined_texts

_CASTS = {
    Family.INTEGER: "BIGINT",
    Family.TEXT: "TEXT",
    Family.CHAR: "TEXT",
    Family.ENUM: "TEXT",
    Family.DATE: "TEXT",  # ISO, as a policy declares it; the session's DateStyle is pinned
    Family.TIMESTAMP: "TEXT",
    Family.TIME: "TEXT",
    Family.INET: "TEXT",
    Family.TIMESTAMPTZ: "TEXT",  # with its offset, so that a repeated hour has two texts
}

ROUNDING = (exp.Floor, exp.Ceil, exp.Round, exp.Trunc)
"""Functions that round a numeric to a whole number or NaN."""

_MOST_DIGITS = 18

_MOST = Decimal(10**_MOST_DIGITS)
"""A bigint holds whole numbers below this."""

_DISTINCT = frozenset(_CASTS) | {Family.UUID, Family.BOOL}


def distinct_value(value: exp.Expr, kind: SqlType) -> exp.Expr | None:
    """A bigint, text, uuid or boolean that is equal exactly when the values are; None if there is none.

    A column of type numeric(p, s) has one text per value, also for NaN. Other numerics write equal numbers as 1.0 and
    1.00, and doubles write 0 and -0. A rounded numeric becomes a bigint; NaN becomes NULL, which is not counted.

    >>> distinct_value(exp.column("price"), SqlType(Family.NUMERIC, 15, 2)).sql("postgres")
    'CAST(price AS TEXT)'
    """
    whole = kind.family is Family.NUMERIC and kind.scale == 0 and (kind.precision or _MOST_DIGITS + 1) <= _MOST_DIGITS
    field = field_of(value)
    if field is not None:
        return cast_sql(copied(field), "BIGINT")
    if whole and holds(value, *ROUNDING, exp.Extract):
        inside = exp.Between(this=wrap(copied(value)), low=number_sql(-_MOST), high=number_sql(_MOST))
        return exp.Case().when(inside, cast_sql(copied(value), "BIGINT"), copy=False)
    if kind.family is Family.NUMERIC and kind.scale is not None and isinstance(value, exp.Column):
        return cast_sql(copied(value), "TEXT")
    if kind.has_one_text:
        return cast_sql(copied(value), "TEXT")
    return canonical_value(value, kind) if kind.family in _DISTINCT else None


def joint_value(values: Sequence[exp.Expr]) -> exp.Expr:
    """A text that is equal exactly when all of several distinct values are equal; NULL counts as a value.

    Each value is preceded by its length, so that different values never join to one text. Only the first 2^20
    characters of a text count.

    >>> joint_value([exp.column("a"), exp.column("b")]).sql("postgres").split(" || ")[:2]
    ['COALESCE(CAST(LENGTH(CAST(a AS TEXT)) AS TEXT)', "':'"]
    """
    parts: list[exp.Expr] = []
    for value in values:
        length, colon, text = behind_length(cast_sql(value, "TEXT"))
        start = exp.Left(this=text, expression=exp.Literal.number(MAX_TEXT))
        parts.append(exp.Coalesce(this=joined_texts([length, colon, start]), expressions=[exp.Literal.string("-")]))
    return joined_texts(parts)


def canonical_value(value: exp.Expr, kind: SqlType) -> exp.Expr:
    """A key in the form that all its spellings share: bigint, text without padding, dates as ISO text.

    >>> canonical_value(exp.column("n_name"), SqlType(Family.CHAR)).sql("postgres")
    'CAST(n_name AS TEXT)'
    """
    target = _CASTS.get(kind.family)
    return copied(value) if target is None else cast_sql(copied(value), target)
