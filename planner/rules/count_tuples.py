"""Rule: count the tuples of equal owners, keys and weights, so that the proxy can draw which of them stay."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.sql_nodes import cast_sql
from planner.trees import copied

SATURATION = 1 << 32
"""Counts stop here: as many full weights as a total can hold."""


def count_tuples(
    source: exp.Select, owners: Sequence[exp.Expr], keys: Sequence[exp.Expr], weights: Sequence[exp.Expr]
) -> exp.Select:
    """One row per distinct owners, group keys and weights; its last column is how many tuples it stands for.

    Tuples of one row are alike, so that keeping each with probability q is the same as keeping a binomial number
    of them. The database needs no randomness, and its plan stays parallel. COUNT(*) has one weight: its rows are
    those of `compact_provenance`.

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
    columns = [exp.alias_(copied(owner), f"o{i}", quoted=True) for i, owner in enumerate(owners)]
    columns += [exp.alias_(copied(key), f"k{i}", quoted=True) for i, key in enumerate(keys)]
    grouped = list(range(len(columns)))
    for index, weight in enumerate(weights):
        if not is_constant(weight):
            grouped.append(len(columns))
        columns.append(exp.alias_(copied(weight), f"w{index}", quoted=True))
    count = exp.Least(
        this=exp.Count(this=exp.Star(), big_int=True), expressions=[exp.Literal.number(SATURATION)], ignore_nulls=True
    )
    columns.append(exp.alias_(cast_sql(count, "BIGINT"), f"w{len(weights)}", quoted=True))
    return source.select(*columns, append=False).group_by(*(exp.Literal.number(i + 1) for i in grouped))


def is_constant(weight: exp.Expr) -> bool:
    """Does every tuple weigh the same?"""
    return weight.find(exp.Column) is None
