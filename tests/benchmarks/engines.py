"""End to end beside the plain aggregate on the same database, and what leaves it: TPC-H on all engines.

Each question is asked through the pipeline, in a worker process, in turn with the plain statement over a connection
of its own. Data sets are loaded once: scale 1 takes two minutes. CASES="1;4" asks at other scales than 1.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, cast

import duckdb
import psycopg
from rich.progress import Progress

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.planning.make_plan import make_plan
from planner.policy.declared_keys import with_declared_keys
from planner.policy.policy import DeclaredForeignKey, Policy
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from server.backends import embedded
from server.backends.backend import Backend
from server.backends.catalog import read_schema
from server.backends.custody.open_custody import open_custody
from server.backends.duckdb import DuckdbBackend
from server.backends.postgres import PostgresBackend
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.policy.verified_keys import verify_keys
from server.query import QueryRequest
from server.workers.pool import WorkerLimits, WorkerPool
from tests.benchmarks.rows import Row
from tests.demo.database import load_once
from tests.demo.queries import QUERIES
from tests.support.asking import ask
from tests.support.memory_ledger import MemoryLedger
from tests.support.planning import demo_policy
from tests.support.tpch_duckdb import NAMESPACE, load_tpch

_RUNS, _QUICK_RUNS = 5, 2
_FOLDER = Path(".noisegate") / "benchmarks"
_QUICK_SCALE = 0.01
_ONE_OWNER, _SEVERAL, _FLOOR = 1.5, 1.3, 1.3
"""The most that a question may take of its plain aggregate: with one owner, with two, and of its floor."""

_MOST_ROWS = 34
_ORDERS_FLOOR = "SELECT l, count(*) FROM (SELECT o_custkey, count(*) AS l FROM orders GROUP BY 1) x GROUP BY 1"
_QUESTIONS = {query.name: query.sql for query in QUERIES} | {
    "lines with orders": "SELECT count(*), sum(l_quantity) FROM lineitem JOIN orders ON l_orderkey = o_orderkey",
    "Q5 by nation": (
        "SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue "
        "FROM customer, orders, lineitem, supplier, nation WHERE c_custkey = o_custkey "
        "AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey "
        "AND s_nationkey = n_nationkey GROUP BY n_name"
    ),
}
_SAMPLED = {"edges", "triangles"}
"""Questions about the graph, which does not grow with the scale: left out here, they are those of NAME=demo."""

Plain = Callable[[str], object]


@dataclass(frozen=True)
class _Engine:
    """A database with the rows, a way past the proxy, the proxy's, and its contract."""

    name: str
    backend: Backend
    plain: Plain
    policy: Policy = field(default_factory=demo_policy)


def run(quick: bool) -> list[Row]:
    """Every engine at each scale."""
    scales = [_QUICK_SCALE] if quick else [float(scale) for scale in os.environ.get("CASES", "1").split(";")]
    rows: list[Row] = []
    pool = WorkerPool(WorkerLimits(workers=1, call_s=300.0), preload="server.pipeline")
    try:
        pool.warm()
        for scale in scales:
            with _postgres(scale) as engine:
                rows += _measured(engine, pool, scale, quick)
            with _duckdb(scale) as engine:
                rows += _measured(engine, pool, scale, quick)
            with _parquet(scale) as engine:
                rows += _measured(engine, pool, scale, quick)
    finally:
        pool.close()
    return rows


@contextmanager
def _postgres(scale: float) -> Iterator[_Engine]:
    server = embedded.start(_FOLDER / "postgres")
    try:
        with Progress(disable=bool(os.environ.get("CI"))) as progress:
            name = f"tpch_{scale:g}".replace(".", "_")
            url = load_once(server, name, scale, progress)
        with psycopg.connect(server.url(database=name), autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
            connection.execute("SET jit = off")
            yield _Engine("PostgreSQL", PostgresBackend(url), lambda sql: connection.execute(sql.encode()).fetchall())
    finally:
        server.stop()


@contextmanager
def _duckdb(scale: float) -> Iterator[_Engine]:
    file = _FOLDER / f"tpch-{scale:g}.duckdb"
    if not file.exists():
        load_tpch(file, scale)
    with duckdb.connect(file, read_only=True, config={"threads": 2}) as connection:
        connection.execute(f"USE {NAMESPACE}")
        yield _Engine("DuckDB", DuckdbBackend(file, NAMESPACE), lambda sql: connection.execute(sql).fetchall())


@contextmanager
def _parquet(scale: float) -> Iterator[_Engine]:
    """The DuckDB file's tables, one Parquet file each, whose keys are declared as that file has them."""
    file, folder = _FOLDER / f"tpch-{scale:g}.duckdb", _FOLDER / f"tpch-{scale:g}-parquet"
    known = DuckdbBackend(file, NAMESPACE).schema()
    if not folder.exists():
        folder.mkdir(parents=True)
        with duckdb.connect(file, read_only=True) as connection:
            for name in known.tables:
                connection.execute(f'COPY "{NAMESPACE}"."{name}" TO \'{folder / name}.parquet\'')
    policy = demo_policy()
    settled = {(key.table, key.columns) for key in policy.foreign_keys}
    references = [
        DeclaredForeignKey(name, key.columns, key.references, key.key)
        for name, table in known.tables.items()
        for key in table.foreign_keys
        if name in policy.tables and key.references in policy.tables and (name, key.columns) not in settled
    ]
    tables = {name: replace(table, keys=known.tables[name].unique_keys) for name, table in policy.tables.items()}
    policy = replace(policy, foreign_keys=(*policy.foreign_keys, *references), tables=tables)
    with duckdb.connect(config={"threads": 2}) as connection:
        for name in known.tables:
            connection.execute(f"CREATE VIEW \"{name}\" AS SELECT * FROM read_parquet('{folder / name}.parquet')")
        backend = DuckdbBackend(folder).at_this_version()
        yield _Engine("Parquet", backend, lambda sql: connection.execute(sql).fetchall(), policy)


def _measured(engine: _Engine, pool: WorkerPool, scale: float, quick: bool) -> Iterator[Row]:
    policy = engine.policy
    ledger = MemoryLedger({"ada": 1e6})
    found = engine.backend
    schema = _schema_of(found)
    validate(policy, schema)
    schema = with_declared_keys(schema, policy)
    if schema.version:
        with open_custody(f"parquet:///{found.path.resolve()}", (), 0) as custody:  # type: ignore[attr-defined]
            assert not verify_keys(custody, schema, ledger, Act("benchmark", "declared keys"))
    pipeline = Pipeline(policy, schema, found, cast("Ledger", ledger), pool)
    for name, sql in _QUESTIONS.items():
        if name in _SAMPLED:
            continue
        case = f"{engine.name}, scale {scale:g}: {name}"
        plain_s, proxy_s, floor_s = _times(engine, pipeline, ledger, sql, _QUICK_RUNS if quick else _RUNS)
        plan = make_plan(bind(parse(sql), schema, policy), schema, policy, epsilon=1.0, delta=0.0, mechanism=None)
        several = len(plan.owners) > 1
        yield Row(case, "plain aggregate, median", median(plain_s), "s")
        yield Row(case, "proxy, median", median(proxy_s), "s")
        ratio = median(proxy_s) / median(plain_s)
        bar = None if quick or engine.name != "PostgreSQL" or floor_s else (_SEVERAL if several else _ONE_OWNER)
        yield Row(case, "proxy, of the plain aggregate", ratio, "1", most=bar)
        if floor_s:
            most = None if quick or engine.name != "PostgreSQL" else _FLOOR
            yield Row(case, "proxy, of loads by customer", median(proxy_s) / median(floor_s), "1", most=most)
        query = rewrite(plan, dialect=found.dialect, schema=schema)
        if query.loads is not None:
            groups = max(1, len(found.domain(query)))
            left = _rows_that_leave(engine, query.loads)
            each = left / groups / query.n_releases
            yield Row(case, "rows that leave the database, per group and sum", each, "rows", most=_MOST_ROWS)


def _times(
    engine: _Engine, pipeline: Pipeline, ledger: MemoryLedger, sql: str, runs: int
) -> tuple[list[float], list[float], list[float]]:
    """The plain statement, the proxy's answer and, of orders, the floor, in turn; kernels compile before."""
    request = QueryRequest("ada", sql, request_id="benchmark")
    ask(pipeline, request)
    plain_s, proxy_s, floor_s = [], [], []
    for _ in range(runs):
        plain_s.append(_timed(lambda: engine.plain(sql)))
        ledger.version += 1
        proxy_s.append(_timed(lambda: ask(pipeline, request)))
        if sql == _QUESTIONS["orders"]:
            floor_s.append(_timed(lambda: engine.plain(_ORDERS_FLOOR)))
    return plain_s, proxy_s, floor_s


def _rows_that_leave(engine: _Engine, statement: str) -> int:
    ((count,),) = cast("Any", engine.plain(f"SELECT count(*) FROM ({statement}) AS leaving"))
    return int(count)


def _schema_of(backend: Backend) -> Schema:
    """The catalog of either engine."""
    if isinstance(backend, PostgresBackend):
        with psycopg.connect(backend.url) as connection:
            return read_schema(connection)
    assert isinstance(backend, DuckdbBackend)
    return backend.schema()


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
