"""Rule: sample the rows of one relation, each on its own; the join over them shrinks with the rate."""

from __future__ import annotations

import struct

from sqlglot import exp

from planner.sql.trees import copied

_CUTOFFS = 1 << 32


def sample_rows(select: exp.Select, alias: str, percent: str) -> exp.Select:
    """Write TABLESAMPLE BERNOULLI behind one entry of FROM.

    Never SYSTEM, which draws whole blocks, and never REPEATABLE: each statement draws anew.

    >>> from sqlglot import parse_one
    >>> before = parse_one('SELECT FROM lineitem AS "l" INNER JOIN orders AS "o" ON l.x = o.x', dialect="postgres")
    >>> print(sample_rows(before, "l", "12.5").sql("postgres", pretty=True))
    SELECT
    FROM lineitem AS "l" TABLESAMPLE BERNOULLI (12.5)
    INNER JOIN orders AS "o"
      ON l.x = o.x
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
