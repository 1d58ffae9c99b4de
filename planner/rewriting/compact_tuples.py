"""Rule: add up in the database what join tuples of equal owners and keys have; the proxy reads distinct provenance
only.

Rule: sum the weights of equal owners and keys in the database; the proxy reads distinct provenance only.

Rule: for COUNT(DISTINCT x), keep each value once per owners and keys; what of it counts is decided later.

Rule: where no two join tuples have the same owners and keys, no GROUP BY looks for some to merge.

Rule: for quantiles and extremes, count the rows of equal owners, keys and place on the public grid.

Rule: for COUNT(DISTINCT x) where each value is one unit's, count every unit's values in the database.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.rewriting.guard_weight import UNITS, whole_weight, whole_weight_where
from planner.sql.trees import cast_sql, copied, named_sql, quoted

SATURATION = 1 << 62
"""Totals stop here, at 2^32 full weights: a minimum is 1-Lipschitz. The sum of bigints is numeric: no overflow."""


def compact_provenance(
    source: exp.Select, owners: Sequence[exp.Expr], keys: Sequence[exp.Expr], weights: Sequence[exp.Expr]
) -> exp.Select:
    """One row per distinct owners and group keys.

    Args:
      source: the join after provenance completion: FROM and WHERE, no select list.
      owners: the keys of the owner positions.
      keys: the group keys.
      weights: of one tuple, each a bigint in units of 2^-30 of its bound W.

    >>> from sqlglot import parse_one
    >>> source = parse_one("SELECT FROM orders", dialect="postgres")
    >>> compact = compact_provenance(source, [parse_one("o_custkey")], [], [parse_one("weight")])
    >>> print(compact.sql("postgres", pretty=True))
    SELECT
      o_custkey AS "o0",
      CAST(LEAST(SUM(weight), 4611686018427387904) AS BIGINT) AS "w0"
    FROM orders
    GROUP BY
      1
    """
    columns = [named_sql(owner, f"o{i}") for i, owner in enumerate(owners)]
    columns += [named_sql(key, f"k{i}") for i, key in enumerate(keys)]
    grouped = [exp.Literal.number(i + 1) for i in range(len(columns))]
    columns += [named_sql(total_sql(weight), f"w{i}") for i, weight in enumerate(weights)]
    return exp.Select(**{**source.args, "expressions": columns, "group": exp.Group(expressions=grouped)})


def total_sql(weight: exp.Expr) -> exp.Expr:
    """The sum of a weight over the rows of a group, saturating; rows that count one each are counted.

    >>> print(total_sql(whole_weight()).sql("postgres"))
    CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT)
    """
    counted = _counted(weight)
    if counted is not None:
        most = exp.Least(this=counted, expressions=[exp.Literal.number(SATURATION // UNITS)], ignore_nulls=True)
        return cast_sql(exp.Mul(this=most, expression=exp.Literal.number(UNITS)), "BIGINT")
    saturated = exp.Least(this=exp.Sum(this=weight), expressions=[exp.Literal.number(SATURATION)], ignore_nulls=True)
    return cast_sql(saturated, "BIGINT")


def _counted(weight: exp.Expr) -> exp.Expr | None:
    """COUNT of the rows of a weight that is whole: of all, or of those that a condition holds for."""
    if weight == whole_weight():
        return exp.Count(this=exp.Star(), big_int=True)
    case = weight.this if isinstance(weight, exp.Cast) else None
    if isinstance(case, exp.Case) and len(case.args["ifs"]) == 1:
        condition = case.args["ifs"][0].this
        if weight == whole_weight_where(copied(condition)):
            there = exp.Case().when(copied(condition), exp.Literal.number(1), copy=False)
            return exp.Count(this=there, big_int=True)
    return None


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


def keep_tuples(
    source: exp.Select, owners: Sequence[exp.Expr], keys: Sequence[exp.Expr], weights: Sequence[exp.Expr]
) -> exp.Select:
    """One row per join tuple: what `compact_provenance` returns where each tuple is a group by itself.

    A database sorts or hashes millions of rows to find that out, which the planner knows from unique keys
    (`planner.sensitivity.join_steps`). Tuples that were alike after all, because a declared key is none, would stand
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
