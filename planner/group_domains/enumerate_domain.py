"""Rule: enumerate the groups that there can be, so that an empty group is a row like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from planner.binding.bound_query import BoundTable
from planner.group_domains.list_values import MATCHED, list_matched
from planner.limits import MAX_GROUPS
from planner.rules.join_tables import join_tables
from planner.sql.columns import bound_column
from planner.sql.sql_nodes import add_conditions, conjunction, named_sql, table_sql
from planner.sql.trees import copied


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
        items.append(list_matched((0, 1)))
    elif not present and not items:  # a LEFT JOIN needs a left side
        items.append(list_matched((1,)))
    if present:
        select = join_tables(present, conditions)
    else:
        select = exp.Select(from_=exp.From(this=items.pop(0)))
        add_conditions(select, [copied(condition) for condition in conditions])
    for item in items:
        select.append("joins", exp.Join(this=item, kind="CROSS"))
    for row in rows:
        if row.on is not None:
            on = conjunction([*([_is_matched()] if row.missing else []), *map(copied, row.on)]) or exp.true()
            select.append("joins", exp.Join(this=table_sql(row.entry.table, row.entry.alias), side="LEFT", on=on))
    select.set("expressions", [named_sql(key, f"k{index}") for index, key in enumerate(keys)])
    select.set("distinct", exp.Distinct())
    places = [exp.Ordered(this=exp.Literal.number(index + 1)) for index in range(len(keys))]
    select.set("order", exp.Order(expressions=places))
    select.set("limit", exp.Limit(expression=exp.Literal.number(MAX_GROUPS + 1)))
    return select


def _is_matched() -> exp.Expr:
    return exp.EQ(this=bound_column(MATCHED, MATCHED), expression=exp.Literal.number(1))
