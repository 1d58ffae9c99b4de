"""An honest analyst in a storm: slow readers, half-open connections, planners and failing questions, all together.

The proxy is a real one over TPC-H at scale 0.01. One analyst asks a fresh small question after another, as a person
does who waits for each. SECONDS_OF_LOAD=60 makes it that long instead of five minutes.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from unittest import mock
from urllib.parse import urlsplit

import httpx
from rich.progress import Progress

from server.backends import embedded
from server.demo.database import load_once
from server.ledger.charge import ChargeRecord
from server.policy.accepted_policy import read_policy
from server.policy.open_ledger_of_policy import open_or_create
from tests.benchmarks.rows import Row
from tests.support.proxies import tpch_demonstration
from tests.support.silent_flood import flood
from tests.support.wire_proxy import WireProxy, wire_proxy

_SECONDS, _QUICK_SECONDS, _CALM_S = 300.0, 20.0, 60.0
_READERS, _HALF_OPEN, _PLANNERS, _FAILING = 160, 2_000, 100, 10
_ACCOUNTS = 10
_P99_S, _MEMORY = 3.0, 1.2
_EPSILON = 0.001
_FOLDER = (Path(".noisegate") / "benchmarks" / "storm").resolve()
_COUNTS = ", ".join(f"{number} * count(*) AS n{number}" for number in range(1, 61))
_LARGE = f"SELECT p_partkey, {_COUNTS} FROM lineitem JOIN part ON l_partkey = p_partkey GROUP BY p_partkey"
_CASES = " ".join(f"WHEN o_orderkey = {number} THEN {number}" for number in range(250))
_FAILS = (
    "SELECT count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey "
    "JOIN supplier ON l_suppkey = s_suppkey WHERE l_quantity <> {number}"
)
_LIMITS = "\nrows = 40000\nseconds = 20"
"""Few enough rows for the failing question, which has 49,000 pairs of owners, to fail."""

_ALLOCATOR = {"PYTHONMALLOC": "malloc"}
"""As in the Dockerfile and the service: Python's own allocator keeps what is free beside what is not."""


def run(quick: bool) -> list[Row]:
    """What the analyst sees, the memory, and the ledger afterwards."""
    seconds = _QUICK_SECONDS if quick else float(os.environ.get("SECONDS_OF_LOAD", _SECONDS))
    with _proxy() as proxy, ExitStack() as stack:
        keys = [proxy.analyst(1e3) for _ in range(_ACCOUNTS)]
        honest = stack.enter_context(proxy.client(1e3))
        for _ in range(5):
            _post(honest, "query", _fresh())
        assert _post(_client(stack, proxy, keys[0][1]), "query", _LARGE).is_success, "it is kept from now on"
        before = _resident_mb(proxy)
        ended, outcomes, peak = threading.Event(), Counter[str](), [before]
        ports = [int(urlsplit(proxy.http).port or 0), proxy.port]
        with (
            flood(ports, _HALF_OPEN, [b"", b"\x16", b"\x16\x03\x01"], 200.0),
            ThreadPoolExecutor(_READERS + _PLANNERS + _FAILING + 1) as threads,
        ):
            for number in range(_READERS):
                threads.submit(_read_slowly, proxy, keys[number % _ACCOUNTS][1], ended)
            for number in range(_PLANNERS):
                key = keys[number % _ACCOUNTS][1]
                threads.submit(_again, proxy, key, "explain", _case, ended, outcomes)
            for number in range(_FAILING):
                threads.submit(_again, proxy, keys[number][1], "query", _failing, ended, outcomes)
            threads.submit(_watch, proxy, ended, peak)
            taken, refused = _honest(honest, seconds)
            ended.set()
        time.sleep(_CALM_S)
        after = _resident_mb(proxy)
        charges, fault = _ledger(proxy)
    case = f"{seconds:g} s of storm"
    states = Counter(one.state for one in charges)
    return [
        Row(case, "fresh answers of the honest analyst", len(taken), "answers", least=1),
        Row(case, "refused", refused, "questions", most=0),
        Row(case, "median", median(taken), "s"),
        Row(case, "99%", quantiles(taken, n=100)[98], "s", most=_P99_S),
        Row(case, "planned by the planners", outcomes["explain 200"], "statements"),
        Row(case, "failed with a charge", states["failed"], "questions", least=1),
        Row(case, "memory of the proxy before", before, "MB"),
        Row(case, "memory at its peak", peak[0], "MB"),
        Row(case, "memory a minute later, of that before", after / before, "1", most=_MEMORY),
        Row(case, "charges that are not settled, or faults of the ledger", states["reserved"] + fault, "1", most=0),
    ]


@contextmanager
def _proxy() -> Iterator[WireProxy]:
    server = embedded.start(_FOLDER / "postgres")
    try:
        with Progress(disable=True) as progress:
            url = load_once(server, "tpch", 0.01, progress)
        folder = _FOLDER / f"proxy-{time.time_ns()}"
        folder.mkdir(parents=True)
        made = tpch_demonstration(folder, server, url)
        text = made.policy.read_text()
        made.policy.write_text(text.replace("[database]", f"[database]{_LIMITS}", 1))
        with closing(open_or_create(read_policy(made.policy), made.policy)[0]):
            pass
        with mock.patch.dict(os.environ, _ALLOCATOR), wire_proxy(made, server) as proxy:
            yield proxy
    finally:
        server.stop()


_numbers = count(1000)


def _fresh() -> str:
    return f"SELECT count(*) FROM orders WHERE o_totalprice > {next(_numbers)}"


def _case() -> str:
    return f"SELECT sum(CASE {_CASES} ELSE {next(_numbers)} END) FROM orders"


def _failing() -> str:
    return _FAILS.format(number=next(_numbers))


def _client(stack: ExitStack, proxy: WireProxy, key: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {key}"}
    return stack.enter_context(httpx.Client(base_url=proxy.http, headers=headers, verify=proxy.trusted, timeout=600))


def _post(http: httpx.Client, route: str, sql: str) -> httpx.Response:
    return http.post(f"/v1/{route}", json={"sql": sql, "epsilon": _EPSILON})


def _honest(http: httpx.Client, seconds: float) -> tuple[list[float], int]:
    """Ask for so long. Returns: seconds per answer, and how many were refused."""
    taken: list[float] = []
    refused, end = 0, time.monotonic() + seconds
    while time.monotonic() < end or len(taken) < 2:
        start = time.perf_counter()
        reply = _post(http, "query", _fresh())
        taken.append(time.perf_counter() - start)
        refused += not reply.is_success
        time.sleep(0.2)
    return taken, refused


def _again(
    proxy: WireProxy, key: str, route: str, sql: Callable[[], str], ended: threading.Event, outcomes: Counter[str]
) -> None:
    """Ask at once again, whatever the answer is."""
    with ExitStack() as stack:
        http = _client(stack, proxy, key)
        while not ended.is_set():
            try:
                outcomes[f"{route} {_post(http, route, sql()).status_code}"] += 1
            except httpx.HTTPError:
                outcomes[f"{route} broken"] += 1
                time.sleep(0.1)


def _read_slowly(proxy: WireProxy, key: str, ended: threading.Event) -> None:
    """Ask for the large answer, and read it at ten kilobytes a second."""
    where = urlsplit(proxy.http)
    body = json.dumps({"sql": _LARGE, "epsilon": _EPSILON}).encode()
    head = f"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
    sent = f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    while not ended.is_set():
        with suppress(OSError), socket.create_connection(("127.0.0.1", int(where.port or 0)), timeout=30) as plain:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
            context: ssl.SSLContext = proxy.trusted
            with context.wrap_socket(plain, server_hostname="localhost") as secure:
                secure.sendall(sent)
                while not ended.is_set() and secure.recv(10_000):
                    time.sleep(1.0)
        time.sleep(0.5)


def _watch(proxy: WireProxy, ended: threading.Event, peak: list[float]) -> None:
    while not ended.wait(0.5):
        peak[0] = max(peak[0], _resident_mb(proxy))


def _resident_mb(proxy: WireProxy) -> float:
    status = Path(f"/proc/{proxy.process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def _ledger(proxy: WireProxy) -> tuple[tuple[ChargeRecord, ...], int]:
    """All charges, and whether the ledger has a fault."""
    made = proxy.demonstration
    with closing(open_or_create(read_policy(made.policy), made.policy)[0]) as ledger:
        return tuple(ledger.charges(limit=1_000_000)), int(ledger.verify().fault is not None)
