"""Rule: for COUNT(DISTINCT x), keep each value once per owners and keys; what of it counts is decided later."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.sql.sql_nodes import named_sql


def compact_distinct(
    source: exp.Select, owners: Sequence[exp.Expr], keys: Sequence[exp.Expr], value: exp.Expr, weight: exp.Expr
) -> exp.Select:
    """One row per distinct owners, group keys and value; its weight is whole if any of its join tuples counts.

    A maximum, not a sum: a second tuple of the same people with the same value adds nothing to a count of
    distinct values, and a weight is either whole or zero (privacy.md section 7).

    Args:
      source, owners, keys: as of `compact_provenance`.
      value: the canonical SQL of what is counted.
      weight: the whole weight, 2^30, where the tuple counts, otherwise 0.

    >>> from sqlglot import parse_one
    >>> source = parse_one("SELECT FROM orders", dialect="postgres")
    >>> compact = compact_distinct(source, [parse_one("o_custkey")], [], parse_one("o_clerk"), parse_one("weight"))
    >>> print(compact.sql("postgres", pretty=True))
    SELECT
      o_custkey AS "o0",
      o_clerk AS "v",
      MAX(weight) AS "w0"
    FROM orders
    GROUP BY
      1,
      2
    """
    columns = [named_sql(owner, f"o{i}") for i, owner in enumerate(owners)]
    columns += [named_sql(key, f"k{i}") for i, key in enumerate(keys)]
    columns.append(named_sql(value, "v"))
    grouped = [exp.Literal.number(i + 1) for i in range(len(columns))]
    columns.append(named_sql(exp.Max(this=weight), "w0"))
    return exp.Select(**{**source.args, "expressions": columns, "group": exp.Group(expressions=grouped)})
