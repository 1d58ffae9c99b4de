"""Two proxies on one PostgreSQL ledger, behind a balancer that does as `deploy/haproxy.cfg` says: kills and restarts.

HAProxy itself does not run here. The balancer passes connections through, asks each proxy for /ready every second,
and goes to the other proxy if one refuses a connection.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
import pytest

from server.backends.embedded import EmbeddedPostgres
from server.demo.demonstration import client
from server.demo.workplace import Demonstration, _healthy, _serve, add_analyst, free_port
from server.policy.accepted_policy import read_policy
from server.policy.open_ledger_of_policy import open_or_create
from tests.support.ledger_database import empty_ledger_database
from tests.support.proxies import tpch_demonstration
from tests.support.wire_proxy import SMALL

CLIENTS = 32
KILLS = 3
EPSILON = 0.001
BUDGET = 20.0
PATIENCE_S = 300.0
QUIET_S = 4.0
"""Between faults, so that questions of both kinds of moments are asked."""


@dataclass
class Proxy:
    """One of the two: its folder, its port, and the process that listens now."""

    demonstration: Demonstration
    port: int
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; returns once it is healthy."""
        self.process = _serve(self.demonstration, self.port, ("--no-wire",), None, SMALL)
        assert _healthy(self.process, f"http://localhost:{self.port}", None), "it starts"

    def end(self, number: signal.Signals) -> None:
        """Stop or kill it, and wait."""
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait(timeout=PATIENCE_S)


@dataclass
class Balancer:
    """Passes connections on to a ready proxy."""

    ports: tuple[int, ...]
    ready: dict[int, bool] = field(default_factory=dict)
    listening: int = 0
    _turns: itertools.cycle[int] = field(init=False)

    def __post_init__(self) -> None:
        self._turns = itertools.cycle(self.ports)

    async def serve(self, started: threading.Event, stop: asyncio.Event) -> None:
        """Until it is told to stop."""
        probing = [asyncio.create_task(self._probe(port)) for port in self.ports]
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.listening = server.sockets[0].getsockname()[1]
        started.set()
        await stop.wait()
        for task in probing:
            task.cancel()
        server.close()

    async def _probe(self, port: int) -> None:
        async with httpx.AsyncClient(timeout=3.0) as http:
            while True:
                try:
                    self.ready[port] = (await http.get(f"http://127.0.0.1:{port}/ready")).is_success
                except httpx.HTTPError:
                    self.ready[port] = False
                await asyncio.sleep(1.0)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wished = [next(self._turns) for _ in self.ports]
        for port in sorted(wished, key=lambda one: not self.ready.get(one, False)):
            try:
                theirs, to_them = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                continue
            await asyncio.gather(_pump(reader, to_them), _pump(theirs, writer))
            return
        writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


@pytest.fixture
def balanced(
    embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Balancer, tuple[Proxy, Proxy], str]]:
    """Two proxies and a balancer, with an analyst's key."""
    monkeypatch.setenv("NOISEGATE_LEDGER_URL", empty_ledger_database(embedded_postgres))
    folders = tmp_path / "first", tmp_path / "second"
    folders[0].mkdir()
    made = tpch_demonstration(folders[0], embedded_postgres, tpch_url)
    text = made.policy.read_text().replace('path = "ledger.sqlite"', 'url = "env:NOISEGATE_LEDGER_URL"')
    made.policy.write_text(text)
    key = add_analyst(made, BUDGET)
    shutil.copytree(*folders)
    proxies = tuple(Proxy(replace(made, folder=folder), free_port(0)) for folder in folders)
    balancer = Balancer(tuple(one.port for one in proxies))
    loop, started, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(balancer.serve(started, stop),))
    for one in proxies:
        one.start()
    thread.start()
    try:
        assert started.wait(60)
        yield balancer, (proxies[0], proxies[1]), key
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        for one in proxies:
            if one.process is not None and one.process.poll() is None:
                one.end(signal.SIGTERM)


@dataclass
class Seen:
    """What the clients saw.

    Attributes:
      answers: how often each question was answered.
      errors: of those who asked once more.
    """

    answers: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


_numbers = itertools.count(1)


def _ask(address: str, key: str, ended: threading.Event, seen: Seen) -> None:
    """Ask fresh questions, each once more if the connection breaks or the proxy is not ready."""
    while not ended.is_set():
        sql = f"SELECT count(*) FROM orders WHERE o_orderkey <> -{next(_numbers)}"
        for last in (False, True):
            try:
                with client(address, key) as http:
                    reply = http.post("/v1/query", json={"sql": sql, "epsilon": EPSILON}, timeout=PATIENCE_S)
                if reply.is_success:
                    with seen.lock:
                        seen.answers[sql] += 1
                    break
                failure = reply.text
            except httpx.HTTPError as error:
                failure = type(error).__name__
            if last:
                with seen.lock:
                    seen.errors.append(failure)
            time.sleep(1.5)  # until the balancer has noticed


@pytest.mark.slow
def test_kills_and_a_rolling_restart_lose_no_answer_and_charge_none_twice(
    balanced: tuple[Balancer, tuple[Proxy, Proxy], str],
) -> None:
    balancer, proxies, key = balanced
    address, ended, seen = f"http://127.0.0.1:{balancer.listening}", threading.Event(), Seen()
    with ThreadPoolExecutor(CLIENTS) as threads:
        clients = [threads.submit(_ask, address, key, ended, seen) for _ in range(CLIENTS)]
        for number in (*[signal.SIGKILL] * KILLS, signal.SIGTERM, signal.SIGTERM):
            time.sleep(QUIET_S)
            hit = proxies[0]
            hit.end(number)
            time.sleep(QUIET_S)
            hit.start()
            while not all(balancer.ready.values()):
                time.sleep(0.1)
            proxies = proxies[1], proxies[0]
        time.sleep(QUIET_S)
        ended.set()
        for one in clients:
            one.result()
    assert not seen.errors
    made = proxies[0].demonstration
    with closing(open_or_create(read_policy(made.policy), made.policy)[0]) as ledger:
        charges = ledger.charges(limit=1_000_000)
        (budget,) = [one for one in ledger.accounts() if one.name.startswith("analyst:")]
        assert ledger.verify().fault is None
    states = Counter(one.state for one in charges)
    print(f"{len(seen.answers)} questions answered; charges: {dict(states)}")
    assert set(seen.answers.values()) == {1}, "each question is answered"
    assert states["committed"] == len(seen.answers), "what is released is charged, once"
    assert set(states) <= {"committed", "crashed", "released"}
    assert states["crashed"] <= KILLS * CLIENTS, "only what was under way at a kill"
    spent = budget.grant.epsilon - budget.epsilon_left
    assert spent == pytest.approx(EPSILON * (states["committed"] + states["crashed"]), rel=1e-9)
