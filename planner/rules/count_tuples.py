"""Rule: count the tuples of equal owners, keys and weights, so that the proxy can draw which of them stay."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.sql.sql_nodes import cast_sql, named_sql

SATURATION = 1 << 32
"""Counts stop here: as many full weights as a total can hold."""


def count_tuples(
    source: exp.Select, owners: Sequence[exp.Expr], keys: Sequence[exp.Expr], weights: Sequence[exp.Expr]
) -> exp.Select:
    """One row per distinct owners, group keys and weights; its last column is how many tuples it stands for.

    Tuples of one row are alike, so that keeping each with probability q is the same as keeping a binomial number
    of them. The database needs no randomness, and its plan stays parallel. COUNT(*) has one weight: its rows are
    those of `compact_provenance`.

    Args:
      source, owners, keys, weights: as of `compact_provenance`.

    >>> from sqlglot import parse_one
    >>> source = parse_one("SELECT FROM orders", dialect="postgres")
    >>> counted = count_tuples(source, [parse_one("o_custkey")], [], [parse_one("price")])
    >>> print(counted.sql("postgres", pretty=True))
    SELECT
      o_custkey AS "o0",
      price AS "w0",
      CAST(LEAST(COUNT(*), 4294967296) AS BIGINT) AS "w1"
    FROM orders
    GROUP BY
      1,
      2
    """
    columns = [named_sql(owner, f"o{i}") for i, owner in enumerate(owners)]
    columns += [named_sql(key, f"k{i}") for i, key in enumerate(keys)]
    grouped = list(range(len(columns)))
    for index, weight in enumerate(weights):
        if not is_constant(weight):
            grouped.append(len(columns))
        columns.append(named_sql(weight, f"w{index}"))
    count = exp.Least(
        this=exp.Count(this=exp.Star(), big_int=True), expressions=[exp.Literal.number(SATURATION)], ignore_nulls=True
    )
    columns.append(named_sql(cast_sql(count, "BIGINT"), f"w{len(weights)}"))
    group = exp.Group(expressions=[exp.Literal.number(i + 1) for i in grouped])
    return exp.Select(**{**source.args, "expressions": columns, "group": group})


def is_constant(weight: exp.Expr) -> bool:
    """Does every tuple weigh the same?"""
    return weight.find(exp.Column) is None
