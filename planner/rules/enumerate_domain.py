"""Rule: enumerate the groups that there can be, so that an empty group is a row like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from planner.bound_query import BoundTable, bound_column
from planner.limits import MAX_GROUPS
from planner.literals import number_sql
from planner.rules.join_tables import join_tables
from planner.rules.list_values import PRESENCE, list_presence
from planner.scalar import wrap
from planner.sql_nodes import add_conditions, cast_sql, conjunction, named_sql, table_sql
from planner.sql_types import Family, SqlType
from planner.trees import copied, holds

_CASTS = {
    Family.INTEGER: "BIGINT",
    Family.TEXT: "TEXT",
    Family.CHAR: "TEXT",
    Family.ENUM: "TEXT",
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


@dataclass(frozen=True)
class Rows:
    """Rows of a public table in a domain's statement.

    Attributes:
      entry: the table and its alias.
      on: the conditions of a LEFT JOIN; None for rows that must be there.
      missing: are there tuples without the row, whatever `on` says?
    """

    entry: BoundTable
    on: tuple[exp.Expr, ...] | None = None
    missing: bool = False


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


def enumerate_domain(
    keys: Sequence[exp.Expr], values: Sequence[exp.Subquery], rows: Sequence[Rows], conditions: Sequence[exp.Expr]
) -> exp.Select:
    """The distinct groups over public rows and declared values, in order; nothing private is read.

    Args:
      keys: the canonical values of the group keys.
      values: from `list_values`, each crossed with the others.
      rows: of public tables, those that must be there first.
      conditions: over both.
    Returns: columns k0, k1, ...; one row more than an answer may have groups, if there are so many.

    >>> from sqlglot import parse_one
    >>> from planner.schema import Table
    >>> nation = BoundTable("n", "n", Table("nation", "public", (), (), ()))
    >>> keys, conditions = [parse_one("CAST(n.n_name AS TEXT)")], [parse_one("n.n_regionkey = 3")]
    >>> print(enumerate_domain(keys, [], [Rows(nation)], conditions).sql("postgres", pretty=True))
    SELECT DISTINCT
      CAST(n.n_name AS TEXT) AS "k0"
    FROM "public"."nation" AS "n"
    WHERE
      n.n_regionkey = 3
    ORDER BY
      1
    LIMIT 100001
    """
    present = [row.entry for row in rows if row.on is None]
    items: list[exp.Expr] = list(values)
    if any(row.missing for row in rows):
        items.append(list_presence((0, 1)))
    elif not present and not items:  # a LEFT JOIN needs a left side
        items.append(list_presence((1,)))
    if present:
        select = join_tables(present, conditions)
    else:
        select = exp.Select(from_=exp.From(this=items.pop(0)))
        add_conditions(select, [copied(condition) for condition in conditions])
    for item in items:
        select.append("joins", exp.Join(this=item, kind="CROSS"))
    for row in rows:
        if row.on is not None:
            on = conjunction([*([_is_there()] if row.missing else []), *map(copied, row.on)]) or exp.true()
            select.append("joins", exp.Join(this=table_sql(row.entry.table, row.entry.alias), side="LEFT", on=on))
    select.set("expressions", [named_sql(key, f"k{index}") for index, key in enumerate(keys)])
    select.set("distinct", exp.Distinct())
    places = [exp.Ordered(this=exp.Literal.number(index + 1)) for index in range(len(keys))]
    select.set("order", exp.Order(expressions=places))
    select.set("limit", exp.Limit(expression=exp.Literal.number(MAX_GROUPS + 1)))
    return select


def _is_there() -> exp.Expr:
    return exp.EQ(this=bound_column(PRESENCE, PRESENCE), expression=exp.Literal.number(1))
