"""Rule: where no two join tuples have the same owners and keys, no GROUP BY looks for some to merge."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.sql.sql_nodes import named_sql


def keep_tuples(
    source: exp.Select, owners: Sequence[exp.Expr], keys: Sequence[exp.Expr], weights: Sequence[exp.Expr]
) -> exp.Select:
    """One row per join tuple: what `compact_provenance` returns where each tuple is a group by itself.

    A database sorts or hashes millions of rows to find that out, which the planner knows from unique keys
    (`planner.sensitivity.lone_tuples`). Tuples that were alike after all, because a declared key is none, would stand
    side by side unmerged: no total and no truncation changes by it.

    Args:
      source, owners, keys, weights: as of `compact_provenance`.

    >>> from sqlglot import parse_one
    >>> source = parse_one("SELECT FROM link", dialect="postgres")
    >>> kept = keep_tuples(source, [parse_one("a"), parse_one("b")], [], [parse_one("weight")])
    >>> print(kept.sql("postgres", pretty=True))
    SELECT
      a AS "o0",
      b AS "o1",
      weight AS "w0"
    FROM link
    """
    columns = [named_sql(owner, f"o{i}") for i, owner in enumerate(owners)]
    columns += [named_sql(key, f"k{i}") for i, key in enumerate(keys)]
    columns += [named_sql(weight, f"w{i}") for i, weight in enumerate(weights)]
    return exp.Select(**{**source.args, "expressions": columns})
