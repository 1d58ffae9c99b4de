"""What a small question takes: over HTTP and psql of a real proxy, and by stage in one process.

The questions are fresh: each has a constant of its own. The data is TPC-H at scale 0.01, so the fixed cost is nearly
all there is. A stage's time does not count the stages inside it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from statistics import median, quantiles
from typing import Any, cast
from unittest.mock import patch

import httpx
import psycopg

import server.answers.run
import server.backends.postgres
from server.backends.postgres import PostgresBackend
from server.pipeline import Pipeline
from server.planning import Planning
from server.query import QueryRequest
from server.workers.pool import WorkerPool
from tests.benchmarks.engines.databases import schema_of
from tests.benchmarks.pgwire import proxy_at_small_scale
from tests.benchmarks.rows import Row
from tests.support.asking import ask
from tests.support.memory_ledger import MemoryLedger
from tests.support.planning import demo_policy
from tests.support.wire_proxy import WireProxy

_FRESH_MS, _EXPLAINED_MS, _KEPT_MS = 40.0, 3.0, 0.3
_WARM_UP = 10
_NUMBERS = count(1000)
_FREE = "SELECT count(*) FROM nation"


def _fresh() -> str:
    """A question that nobody has asked."""
    return f"SELECT count(*) FROM orders WHERE o_totalprice > {next(_NUMBERS)}"


def run(quick: bool) -> list[Row]:
    """The times of clients, and of the stages."""
    times = 20 if quick else 200
    with proxy_at_small_scale() as proxy:
        return [*_over_http(proxy, times), *_by_psql(proxy, times), *_stages(proxy, times)]


def _over_http(proxy: WireProxy, times: int) -> Iterator[Row]:
    with proxy.client(1e6) as http:
        seen = _fresh()
        yield from _timed("HTTP: fresh", lambda: _posted(http, "query", _fresh()), times, _FRESH_MS)
        yield from _timed("HTTP: public tables alone", lambda: _posted(http, "query", _FREE), times)
        yield from _timed(
            "HTTP: EXPLAIN of a question seen before", lambda: _posted(http, "explain", seen), times, _EXPLAINED_MS
        )
        yield from _timed("HTTP: EXPLAIN of a new question", lambda: _posted(http, "explain", _fresh()), times)
        yield from _timed("HTTP: kept", lambda: _posted(http, "query", seen), times)


def _posted(http: httpx.Client, route: str, sql: str) -> None:
    http.post(f"/v1/{route}", json={"sql": sql}).raise_for_status()


def _by_psql(proxy: WireProxy, times: int) -> Iterator[Row]:
    """As psql asks: the simple protocol, over TLS."""
    conninfo = proxy.conninfo(*proxy.analyst(1e6))
    with psycopg.connect(conninfo, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        seen = _fresh()

        def asked(sql: str) -> None:
            connection.execute(sql.encode()).fetchall()

        yield from _timed("psql: fresh", lambda: asked(_fresh()), times, _FRESH_MS)
        yield from _timed("psql: public tables alone", lambda: asked(_FREE), times)
        yield from _timed("psql: EXPLAIN of a question seen before", lambda: asked(f"EXPLAIN {seen}"), times)
        yield from _timed("psql: kept", lambda: asked(seen), times, _KEPT_MS)


def _timed(case: str, work: Callable[[], None], times: int, most_ms: float | None = None) -> Iterator[Row]:
    """The median, with its bar, and the 99th percentile."""
    taken = []
    for turn in range(_WARM_UP + times):
        start = time.perf_counter()
        work()
        if turn >= _WARM_UP:
            taken.append((time.perf_counter() - start) * 1e3)
    yield Row(case, "median", median(taken), "ms", most=most_ms)
    yield Row(case, "99%", quantiles(taken, n=100)[98], "ms")


class _Inline:
    """Workers that run a call in this process, where it can be timed."""

    def call(self, function: Callable[..., Any], *arguments: Any, begin: Callable[[], None], **_: object) -> Any:
        """Run it."""
        begin()
        return function(*arguments)


def _stages(proxy: WireProxy, times: int) -> Iterator[Row]:
    """The stages of a fresh question, without the transport to clients and workers."""
    ledger = MemoryLedger({"ada": 1e9})
    backend = PostgresBackend(proxy.demonstration.proxy_url)
    pool = cast("WorkerPool", _Inline())
    pipeline = Pipeline(demo_policy(), schema_of(backend), backend, ledger, pool)  # type: ignore[arg-type]
    stages = _Stages()
    with stages.watching():
        for turn in range(_WARM_UP + times):
            if turn == _WARM_UP:
                stages.taken.clear()
            with stages.stage("the rest: decide, hold, log"):
                ask(pipeline, QueryRequest("ada", _fresh(), request_id="benchmark"))
    for name, taken in stages.taken.items():
        yield Row("a fresh question by stage", name, median(taken) * 1e3, "ms")


class _Stages:
    """Seconds by stage, without the stages inside."""

    def __init__(self) -> None:
        self.taken: defaultdict[str, list[float]] = defaultdict(list)
        self._inner = [0.0]

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what is inside to a stage."""
        start = time.perf_counter()
        self._inner.append(0.0)
        try:
            yield
        finally:
            took = time.perf_counter() - start
            self.taken[name].append(took - self._inner.pop())
            self._inner[-1] += took

    def _within(self, name: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        with self.stage(name):
            return function(*args, **options)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Time the functions that stand for stages."""
        postgres = server.backends.postgres
        with (
            self._watched(Planning, "planned", "parse, bind, plan, rewrite"),
            self._watched(server.answers.run, "measure", "choose thresholds, draw noise"),
            self._watched(postgres, "read_schema", "read the catalog, compare it with the plan's"),
            self._watched(PostgresBackend, "_columns", "the statement: describe, run, fetch"),
            self._watched(server.answers.run, "response", "shape the answer"),
        ):
            yield

    @contextmanager
    def _watched(self, owner: object, name: str, stage: str) -> Iterator[None]:
        function = getattr(owner, name)
        if isinstance(owner, type):

            def method(one: object, *args: Any, **options: Any) -> Any:
                return self._within(stage, partial(function, one), *args, **options)

            replaced: Any = method
        else:
            replaced = partial(self._within, stage, function)
        with patch.object(owner, name, replaced):
            yield
