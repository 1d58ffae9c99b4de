"""What an answer takes where the data lies: TPC-H on all engines, the mirror beside PostgreSQL, and where time goes.

Data sets are loaded once. A full run takes half an hour; CASES="DuckDB, scale 1;mirror" runs two parts of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from server.workers.pool import WorkerLimits, WorkerPool
from tests.benchmarks.engines.against_plain import against_plain
from tests.benchmarks.engines.costs import costs
from tests.benchmarks.engines.databases import LONGEST_S, duckdb_file, parquet, postgres
from tests.benchmarks.engines.mirror import kept_contributions, mirror_of_a_graph, mirror_of_tpch
from tests.benchmarks.parts import Measured, Parts
from tests.benchmarks.rows import Row

_ENGINES = {"PostgreSQL": postgres, "DuckDB": duckdb_file, "Parquet": parquet}
_SCALES = {"PostgreSQL": (0.1, 1.0, 4.0), "DuckDB": (0.1, 1.0), "Parquet": (0.1, 1.0)}
"""Beyond scale 1, DuckDB needs more memory to check the constraints of what is loaded than most machines have."""

_QUICK_SCALE, _MIRRORED = 0.01, 1.0


@contextmanager
def _pool() -> Iterator[WorkerPool]:
    pool = WorkerPool(WorkerLimits(workers=1, call_s=2.0 * LONGEST_S), preload="server.pipeline")
    try:
        pool.warm()
        yield pool
    finally:
        pool.close()


def _of_engine(name: str, scale: float, quick: bool) -> Measured:
    used = _QUICK_SCALE if quick else scale
    with _pool() as pool, _ENGINES[name](used) as engine:
        return Measured([*against_plain(engine, pool, used, quick), *costs(engine, used, quick)])


def _of_mirror(rows: Callable[[WorkerPool, float, bool], Iterator[Row]], scale: float, quick: bool) -> Measured:
    with _pool() as pool:
        return Measured(list(rows(pool, _QUICK_SCALE if quick else scale, quick)))


def _of_graph(quick: bool) -> Measured:
    with _pool() as pool:
        return Measured(list(mirror_of_a_graph(pool, quick)))


PARTS: Parts = {
    **{
        f"{name}, scale {scale:g}": partial(_of_engine, name, scale)
        for name, scales in _SCALES.items()
        for scale in scales
    },
    **{
        f"contributions, scale {scale:g}": partial(_of_mirror, kept_contributions, scale)
        for scale in _SCALES["PostgreSQL"]
    },
    "mirror": partial(_of_mirror, mirror_of_tpch, _MIRRORED),
    "graph": _of_graph,
}
