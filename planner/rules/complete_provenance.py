"""Rule: join the parents that say who owns a row, and drop the rows whose parent is gone."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.sensitivity.provenance import Completion
from planner.sql.columns import bound_column
from planner.sql.sql_nodes import add_conditions, conjunction, table_sql
from planner.sql.trees import copied


def complete_provenance(
    select: exp.Select, completions: Sequence[Completion], ends: Sequence[Sequence[tuple[str, str]]] = ()
) -> exp.Select:
    """Append one LEFT JOIN per completion, with its filter (privacy.md section 1).

    `ends` are foreign keys, as (alias, column) pairs, beyond which ownership is not followed: one part must be NULL.

    A row stays iff its foreign key is NULL or the parent exists. Without the filter a parent that is
    removed would leave its children to nobody, and one person's rows could add more than their own tuples.

    >>> from sqlglot import parse_one
    >>> from planner.schema import Column, ForeignKey, Table
    >>> orders = Table("orders", "public", (Column("o_orderkey", "bigint", False),), (("o_orderkey",),), ())
    >>> key = ForeignKey(("l_orderkey",), "orders", ("o_orderkey",))
    >>> before = parse_one("SELECT FROM lineitem AS l", dialect="postgres")
    >>> after = complete_provenance(before, [Completion("p", orders, "l", key, ("l_orderkey",))])
    >>> print(after.sql("postgres", pretty=True))
    SELECT
    FROM lineitem AS l
    LEFT JOIN "public"."orders" AS "p"
      ON "l"."l_orderkey" = "p"."o_orderkey"
    WHERE
      (
        "l"."l_orderkey" IS NULL OR "p"."o_orderkey" IS NOT NULL
      )
    """
    if not completions and not ends:
        return select  # nothing to add, so nothing to copy
    completed = copied(select)
    for completion in completions:
        key = completion.key
        pairs = zip(key.columns, key.key, strict=True)
        conditions = [
            exp.EQ(this=bound_column(completion.child, name), expression=bound_column(completion.alias, parent))
            for name, parent in pairs
        ]
        parent = table_sql(completion.table, completion.alias)
        completed.append("joins", exp.Join(this=parent, side="LEFT", on=conjunction(conditions)))
    last = [exp.or_(*(_is_null(*column) for column in columns)) for columns in ends]
    add_conditions(completed, [*(_filter(completion) for completion in completions), *last])
    return completed


def _filter(completion: Completion) -> exp.Expr:
    """NULL in any column of the key references nothing; otherwise the parent's own key shows that it is there."""
    exists = _is_null(completion.alias, completion.key.key[0], negate=True)
    absent = [_is_null(completion.child, name) for name in completion.nullable]
    return exp.or_(*absent, exists) if absent else exists


def _is_null(alias: str, name: str, *, negate: bool = False) -> exp.Is:
    return exp.Is(this=bound_column(alias, name), expression=exp.Null(), negate=negate)
