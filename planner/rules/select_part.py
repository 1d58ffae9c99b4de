"""Rule: read one part of a join by itself, with the columns that it meets others in and those that a tuple shows."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.sql.sql_nodes import cast_sql, named_sql


def select_part(source: exp.Select, columns: Sequence[exp.Expr]) -> exp.Select:
    """One row per row of the part, in any order; nothing is merged, for each stands in tuples of its own.

    Args:
      source: the rows of the part: FROM and WHERE, no select list.
      columns: what is read of them; of none, their number is all that is asked.

    >>> from sqlglot import parse_one
    >>> source = parse_one("SELECT FROM link WHERE day = 1", dialect="postgres")
    >>> print(select_part(source, [parse_one("a"), parse_one("b")]).sql("postgres", pretty=True))
    SELECT
      a AS "c0",
      b AS "c1"
    FROM link
    WHERE
      day = 1
    """
    read = columns or [cast_sql(exp.Literal.number(0), "BIGINT")]
    return exp.Select(**{**source.args, "expressions": [named_sql(one, f"c{i}") for i, one in enumerate(read)]})
