"""TPC-H at scales 1, 4 and 10 as Parquet, read by DuckDB and by Spark within 8 GB, beside the plain aggregate.

DuckDB runs inside the worker, so that the worker's peak has DuckDB's buffers in it, whose own peak is another figure.
Spark (`make spark`) is a process of its own. CASES names parts, as in "Parquet, scale 10". Data sets take 6 GB,
and are written once.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from statistics import median
from typing import cast

import duckdb
from pyarrow.parquet import ParquetFile

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.plan import BackendQuery
from planner.planning.make_plan import make_plan
from planner.policy.declared import believed_keys, with_declared_keys
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from server.errors import ServerError
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.workers.pool import WorkerLimits, WorkerPool
from tests.benchmarks.engines.against_plain import QUESTIONS, timed
from tests.benchmarks.engines.databases import Engine
from tests.benchmarks.engines.large import MEMORY_MB, by_duckdb, by_spark, folder_of, schema_of_files
from tests.benchmarks.parts import Measured, Parts
from tests.benchmarks.rows import Row
from tests.support.asking import ask
from tests.support.memory_ledger import MemoryLedger
from tests.support.peak_memory import forget_peak, peak_bytes
from tests.support.spark import why_no_spark
from tests.support.worker_processes import workers_of

SCALES = (1, 4, 10)
ENGINES: dict[str, Callable[[float], AbstractContextManager[Engine]]] = {"Parquet": by_duckdb, "Spark": by_spark}
ASKED = ("orders by customer", "revenue", "by nation", "Q5 join")
_LONG = ("revenue", "Q5 join")
"""What is asked where a question takes minutes: of Spark, and at the largest scale."""

ROWS, PLAIN, PROXY, RATIO = "rows of lineitem", "plain aggregate", "proxy", "proxy, of the plain aggregate"
PROCESSOR = "proxy, of the plain aggregate, in processor time"
"""Metrics; seconds are medians, and so are the processor's, which other processes on the machine slow down less."""

WORKER, MAIN, TAKEN = "worker at its peak", "proxy's main process takes on", "engine's buffers in the worker"
"""Metrics of memory, in MB."""

_RUNS = 3
_MOST = 1.3
_MOST_MB = 8_192
_QUICK = 0.05
_SQL = QUESTIONS | {
    "orders by customer": "SELECT sum(o_totalprice) FROM orders JOIN customer ON o_custkey = c_custkey"
}


def _part(engine: str, scale: float, quick: bool) -> Measured:
    missing = why_no_spark() if engine == "Spark" else None
    if missing is not None:
        print(f"not measured: {missing}")
        return Measured([])
    used = _QUICK if quick else scale
    with ENGINES[engine](used) as opened:
        return Measured(list(_measured(opened, used, quick)))


PARTS: Parts = {f"{engine}, scale {scale}": partial(_part, engine, scale) for engine in ENGINES for scale in SCALES}


def _measured(engine: Engine, scale: float, quick: bool) -> Iterator[Row]:
    policy, schema = engine.policy, schema_of_files(engine)
    validate(policy, schema)
    schema = with_declared_keys(schema, policy)
    ledger = MemoryLedger({"ada": 1e6})
    # The generator's keys hold; to count them is the work of a start, and not of a question.
    ledger.note_checked(1, schema.fingerprint, believed_keys(schema), Act("benchmark", "declared keys"))
    pool = WorkerPool(WorkerLimits(workers=1, call_s=7_200.0, memory_bytes=32 << 30), preload="server.pipeline")
    try:
        pool.warm()
        (worker,) = workers_of(os.getpid())
        pipeline = Pipeline(policy, schema, engine.backend, cast("Ledger", ledger), pool)
        lines = _lines(folder_of(scale))
        for name in _LONG if engine.name == "Spark" or scale >= max(SCALES) else ASKED:
            plan = make_plan(
                bind(parse(_SQL[name]), schema, policy), schema, policy, epsilon=1.0, delta=0.0, mechanism=None
            )
            query = rewrite(plan, dialect=engine.backend.dialect, schema=schema)
            case = f"{engine.name}, scale {scale:g}: {name}"
            barred = not quick and scale == max(SCALES)
            yield Row(case, ROWS, lines, "rows")
            asked = _question(engine, pipeline, ledger, worker, case, _SQL[name], query, quick=quick, barred=barred)
            try:
                yield from list(asked)
            except (duckdb.OutOfMemoryException, ServerError) as error:
                print(f"{case}: not answered within {MEMORY_MB} MB ({type(error).__name__})", flush=True)
        if engine.name == "Spark":
            yield Row(
                f"{engine.name}, scale {scale:g}",
                "Java at its peak",
                peak_bytes(_java()[0]) / (1 << 20),
                "MB",
                most=_MOST_MB,
            )
    finally:
        pool.close()


def _question(
    engine: Engine,
    pipeline: Pipeline,
    ledger: MemoryLedger,
    worker: int,
    case: str,
    sql: str,
    query: BackendQuery,
    *,
    quick: bool,
    barred: bool,
) -> Iterator[Row]:
    """Both in turn; the first of each warms up."""
    runs = 1 if quick else int(os.environ.get("RUNS", _RUNS))
    request = QueryRequest("ada", sql, request_id="benchmark")
    processes = [os.getpid(), worker, *_java()]
    plain_s, proxy_s, main_mb, worker_mb, busy = [], [], [], [], []
    for run in range(runs + 1):
        began = _processor_s(processes)
        plain = timed(lambda: engine.plain(sql))
        plain_processor = _processor_s(processes) - began
        ledger.version += 1
        forget_peak("self")
        forget_peak(worker)
        before, began = peak_bytes("self"), _processor_s(processes)
        taken = timed(lambda: ask(pipeline, request))
        if run:
            plain_s.append(plain)
            proxy_s.append(taken)
            busy.append((_processor_s(processes) - began) / plain_processor)
            main_mb.append((peak_bytes("self") - before) / (1 << 20))
            worker_mb.append(peak_bytes(worker) / (1 << 20))
        print(f"{case}: plain {plain:.2f} s, proxy {taken:.2f} s", flush=True)
    yield Row(case, PLAIN, median(plain_s), "s")
    yield Row(case, PROXY, median(proxy_s), "s")
    yield Row(case, RATIO, median(proxy_s) / median(plain_s), "1", most=_MOST if barred else None)
    yield Row(case, PROCESSOR, median(busy), "1")
    yield Row(case, WORKER, max(worker_mb), "MB", most=_MOST_MB)
    yield Row(case, MAIN, max(main_mb), "MB")
    if engine.name != "Spark":
        yield Row(case, TAKEN, _buffers_mb(engine, query), "MB")


def _buffers_mb(engine: Engine, query: BackendQuery) -> float:
    """The most that DuckDB's buffers hold at once for a question's largest statement."""
    statements = [text for text in (query.contributions, query.join) if text is not None][:1]
    peaks = []
    for statement in statements:
        ((_, plan),) = cast("Sequence[tuple[str, str]]", engine.plain(f"EXPLAIN (ANALYZE, FORMAT json) {statement}"))
        peaks.append(float(json.loads(plan)["system"]["peak_buffer_memory"]))
    return max(peaks, default=0.0) / (1 << 20)


def _lines(folder: Path) -> int:
    return sum(int(ParquetFile(file).metadata.num_rows) for file in (folder / "lineitem").glob("*.parquet"))


def _processor_s(processes: Sequence[int]) -> float:
    """The processor's seconds that these processes have had. Linux only."""
    stats = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in processes]
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")


def _java() -> list[int]:
    """The Java process under this one, if there is one."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,comm"], capture_output=True, text=True, check=True).stdout
    processes = [line.split(None, 2) for line in listed.splitlines()[1:]]
    mine = {str(os.getpid())}
    for _ in processes:
        mine |= {pid for pid, parent, _ in processes if parent in mine}
    return [int(pid) for pid, _, name in processes if pid in mine and name == "java"]
