"""Rule: a semi-join is a condition of WHERE over rows of its own, which multiplies no tuples."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.binding.bound_query import BoundSemiJoin
from planner.rules.join_tables import join_tables
from planner.sql.sql_nodes import add_conditions


def filter_semi_joins(select: exp.Select, semi_joins: Sequence[BoundSemiJoin]) -> exp.Select:
    """Append each as EXISTS or NOT EXISTS; in place.

    Optimisers read these as semi- and anti-joins, hashed where columns are equal. NOT IN is not written: its NULLs
    are among the conditions (`planner.binding.semi_joins`).

    >>> from sqlglot import parse_one
    >>> from planner.binding.bound_query import BoundTable
    >>> from planner.schema import Table
    >>> inner = BoundTable("b", "b", Table("b", "public", (), (), ()))
    >>> absent = BoundSemiJoin((inner,), (parse_one("b.x = a.x"),), True, "NOT EXISTS", None)
    >>> filter_semi_joins(parse_one("SELECT FROM a WHERE a.y = 1"), [absent]).sql("postgres")
    'SELECT FROM a WHERE a.y = 1 AND NOT EXISTS(SELECT 1 FROM "public"."b" AS "b" WHERE b.x = a.x)'
    """
    add_conditions(select, [semi_join_condition(one) for one in semi_joins])
    return select


def semi_join_condition(semi_join: BoundSemiJoin) -> exp.Expr:
    """The EXISTS or NOT EXISTS of one."""
    rows = join_tables(semi_join.tables, semi_join.predicates)
    rows.set("expressions", [exp.Literal.number(1)])
    exists = exp.Exists(this=rows)
    return exp.Not(this=exists) if semi_join.negated else exists
