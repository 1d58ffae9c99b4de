"""One SQL value per class of equal values: what is counted once, and what a group is known by."""

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
    Family.TIMESTAMPTZ: "TEXT",  # with its offset, so that two instants of a repeated hour stay two
}

ROUNDING = (exp.Floor, exp.Ceil, exp.Round, exp.Trunc)
"""What makes a whole number of a numeric, which may be NaN."""

_MOST_DIGITS = 18

_MOST = Decimal(10**_MOST_DIGITS)
"""Whole numbers of as many digits lie below, and fit a bigint."""

_DISTINCT = frozenset(_CASTS) | {Family.UUID, Family.BOOL}


def distinct_value(value: exp.Expr, kind: SqlType) -> exp.Expr | None:
    """A bigint, text, uuid or boolean that is equal exactly when the values are; None where there is none.

    A column of type numeric(p, s) writes every value with s digits, so equal numbers are equal texts; NaN, too.
    A rounded numeric may be NaN, which no bigint is: it does not count; what is cast to a whole type is NULL then.
    Other numerics write 1.0 and 1.00, doubles 0 and -0 differently, though they are equal.

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
    """A text that is equal exactly when every one of several distinct values is; NULL is one more value of each.

    Each is written after its length, so that no two rows of values run together to the same text. Of a text the first
    2^20 characters are: of those that are longer, some are one.

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
