"""End to end beside the plain aggregate on the same database, what leaves it, and what it takes in memory.

Each question is asked through the pipeline, in a worker process, in turn with the plain statement over a connection
of its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median
from typing import Any, cast

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.planning.make_plan import make_plan
from planner.policy.declared import believed_keys, with_declared_keys
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from server.backends.open_custody import open_custody
from server.demo.demonstration import QUERIES, REVENUE
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.policy.verified_keys import verify_keys
from server.query import QueryRequest
from server.workers.pool import WorkerPool
from tests.benchmarks.engines.databases import Engine, schema_of
from tests.benchmarks.rows import Row
from tests.support.asking import ask
from tests.support.memory_ledger import MemoryLedger
from tests.support.peak_memory import forget_peak, peak_bytes
from tests.support.worker_processes import workers_of

_RUNS, _QUICK_RUNS, _LARGE_RUNS = 5, 2, 3
_LARGE = 2.0  # the scale from which on a question is asked less often
_ONE_OWNER, _SEVERAL, _FLOOR = 1.5, 1.3, 1.3
"""The most that a question may take of its plain aggregate: with one owner, with two, and of its floor."""

_MOST_ROWS = 34
_OF_ITS_FLOOR = "orders"
QUESTIONS = {query.name: query.sql for query in QUERIES} | {
    "lines with orders": "SELECT count(*), sum(l_quantity) FROM lineitem JOIN orders ON l_orderkey = o_orderkey",
    "Q5 by nation": (
        "SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue "
        "FROM customer, orders, lineitem, supplier, nation WHERE c_custkey = o_custkey "
        "AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey "
        "AND s_nationkey = n_nationkey GROUP BY n_name"
    ),
}

FLOORS = {
    "orders": "SELECT l, count(*) FROM (SELECT o_custkey, count(*) AS l FROM orders GROUP BY 1) x GROUP BY 1",
    "lines": (
        "SELECT l, count(*) FROM (SELECT o_custkey, count(*) AS l "
        "FROM lineitem JOIN orders ON l_orderkey = o_orderkey GROUP BY 1) x GROUP BY 1"
    ),
    "revenue": (
        f"SELECT count(*), sum(l) FROM (SELECT o_custkey, {REVENUE} AS l "
        "FROM lineitem JOIN orders ON l_orderkey = o_orderkey GROUP BY 1) x"
    ),
    "by nation": (
        f"SELECT n_name, count(*), sum(l) FROM (SELECT o_custkey, {REVENUE} AS l "
        "FROM lineitem JOIN orders ON l_orderkey = o_orderkey GROUP BY 1) x "
        "JOIN customer ON o_custkey = c_custkey JOIN nation ON c_nationkey = n_nationkey GROUP BY 1"
    ),
    "lines with orders": (
        "SELECT count(*), sum(l), sum(q) FROM (SELECT o_custkey, count(*) AS l, sum(l_quantity) AS q "
        "FROM lineitem JOIN orders ON l_orderkey = o_orderkey GROUP BY 1) x"
    ),
}
"""What is added up person by person, which any answer that is truncated must know, and no more than that."""

MEMORY = "memory of the worker at its peak, and what the proxy takes on"
"""The metric of a question with one owner. `make benchmark NAME=scale` shows that it does not grow with the rows."""

_SAMPLED = {"edges", "triangles"}
"""Questions about the graph, which does not grow with the scale: left out here, they are those of NAME=demo."""


def against_plain(engine: Engine, pool: WorkerPool, scale: float, quick: bool) -> Iterator[Row]:
    """Each question in turn with its plain statement."""
    policy = engine.policy
    ledger = MemoryLedger({"ada": 1e6})
    found = engine.backend
    schema = schema_of(found)
    validate(policy, schema)
    schema = with_declared_keys(schema, policy)
    if believed_keys(schema):  # as Parquet has no others
        with open_custody(f"parquet:///{found.path.resolve()}", (), 0) as custody:  # type: ignore[attr-defined]
            assert not verify_keys(custody, schema, cast("Ledger", ledger), Act("benchmark", "declared keys"))
    runs = _QUICK_RUNS if quick else _LARGE_RUNS if scale > _LARGE else _RUNS
    pipeline = Pipeline(policy, schema, found, cast("Ledger", ledger), pool)
    for name, sql in QUESTIONS.items():
        if name in _SAMPLED:
            continue
        case = f"{engine.name}, scale {scale:g}: {name}"
        plain_s, proxy_s, floor_s = _times(engine, pipeline, ledger, name, runs)
        plan = make_plan(bind(parse(sql), schema, policy), schema, policy, epsilon=1.0, delta=0.0, mechanism=None)
        several = len(plan.owners) > 1
        yield Row(case, "plain aggregate, median", median(plain_s), "s")
        yield Row(case, "proxy, median", median(proxy_s), "s")
        ratio = median(proxy_s) / median(plain_s)
        barred = not quick and engine.name == "PostgreSQL"
        bar = _SEVERAL if several else _ONE_OWNER
        # Of orders the plain statement reads an index and meets no person: its bar is that of the floor.
        of_plain = barred and name != _OF_ITS_FLOOR
        yield Row(case, "proxy, of the plain aggregate", ratio, "1", most=bar if of_plain else None)
        if floor_s:
            least = median(floor_s)
            yield Row(case, "sums by customer, of the plain aggregate", least / median(plain_s), "1")
            most = _FLOOR if barred and not of_plain else None
            yield Row(case, "proxy, of sums by customer", median(proxy_s) / least, "1", most=most)
        query = rewrite(plan, dialect=found.dialect, schema=schema)
        if query.contributions is not None:
            groups = max(1, len(found.domain(query)))
            left = _rows_that_leave(engine, query.contributions)
            each = left / groups / query.n_releases
            yield Row(case, MEMORY, _peak_mb(pipeline, ledger, sql), "MB")
            yield Row(case, "rows that leave the database, per group and sum", each, "rows", most=_MOST_ROWS)


def _times(
    engine: Engine, pipeline: Pipeline, ledger: MemoryLedger, name: str, runs: int
) -> tuple[list[float], list[float], list[float]]:
    """The plain statement, the proxy's answer and, with one owner, the floor, in turn; kernels compile before."""
    sql = QUESTIONS[name]
    request = QueryRequest("ada", sql, request_id="benchmark")
    ask(pipeline, request)
    plain_s, proxy_s, floor_s = [], [], []
    for _ in range(runs):
        plain_s.append(timed(lambda: engine.plain(sql)))
        ledger.version += 1
        proxy_s.append(timed(lambda: ask(pipeline, request)))
        if name in FLOORS:
            floor_s.append(timed(lambda: engine.plain(FLOORS[name])))
    return plain_s, proxy_s, floor_s


def _peak_mb(pipeline: Pipeline, ledger: MemoryLedger, sql: str) -> float:
    """What a worker of its own holds at its peak, and by how much this process rises, at the second answer."""
    others = workers_of(os.getpid())
    workers = WorkerPool(pipeline.workers.limits, preload="server.pipeline")
    try:
        workers.warm()
        asked, request = replace(pipeline, workers=workers), QueryRequest("ada", sql, request_id="benchmark")
        ledger.version += 1
        ask(asked, request)  # kernels compile
        (worker,) = workers_of(os.getpid()) - others
        forget_peak("self")
        forget_peak(worker)
        before = peak_bytes("self")
        ledger.version += 1
        ask(asked, request)
        return (peak_bytes(worker) + peak_bytes("self") - before) / (1 << 20)
    finally:
        workers.close()


def _rows_that_leave(engine: Engine, statement: str) -> int:
    ((count,),) = cast("Any", engine.plain(f"SELECT count(*) FROM ({statement}) AS leaving"))
    return int(count)


def timed(work: Callable[[], object]) -> float:
    """The seconds of a piece of work."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
