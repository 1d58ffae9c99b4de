"""The wire protocol of a real proxy: what idle connections cost, how long connecting and kept answers take, a fuzzer.

Clients are psycopg's, with TLS, verified, and SCRAM with channel binding. They share the machine with the proxy.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
from rich.progress import Progress

from server.backends import embedded
from server.cli.commands.serve import log_to
from server.demo.database import load_once
from server.demo.workplace import add_analyst
from server.pgwire.connection import Connection as Unopened
from tests.benchmarks.rows import Row
from tests.property.test_wire_fuzz import Opened, conversation, mutated, sensible, startup
from tests.support.proxies import tpch_demonstration
from tests.support.scripted_gateway import ScriptedGateway
from tests.support.wire_proxy import WireProxy, wire_proxy

_SCALE = 0.01
_CONNECTIONS = 500
_ANALYSTS = 10  # who may have a hundred sessions each
_BAR_MB = 200.0
_MESSAGES = 50
_QUESTION = b"SELECT count(*) FROM orders"
_FOLDER = (Path(".noisegate") / "benchmarks" / "pgwire").resolve()


def run(quick: bool) -> list[Row]:
    """Memory, latencies, and what the fuzzer found."""
    times = 50 if quick else 500
    with proxy_at_small_scale() as proxy:
        name, key = proxy.analyst(100.0)
        conninfo = proxy.conninfo(name, key)
        rows = [*_latencies(conninfo, times), *_memory(proxy, conninfo)]
    return rows + _fuzzed(100 if quick else 2_000)


@contextmanager
def proxy_at_small_scale() -> Iterator[WireProxy]:
    """A proxy with TLS before TPC-H at scale 0.01."""
    server = embedded.start(_FOLDER / "postgres")
    try:
        with Progress(disable=True) as progress:
            url = load_once(server, "tpch", _SCALE, progress)
        folder = _FOLDER / f"proxy-{time.time_ns()}"
        folder.mkdir(parents=True)
        made = tpch_demonstration(folder, server, url)
        add_analyst(made, epsilon=1.0)
        with wire_proxy(made, server) as proxy:
            yield proxy
    finally:
        server.stop()


def _latencies(conninfo: str, times: int) -> Iterator[Row]:
    """Of connecting, and of a kept answer by either half of the protocol."""
    connecting = [_seconds_to_connect(conninfo) for _ in range(max(20, times // 5))]
    yield Row("connect, TLS and SCRAM", "median", statistics.median(connecting) * 1e3, "ms")
    with psycopg.connect(conninfo, autocommit=True) as connection:
        for case, cursor, prepare in (
            ("kept answer, simple query (psql)", psycopg.ClientCursor(connection), None),
            ("kept answer, extended query", connection.cursor(), False),
            ("kept answer, prepared", connection.cursor(), True),
        ):
            taken = [_seconds_to_answer(cursor, prepare) for _ in range(times + 10)][10:]
            yield Row(case, "median", statistics.median(taken) * 1e3, "ms")
            yield Row(case, "99%", statistics.quantiles(taken, n=100)[98] * 1e3, "ms")


def _seconds_to_connect(conninfo: str) -> float:
    start = time.perf_counter()
    connection = psycopg.connect(conninfo)
    taken = time.perf_counter() - start
    connection.close()
    return taken


def _seconds_to_answer(cursor: psycopg.Cursor, prepare: bool | None) -> float:
    start = time.perf_counter()
    assert len(cursor.execute(_QUESTION, prepare=prepare).fetchall()) == 1
    return time.perf_counter() - start


def _memory(proxy: WireProxy, conninfo: str) -> Iterator[Row]:
    """What `_CONNECTIONS` that are open and idle add to the proxy's memory."""
    others = [proxy.conninfo(*proxy.analyst(1.0)) for _ in range(_ANALYSTS)]
    before = _resident_mb(proxy.process)
    with ExitStack() as opened:
        idle = [
            opened.enter_context(psycopg.connect(others[number % _ANALYSTS], autocommit=True))
            for number in range(_CONNECTIONS)
        ]
        time.sleep(1.0)
        cost = _resident_mb(proxy.process) - before
        alive = sum(one.execute("SHOW server_version").fetchone() is not None for one in idle)
        answering = _seconds_to_answer(opened.enter_context(psycopg.connect(conninfo)).cursor(), None)
    case = f"{_CONNECTIONS} idle TLS connections"
    yield Row(case, "memory of the proxy before", before, "MB")
    yield Row(case, "memory that they add", cost, "MB", most=_BAR_MB)
    yield Row(case, "of which answer afterwards", alive, "connections", least=_CONNECTIONS)
    yield Row(case, "kept answer beside them", answering * 1e3, "ms")


def _resident_mb(process: int) -> float:
    """Resident memory of a process."""
    (line,) = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if "VmRSS" in line]
    return int(line.split()[1]) * 1024 / 1e6


def _fuzzed(connections: int) -> list[Row]:
    """Random and mutated messages, to sessions that are open and to such as never prove who they are."""
    rng = random.Random(connections)
    crashes = entered = 0
    log_to((_FOLDER / "fuzzer.log").open("w"))  # for the rest of the process
    for kind in (Opened, Unopened):
        for _ in range(connections):
            wrong = rng.choice((0.0, 0.02, 0.3))
            raws = [sensible(rng) for _ in range(_MESSAGES)]
            sent = [mutated(rng, raw) if rng.random() < wrong else raw for raw in raws]
            gateway = ScriptedGateway()
            try:
                asyncio.run(conversation(kind, startup(rng) + b"".join(sent), gateway))
            except Exception as error:
                print(f"crashed: {type(error).__name__}")
                crashes += 1
            entered += kind is Unopened and bool(gateway.asked or gateway.catalog_asked)
    return [
        Row("fuzzer", "messages sent", 2.0 * connections * _MESSAGES, "messages"),
        Row("fuzzer", "crashes", crashes, "crashes", most=0),
        Row("fuzzer", "questions answered without a proof", entered, "connections", most=0),
    ]
