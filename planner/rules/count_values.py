"""Rule: for COUNT(DISTINCT x) where each value is one unit's, count every unit's values in the database."""

from __future__ import annotations

from sqlglot import exp

from planner.rules.compact_provenance import total_sql
from planner.rules.guard_weight import whole_weight
from planner.sql.sql_nodes import named_sql
from planner.sql.trees import quoted

VALUES = "values"
"""Name of the statement's own: the values of every unit."""


def count_values(n_keys: int) -> exp.Select:
    """How many values each unit has in a group, as the weight of one row per owner and group keys.

    It reads what `compact_distinct` makes of tuples with one owner, columns o0, k0.., v, w0, under the name VALUES:
    each value once per owner, which is once where x determines its owner. Its rows are those that `count_loads`
    reads, and mean the same in every dialect. Values that do not count, NULL among them, have the weight 0.

    Args:
      n_keys: how many of the columns are keys.

    >>> print(count_values(1).sql("postgres", pretty=True))
    SELECT
      "o0",
      "k0",
      CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0"
    FROM "values"
    WHERE
      "w0" > 0
    GROUP BY
      1,
      2
    """
    names = ["o0", *(f"k{place}" for place in range(n_keys))]
    columns: list[exp.Expr] = [exp.Column(this=quoted(name)) for name in names]
    counts = exp.GT(this=exp.Column(this=quoted("w0")), expression=exp.Literal.number(0))
    grouped = [exp.Literal.number(place + 1) for place in range(len(columns))]
    return exp.Select(
        expressions=[*columns, named_sql(total_sql(whole_weight()), "w0")],
        from_=exp.From(this=exp.Table(this=quoted(VALUES))),
        where=exp.Where(this=counts),
        group=exp.Group(expressions=grouped),
    )
