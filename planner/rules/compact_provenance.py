"""Rule: sum the weights of equal owners and keys in the database; the proxy reads distinct provenance only."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.rules.guard_weight import UNITS, whole_weight, whole_weight_where
from planner.sql.sql_nodes import cast_sql, named_sql
from planner.sql.trees import copied

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
