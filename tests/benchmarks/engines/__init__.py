"""What an answer takes where the data lies: TPC-H on all engines, the mirror beside PostgreSQL, and where time goes.

CASES="1;4" asks at those scales alone. Data sets are loaded once. The full run takes some half an hour.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from server.workers.pool import WorkerLimits, WorkerPool
from tests.benchmarks.engines.against_plain import MEMORY, against_plain
from tests.benchmarks.engines.costs import costs
from tests.benchmarks.engines.databases import LONGEST_S, duckdb_file, parquet, postgres
from tests.benchmarks.engines.mirror import kept_contributions, mirror_of_a_graph, mirror_of_tpch
from tests.benchmarks.rows import Row

_SCALES, _QUICK_SCALE = "0.1;1;4", 0.01
_MIRRORED = 1.0
_LARGEST_OF_FILES = 2.0
"""Beyond, DuckDB needs more memory to check the constraints of what is loaded than most machines have."""
_MORE_MEMORY = 1.1
"""The most that the memory of the largest scale may be of that of the smallest: runs differ a little."""


def run(quick: bool) -> list[Row]:
    """Every engine at each scale; the mirror at scale 1 and of a graph."""
    scales = [_QUICK_SCALE] if quick else [float(scale) for scale in os.environ.get("CASES", _SCALES).split(";")]
    rows: list[Row] = []
    pool = WorkerPool(WorkerLimits(workers=1, call_s=2.0 * LONGEST_S), preload="server.pipeline")
    try:
        pool.warm()
        for scale in scales:
            for opened in (postgres,) if scale > _LARGEST_OF_FILES else (postgres, duckdb_file, parquet):
                with opened(scale) as engine:
                    rows += against_plain(engine, pool, scale, quick)
                    rows += costs(engine, scale, quick)
            rows += kept_contributions(pool, scale, quick)
            if scale == _MIRRORED or quick:
                rows += mirror_of_tpch(pool, scale, quick)
        rows += mirror_of_a_graph(pool, quick)
    finally:
        pool.close()
    return [*rows, *_growth(rows, scales)]


def _growth(rows: list[Row], scales: list[float]) -> Iterator[Row]:
    """What the largest scale takes in memory of what the smallest does, by question with one owner."""
    if len(scales) < 2:
        return
    first, last = (f", scale {scale:g}: " for scale in (min(scales), max(scales)))
    taken = {row.case: row.value for row in rows if row.metric == MEMORY}
    for case, value in taken.items():
        larger = taken.get(case.replace(first, last))
        if first in case and larger is not None:
            named = case.replace(first, f", scale {max(scales):g} against {min(scales):g}: ")
            bar = _MORE_MEMORY if named.startswith("PostgreSQL") else None
            yield Row(named, MEMORY, larger / value, "1", most=bar)
