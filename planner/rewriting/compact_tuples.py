"""Rules: merge join tuples with equal owners and keys, or sample them, so that the proxy reads fewer rows.

Merged tuples share their owners, group keys, and the counted or ranked value; their weights are added up. Totals
saturate, so that none fails for a row. A sample draws the rows of one relation independently. Or equal tuples are
counted, and the proxy draws how many of them stay.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sqlglot import exp

from planner.rewriting.guard_weight import UNITS, whole_weight, whole_weight_where
from planner.sql.trees import cast_sql, copied, named_sql

SATURATION = 1 << 62
"""The largest total, 2^32 full weights. A minimum is 1-Lipschitz, and PostgreSQL's sum of bigints is a numeric, which
does not overflow.
"""


def compact(
    source: exp.Select,
    owners: Sequence[exp.Expr],
    keys: Sequence[exp.Expr],
    *,
    value: exp.Expr | None = None,
    totals: Sequence[exp.Expr],
    merged: bool = True,
) -> exp.Select:
    """One row per distinct owners, group keys and value: columns o0.., k0.., v, w0...

    Without `merged`, there is one row per tuple. The planner omits merging where unique keys prove that no two tuples
    are alike (`planner.sensitivity.join_steps`), which saves the database a sort. If a declared key is wrong, equal
    tuples stay side by side, which changes no total and no truncation.

    >>> from sqlglot import parse_one
    >>> source, owner, weight = parse_one("SELECT FROM orders"), parse_one("o_custkey"), parse_one("weight")
    >>> compact(source, [owner], [], totals=[total_sql(weight)]).sql("postgres")
    'SELECT o_custkey AS "o0", CAST(LEAST(SUM(weight), 4611686018427387904) AS BIGINT) AS "w0" FROM orders GROUP BY 1'
    >>> compact(source, [owner], [], value=parse_one("o_clerk"), totals=[exp.Max(this=weight)]).sql("postgres")
    'SELECT o_custkey AS "o0", o_clerk AS "v", MAX(weight) AS "w0" FROM orders GROUP BY 1, 2'
    """
    columns = [named_sql(owner, f"o{i}") for i, owner in enumerate(owners)]
    columns += [named_sql(key, f"k{i}") for i, key in enumerate(keys)]
    columns += [] if value is None else [named_sql(value, "v")]
    grouped = [exp.Literal.number(i + 1) for i in range(len(columns))]
    columns += [named_sql(total, f"w{i}") for i, total in enumerate(totals)]
    parts = {**source.args, "expressions": columns}
    return exp.Select(**parts, group=exp.Group(expressions=grouped)) if merged else exp.Select(**parts)


def total_sql(weight: exp.Expr) -> exp.Expr:
    """The saturating sum of a weight over a group; whole weights are counted.

    >>> total_sql(whole_weight()).sql("postgres")
    'CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT)'
    """
    counted = _counted(weight)
    if counted is not None:
        most = exp.Least(this=counted, expressions=[exp.Literal.number(SATURATION // UNITS)], ignore_nulls=True)
        return cast_sql(exp.Mul(this=most, expression=exp.Literal.number(UNITS)), "BIGINT")
    saturated = exp.Least(this=exp.Sum(this=weight), expressions=[exp.Literal.number(SATURATION)], ignore_nulls=True)
    return cast_sql(saturated, "BIGINT")


def _counted(weight: exp.Expr) -> exp.Expr | None:
    """COUNT of the rows with a whole weight: of all rows, or of those that meet a condition."""
    if weight == whole_weight():
        return exp.Count(this=exp.Star(), big_int=True)
    case = weight.this if isinstance(weight, exp.Cast) else None
    if isinstance(case, exp.Case) and len(case.args["ifs"]) == 1:
        condition = case.args["ifs"][0].this
        if weight == whole_weight_where(copied(condition)):
            there = exp.Case().when(copied(condition), exp.Literal.number(1), copy=False)
            return exp.Count(this=there, big_int=True)
    return None


_CUTOFFS = 1 << 32


def sample_rows(select: exp.Select, alias: str, percent: str) -> exp.Select:
    """Write TABLESAMPLE BERNOULLI after one entry of FROM.

    SYSTEM would draw whole blocks, and REPEATABLE the same rows again, so neither is used.

    >>> from sqlglot import parse_one
    >>> before = parse_one('SELECT FROM lineitem AS "l" INNER JOIN orders AS "o" ON l.x = o.x', dialect="postgres")
    >>> sample_rows(before, "l", "12.5").sql("postgres")
    'SELECT FROM lineitem AS "l" TABLESAMPLE BERNOULLI (12.5) INNER JOIN orders AS "o" ON l.x = o.x'
    """
    sampled = copied(select)
    table = next(table for table in sampled.find_all(exp.Table) if table.alias == alias)
    table.set("sample", exp.TableSample(method=exp.var("BERNOULLI"), percent=exp.Literal.number(percent)))
    return sampled


def bernoulli_percent(rate: float) -> tuple[str, float]:
    """The percentage for PostgreSQL, and the exact rate that it samples with.

    PostgreSQL reads the percentage as `real`, and keeps a row if 32 hashed bits are below round(2^32 * percentage /
    100). Sums are divided by the exact rate, because the rounded one would bias them.

    >>> bernoulli_percent(0.125)
    ('12.5', 0.125)
    >>> bernoulli_percent(0.01)
    ('1', 0.010000000009313226)
    """
    real = _real(100 * rate)
    shortest = next(text for digits in range(1, 18) if _real(float(text := f"{real:.{digits}g}")) == real)
    plain = f"{float(shortest):.60f}".rstrip("0").rstrip(".") if "e" in shortest else shortest
    return plain, round(_CUTOFFS * real / 100) / _CUTOFFS


def _real(value: float) -> float:
    """The nearest single-precision number."""
    single: float = struct.unpack("f", struct.pack("f", value))[0]
    return single


def count_tuples(
    source: exp.Select, owners: Sequence[exp.Expr], keys: Sequence[exp.Expr], weights: Sequence[exp.Expr]
) -> exp.Select:
    """One row per distinct owners, group keys and weights; its last column counts the tuples.

    Keeping each of n equal tuples with probability q is the same as keeping Binomial(n, q) of them. So the database
    needs no randomness, and its plan stays parallel. COUNT(*) has one weight, so its rows are those of `compact`.
    Counts stop at 2^32, as totals do.

    >>> from sqlglot import parse_one
    >>> count_tuples(parse_one("SELECT FROM t"), [parse_one("o")], [], [parse_one("x")]).sql("postgres")
    'SELECT o AS "o0", x AS "w0", CAST(LEAST(COUNT(*), 4294967296) AS BIGINT) AS "w1" FROM t GROUP BY 1, 2'
    """
    columns = [named_sql(owner, f"o{i}") for i, owner in enumerate(owners)]
    columns += [named_sql(key, f"k{i}") for i, key in enumerate(keys)]
    grouped = list(range(len(columns)))
    for index, weight in enumerate(weights):
        if not is_constant(weight):
            grouped.append(len(columns))
        columns.append(named_sql(weight, f"w{index}"))
    most = exp.Literal.number(SATURATION // UNITS)
    count = exp.Least(this=exp.Count(this=exp.Star(), big_int=True), expressions=[most], ignore_nulls=True)
    columns.append(named_sql(cast_sql(count, "BIGINT"), f"w{len(weights)}"))
    group = exp.Group(expressions=[exp.Literal.number(i + 1) for i in grouped])
    return exp.Select(**{**source.args, "expressions": columns, "group": group})


def is_constant(weight: exp.Expr) -> bool:
    """Whether every tuple has the same weight."""
    return weight.find(exp.Column) is None
