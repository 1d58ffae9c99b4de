"""Rule: for quantiles and extremes, count the rows of equal owners, keys and place on the public grid."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.rules.compact_provenance import compact_provenance


def compact_ranked(
    source: exp.Select, owners: Sequence[exp.Expr], keys: Sequence[exp.Expr], place: exp.Expr, weight: exp.Expr
) -> exp.Select:
    """`compact_provenance` with the place as one more key, whose name is v.

    Args:
      source, owners, keys: as of `compact_provenance`.
      place: the place of a tuple's value on the grid; NULL for none.
      weight: the whole weight, 2^30, where the tuple counts, otherwise 0.

    >>> from sqlglot import parse_one
    >>> source = parse_one("SELECT FROM orders", dialect="postgres")
    >>> ranked = compact_ranked(source, [parse_one("o_custkey")], [], parse_one("place"), parse_one("weight"))
    >>> print(ranked.sql("postgres", pretty=True))
    SELECT
      o_custkey AS "o0",
      place AS "v",
      CAST(LEAST(SUM(weight), 4611686018427387904) AS BIGINT) AS "w0"
    FROM orders
    GROUP BY
      1,
      2
    """
    select = compact_provenance(source, owners, [*keys, place], [weight])
    select.expressions[len(owners) + len(keys)].set("alias", exp.to_identifier("v", quoted=True))
    return select
