"""Rule: enumerate the group keys from a public table, so that an empty group is a row like any other."""

from __future__ import annotations

from sqlglot import exp

from planner.schema import Table
from planner.sql_nodes import cast_sql, named_sql, table_sql
from planner.sql_types import Family, SqlType
from planner.trees import copied

_CASTS = {
    Family.INTEGER: "BIGINT",
    Family.TEXT: "TEXT",
    Family.CHAR: "TEXT",
    Family.DATE: "TEXT",  # ISO, as a policy declares it; the session's DateStyle is pinned
    Family.TIMESTAMP: "TEXT",
}


DISTINCT_FAMILIES = frozenset(_CASTS) | {Family.UUID, Family.BOOL}
"""Types whose canonical form is a bigint or a text that is equal exactly when the values are."""


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
