"""Rule: sample the rows of one relation, or count equal tuples, so that the proxy can draw which of them stay.

Each row is sampled on its own; the join over them shrinks with the rate.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sqlglot import exp

from planner.rewriting.compact_tuples import SATURATION
from planner.rewriting.guard_weight import UNITS
from planner.sql.trees import cast_sql, copied, named_sql

_CUTOFFS = 1 << 32


def sample_rows(select: exp.Select, alias: str, percent: str) -> exp.Select:
    """Write TABLESAMPLE BERNOULLI behind one entry of FROM.

    Never SYSTEM, which draws whole blocks, and never REPEATABLE: each statement draws anew.

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
    """How PostgreSQL is told a rate, and the rate that it then samples with, exactly.

    It reads the percentage as `real` and keeps a row when 32 hashed bits lie below round(2^32 * percentage / 100).
    A sum is divided by the rate, so a rate that is a little off would be a bias that no noise hides.

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
    """One row per distinct owners, group keys and weights; its last column is how many tuples it stands for.

    Tuples of one row are alike, so that keeping each with probability q is the same as keeping a binomial number
    of them. The database needs no randomness, and its plan stays parallel. COUNT(*) has one weight: its rows are
    those of `compact`. Counts stop at 2^32, as many full weights as a total can hold.

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
    """Does every tuple weigh the same?"""
    return weight.find(exp.Column) is None
