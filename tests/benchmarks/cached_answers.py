"""How fast a kept answer is served: at the server alone, one dashboard at a time, and many at once, over real HTTP.

The server is one process over a real SQLite ledger; it has no worker, so whatever it answers was kept. The clients
are another process, with as little work of their own as HTTP allows. Both share the machine. How many answers a
second the same HTTP server sends for an application that does nothing is measured in turn.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import multiprocessing.connection
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any, cast

from starlette.types import Receive, Scope, Send

from server.http.app import create_app
from server.http.services import Rate
from server.ledger.analyst import Act, key_hash, new_key
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger, open_ledger
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.reloadable_pipeline import ReloadablePipeline
from server.startup.open_services import Services
from server.startup.serve import event_loop, http_server, serve_both, short_pauses
from server.workers.pool import WorkerLimits, WorkerPool
from tests.benchmarks.rows import Row
from tests.support.asking import ask
from tests.support.backends import FailingBackend
from tests.support.planning import demo_policy
from tests.support.tpch_schema import tpch_schema

_QUESTIONS = {
    "one number": "SELECT count(*) FROM orders WHERE o_totalprice > 1000",
    "TPC-H Q6, one sum": "SELECT sum(l_extendedprice * l_discount) FROM lineitem "
    "WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' "
    "AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
}
_BAR_MS = 3.0
_BAR_PER_SECOND = 5000.0
_DASHBOARDS = 16
_WARM_UP = 20
_UNLIMITED = Rate(per_second=1e9, burst=1e9)


def run(quick: bool) -> list[Row]:
    """Latency and throughput per question."""
    requests = 300 if quick else 5000
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        key = _answer_once(Path(folder))
        rows += _at_the_pipeline(Path(folder), requests)
        with _server(Path(folder)) as (port, server), _server(Path(folder), bare=True) as (bare, _):
            for name, sql in _QUESTIONS.items():
                one = _loaded(port, key, sql, dashboards=1, requests=requests // 5)
                before = _cpu_s(server)
                many = _loaded(port, key, sql, dashboards=_DASHBOARDS, requests=requests)
                per_second = len(many.latencies) / many.seconds
                cpu_s = (_cpu_s(server) - before) / (len(many.latencies) + _WARM_UP)
                rows += [
                    Row(name, "one dashboard, median", median(one.latencies) * 1e3, "ms", most=_BAR_MS),
                    Row(name, "one dashboard, 99%", quantiles(one.latencies, n=100)[98] * 1e3, "ms"),
                    Row(name, f"{_DASHBOARDS} dashboards", per_second, "answers/s", least=_BAR_PER_SECOND),
                    Row(name, "processor time of the server per answer", cpu_s * 1e3, "ms"),
                ]
                nothing = _loaded(bare, key, sql, dashboards=_DASHBOARDS, requests=requests)
                per_second = len(nothing.latencies) / nothing.seconds
                rows.append(
                    Row(name, f"{_DASHBOARDS} dashboards, an application that does nothing", per_second, "answers/s")
                )
    return rows


def _cpu_s(pid: int) -> float:
    """The processor time that a process has used: unlike the clock, it does not count what others do meanwhile."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Load:
    """What clients saw: seconds per answer, and seconds in all."""

    def __init__(self) -> None:
        self.latencies: list[float] = []
        self.seconds = 0.0


def _answer_once(folder: Path) -> str:
    """Have every question measured and kept; returns the analyst's key."""
    key = new_key()
    with closing(create_ledger(*_paths(folder))) as ledger:
        ledger.add_analyst("ada", key_hash(key), 100.0, 0.0, act=Act("benchmark"))
        workers = WorkerPool(WorkerLimits(workers=1, call_s=300.0), preload="server.pipeline")
        try:
            for sql in _QUESTIONS.values():
                ask(_pipeline(folder, ledger, workers), _request(sql))
        finally:
            workers.close()
    return key


def _at_the_pipeline(folder: Path, requests: int) -> Iterator[Row]:
    """From the question's text to the answer's fields, without HTTP."""
    with closing(open_ledger(*_paths(folder))) as ledger:
        pipeline = _pipeline(folder, ledger, None)
        for name, sql in _QUESTIONS.items():
            seconds = []
            for _ in range(requests):
                start = time.perf_counter()
                assert ask(pipeline, _request(sql)).cached
                seconds.append(time.perf_counter() - start)
            yield Row(name, "pipeline alone, median", median(seconds) * 1e3, "ms")


def _paths(folder: Path) -> tuple[Path, Path]:
    return folder / "ledger.sqlite", folder / "policy.ledger.json"


def _request(sql: str) -> QueryRequest:
    return QueryRequest("ada", sql, request_id="benchmark")


def _pipeline(folder: Path, ledger: Ledger, workers: WorkerPool | None) -> Pipeline:
    backend = FailingBackend(folder / "reads", ())
    return Pipeline(demo_policy(), tpch_schema(), backend, ledger, cast("WorkerPool", workers))


@contextmanager
def _server(folder: Path, *, bare: bool = False) -> Iterator[tuple[int, int]]:
    """A process that serves what is kept, or `bare` the same bytes to everybody; yields its port and its number."""
    spawning = multiprocessing.get_context("spawn")
    here, there = spawning.Pipe()
    process = spawning.Process(target=_serve, args=(folder, there, bare))
    process.start()
    try:
        port = here.recv()
        assert process.pid is not None, "it has started"
        yield port, process.pid
    finally:
        process.terminate()
        process.join()


_SAID = b'{"cached":true}'.ljust(1000)


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that does nothing."""
    while (await receive())["type"] == "lifespan.startup":
        await send({"type": "lifespan.startup.complete"})
    if scope["type"] == "lifespan":
        await send({"type": "lifespan.shutdown.complete"})
        return
    headers = [(b"content-length", b"%d" % len(_SAID)), (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": _SAID})


def _serve(folder: Path, parent: multiprocessing.connection.Connection, bare: bool) -> None:
    from server.cli.commands.serve import log_to

    with closing(open_ledger(*_paths(folder))) as ledger, (folder / "log").open("w") as log:
        log_to(log)
        pipeline = ReloadablePipeline(_pipeline(folder, ledger, None), lambda *_: _no_reload())
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # as `noisegate serve` does
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        parent.send(listener.getsockname()[1])
        app: Any = _nothing if bare else create_app(pipeline, ledger, rate=_UNLIMITED)
        services = Services(ledger, pipeline, app, ())
        with short_pauses(), asyncio.Runner(loop_factory=event_loop) as runner:
            runner.run(serve_both(http_server(services, None), listener, None, None))


def _no_reload() -> tuple[Pipeline, tuple[str, ...]]:
    raise AssertionError("nothing is reloaded here")


def _loaded(port: int, key: str, sql: str, *, dashboards: int, requests: int) -> Load:
    """On the fastest event loop: the clients must not be what is measured."""
    with asyncio.Runner(loop_factory=event_loop) as runner:
        return runner.run(_load(port, key, sql, dashboards=dashboards, requests=requests))


async def _load(port: int, key: str, sql: str, *, dashboards: int, requests: int) -> Load:
    """Ask over `dashboards` connections at once, each waiting for its answer before it asks again."""
    body = json.dumps({"sql": sql}).encode()
    head = f"POST /v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    sent = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    load = Load()
    await _panel(port, sent, _WARM_UP, [])
    start = time.perf_counter()
    await asyncio.gather(*(_panel(port, sent, requests // dashboards, load.latencies) for _ in range(dashboards)))
    load.seconds = time.perf_counter() - start
    return load


async def _panel(port: int, sent: bytes, times: int, latencies: list[float]) -> None:
    """One connection that is kept open."""
    loop = asyncio.get_running_loop()
    transport, panel = await loop.create_connection(lambda: _Panel(sent, times, latencies), "127.0.0.1", port)
    await panel.done
    transport.close()


class _Panel(asyncio.Protocol):
    """Asks again as soon as it is answered, without a task: the clients share the machine with the server."""

    def __init__(self, sent: bytes, times: int, latencies: list[float]) -> None:
        self._sent, self._times, self._latencies = sent, times, latencies
        self._arrived, self._start = b"", 0.0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the first time."""
        self._transport = cast("asyncio.Transport", transport)
        self._ask()

    def data_received(self, data: bytes) -> None:
        """Look whether the answer is complete."""
        self._arrived += data
        head, end, body = self._arrived.partition(b"\r\n\r\n")
        if not end or len(body) < int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            return
        self._latencies.append(time.perf_counter() - self._start)
        self._arrived, self._times = b"", self._times - 1
        if not (head.startswith(b"HTTP/1.1 200") and b'"cached":true' in body):
            self.done.set_exception(AssertionError(head + body))
        elif self._times:
            self._ask()
        else:
            self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Too early, if it was not done."""
        if not self.done.done():
            self.done.set_exception(exc or AssertionError("the server closed the connection"))

    def _ask(self) -> None:
        self._start = time.perf_counter()
        self._transport.write(self._sent)
