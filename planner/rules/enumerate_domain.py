"""Rule: enumerate the group keys from a public table, so that an empty group is a row like any other."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from planner.literals import number_sql
from planner.scalar import wrap
from planner.schema import Table
from planner.sql_nodes import cast_sql, named_sql, table_sql
from planner.sql_types import Family, SqlType
from planner.trees import copied, holds

_CASTS = {
    Family.INTEGER: "BIGINT",
    Family.TEXT: "TEXT",
    Family.CHAR: "TEXT",
    Family.DATE: "TEXT",  # ISO, as a policy declares it; the session's DateStyle is pinned
    Family.TIMESTAMP: "TEXT",
    Family.TIMESTAMPTZ: "TEXT",  # with its offset, so that two moments of a repeated hour stay two
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
    if whole and holds(value, *ROUNDING):
        inside = exp.Between(this=wrap(copied(value)), low=number_sql(-_MOST), high=number_sql(_MOST))
        return exp.Case().when(inside, cast_sql(copied(value), "BIGINT"), copy=False)
    if kind.family is Family.NUMERIC and kind.scale is not None and isinstance(value, exp.Column):
        return cast_sql(copied(value), "TEXT")
    return canonical_value(value, kind) if kind.family in _DISTINCT else None


def canonical_value(value: exp.Expr, kind: SqlType) -> exp.Expr:
    """A key in the form that all its spellings share: bigint, text without padding, dates as ISO text.

    >>> canonical_value(exp.column("n_name"), SqlType(Family.CHAR)).sql("postgres")
    'CAST(n_name AS TEXT)'
    """
    target = _CASTS.get(kind.family)
    return copied(value) if target is None else cast_sql(copied(value), target)


def enumerate_domain(table: Table, column: str, kind: SqlType) -> exp.Select:
    """The distinct values of a public column, in order, without NULL.

    >>> nation = Table("nation", "public", (), (), ())
    >>> print(enumerate_domain(nation, "n_name", SqlType(Family.CHAR)).sql("postgres"))
    SELECT DISTINCT CAST("n_name" AS TEXT) AS "k" FROM "public"."nation" AS "d" WHERE "n_name" IS NOT NULL ORDER BY 1
    """
    name = exp.Column(this=exp.to_identifier(column, quoted=True))
    known = exp.Is(this=copied(name), expression=exp.Null(), negate=True)
    key = named_sql(canonical_value(name, kind), "k")
    select = exp.Select(expressions=[key], distinct=exp.Distinct())
    select.set("from_", exp.From(this=table_sql(table, "d")))
    select.set("where", exp.Where(this=known))
    select.set("order", exp.Order(expressions=[exp.Ordered(this=exp.Literal.number(1))]))
    return select
