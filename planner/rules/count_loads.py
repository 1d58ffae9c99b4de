"""Rule: of tuples with one owner, count in the database how many units have how much; no unit leaves it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.rules.compact_provenance import SATURATION
from planner.sql.sql_nodes import cast_sql, named_sql
from planner.sql.trees import over_leaves, quoted

LOADS, SUMS, LOAD = "loads", "sums", "load"
"""Names of the statement's own: what every unit has, the numbers of the sums, and the load of one of them."""


def count_loads(n_keys: int, n_weights: int, thresholds: Sequence[int]) -> exp.Select:
    """One row per group keys, sum and interval between two thresholds that some unit's load lies in.

    A load is what one unit adds to a sum in a group. sum_u min(tau, load_u) is, for every tau that is a threshold,
    the total of the loads up to tau and tau times the number of those above it: so these rows say as much as the
    units do (privacy-reach.md section 7). Loads of 0 and tuples of nobody add nothing, and are left out.

    It reads what `compact_provenance` makes of tuples with one owner, columns o0, k0.., w0.., under the name LOADS;
    its own columns are whole numbers, and mean the same in every dialect.

    Args:
      n_keys, n_weights: how many of the columns are keys and weights.
      thresholds: rising, > 0, in units.
    Returns: columns k0.., i (which weight), b (the place of the least threshold that is no less than the load, their
      number where there is none), n (how many units) and s (their total, in units, saturating).

    >>> print(count_loads(1, 1, [2, 4, 8]).sql("postgres", pretty=True))
    SELECT
      "k0",
      0 AS "i",
      CASE
        WHEN "w0" <= 4
        THEN CASE WHEN "w0" <= 2 THEN 0 ELSE 1 END
        ELSE CASE WHEN "w0" <= 8 THEN 2 ELSE 3 END
      END AS "b",
      COUNT(*) AS "n",
      CAST(LEAST(SUM("w0"), 4611686018427387904) AS BIGINT) AS "s"
    FROM "loads"
    WHERE
      NOT "o0" IS NULL AND "w0" > 0
    GROUP BY
      1,
      3
    """
    keys = [exp.Column(this=quoted(f"k{place}")) for place in range(n_keys)]
    rows: exp.Expr = exp.Table(this=quoted(LOADS))
    owned: exp.Expr | None = exp.Not(this=exp.Is(this=exp.Column(this=quoted("o0")), expression=exp.Null()))
    if n_weights == 1:
        which: exp.Expr = exp.Literal.number(0)
        load, source = exp.Column(this=quoted("w0")), rows
    else:
        which, load = exp.Column(this=quoted("i")), exp.Column(this=quoted(LOAD))
        source, owned = _one_row_each(rows, keys, n_weights, owned), None
    there = exp.GT(this=load.copy(), expression=exp.Literal.number(0))
    total = exp.Least(this=exp.Sum(this=load.copy()), expressions=[exp.Literal.number(SATURATION)], ignore_nulls=True)
    columns: list[exp.Expr] = [key.copy() for key in keys]
    columns.append(named_sql(which, "i") if n_weights == 1 else which)
    columns.append(named_sql(place_sql(load, thresholds), "b"))
    grouped = [place for place in range(len(columns)) if n_weights > 1 or place != n_keys]
    columns.append(named_sql(exp.Count(this=exp.Star(), big_int=True), "n"))
    columns.append(named_sql(cast_sql(total, "BIGINT"), "s"))
    return exp.Select(
        expressions=columns,
        from_=exp.From(this=source),
        where=exp.Where(this=there if owned is None else exp.And(this=owned, expression=there)),
        group=exp.Group(expressions=[exp.Literal.number(place + 1) for place in grouped]),
    )


def _one_row_each(rows: exp.Expr, keys: Sequence[exp.Expr], n_weights: int, owned: exp.Expr | None) -> exp.Subquery:
    """Every unit's row once for each of its weights, as `load` of the sum `i`."""
    load = which_sql([f"w{place}" for place in range(n_weights)])
    each = exp.Select(
        expressions=[*(key.copy() for key in keys), exp.Column(this=quoted("i")), named_sql(load, LOAD)],
        from_=exp.From(this=rows),
        joins=[exp.Join(this=sums_sql(n_weights), kind="CROSS")],
        where=exp.Where(this=owned),
    )
    return exp.Subquery(this=each, alias=exp.TableAlias(this=quoted(LOAD + "s_each")))


def which_sql(weights: Sequence[str]) -> exp.Expr:
    """The weight of the sum `i`."""
    if len(weights) == 1:
        return over_leaves(exp.Column, this=quoted(weights[0]))
    load = exp.Case()
    for place, weight in enumerate(weights[:-1]):
        which = over_leaves(exp.Column, this=quoted("i"))
        is_it = exp.EQ(this=which, expression=exp.Literal.number(place))
        load = load.when(is_it, over_leaves(exp.Column, this=quoted(weight)), copy=False)
    return load.else_(over_leaves(exp.Column, this=quoted(weights[-1])), copy=False)


def sums_sql(n_weights: int) -> exp.Values:
    """The numbers of the sums, as a relation with the column `i`."""
    return exp.Values(
        expressions=[exp.Tuple(expressions=[exp.Literal.number(place)]) for place in range(n_weights)],
        alias=exp.TableAlias(this=quoted(SUMS), columns=[quoted("i")]),
    )


def place_sql(load: exp.Column, thresholds: Sequence[int], first: int = 0) -> exp.Expr:
    """The place of the least threshold that is no less than the load, by halving: six comparisons for 54."""
    if not thresholds:
        return exp.Literal.number(first)
    middle = (len(thresholds) - 1) // 2
    below = exp.LTE(this=load.copy(), expression=exp.Literal.number(thresholds[middle]))
    lower, upper = (
        place_sql(load, thresholds[:middle], first),
        place_sql(load, thresholds[middle + 1 :], first + middle + 1),
    )
    return exp.Case(ifs=[exp.If(this=below, true=lower)], default=upper)  # `when` and `else_` copy all that is below
