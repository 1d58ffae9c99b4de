"""Who has not said who he is cannot keep others out, nor take the proxy's memory or descriptors."""

from __future__ import annotations

import http.client
import re
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from server.backends.embedded import EmbeddedPostgres
from server.demo.workplace import add_analyst
from tests.e2e.administrator import FILES, Administrator
from tests.support.proxies import tpch_demonstration
from tests.support.silent_flood import flood
from tests.support.wire_proxy import WireProxy, wire_proxy

TLS_BYTES = 128 << 10
"""What a place may cost once its first byte is there: OpenSSL's state and the event loop's."""

SILENT_BYTES = 8 << 10
"""What it may cost before."""

SLACK_BYTES = 24 << 20
"""What answering costs that has nothing to do with how many are there."""


_PATIENCE_S = 120


class Health:
    """A client that asks /health over a new connection and over a kept one, and takes the time.

    It comes from another address than the flood, as anybody does whom the flood would keep out.
    """

    def __init__(self, proxy: WireProxy) -> None:
        url = urlsplit(proxy.http)
        self._at = "127.0.0.1", int(url.port or 0)
        self._context = None
        if url.scheme == "https":
            self._context = ssl.create_default_context(cafile=proxy.authority)
            self._context.check_hostname = False
        self._kept = self._connection()
        self.worst = {"new": 0.0, "kept": 0.0}
        self.asked = 0

    def ask(self) -> None:
        with closing(self._connection()) as new:
            for name, connection in (("new", new), ("kept", self._kept)):
                begun = time.perf_counter()
                connection.request("GET", "/health")
                response = connection.getresponse()
                assert response.status == 200
                response.read()
                self.worst[name] = max(self.worst[name], time.perf_counter() - begun)
        self.asked += 1

    def close(self) -> None:
        self._kept.close()

    def _connection(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(*self._at, timeout=_PATIENCE_S, source_address=("127.0.0.2", 0))
        return http.client.HTTPSConnection(
            *self._at, timeout=_PATIENCE_S, source_address=("127.0.0.2", 0), context=self._context
        )


@pytest.fixture
def limited(
    request: pytest.FixtureRequest, embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path: Path
) -> Iterator[WireProxy]:
    """A proxy with as many descriptors as the test says, and TLS or none."""
    tls, files = request.param
    made = tpch_demonstration(tmp_path, embedded_postgres, tpch_url)
    add_analyst(made, epsilon=1.0)
    with wire_proxy(made, embedded_postgres, tls=tls, files=files) as running:
        yield running


def resident_bytes(process: int) -> int:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


def held(
    proxy: WireProxy, sockets: int, places: int, first: Sequence[bytes], per_second: float, worst_s: float
) -> None:
    """Flood both ports, and be well-behaved meanwhile."""
    health = Health(proxy)
    name, key = proxy.analyst(1.0)
    mode = "verify-full" if proxy.http.startswith("https") else "disable"
    conninfo = proxy.conninfo(name, key, mode).replace("require", "prefer")
    for _ in range(20):
        health.ask()
    health.worst = dict.fromkeys(health.worst, 0.0)
    before = resident_bytes(proxy.process)
    ports = [int(proxy.http.rpartition(":")[2]), proxy.port]
    grown, descriptors = 0, 0
    end: float | None = None
    with closing(health), flood(ports, sockets, first, per_second) as every:
        while end is None or time.monotonic() < end:
            health.ask()
            grown = max(grown, resident_bytes(proxy.process) - before)
            descriptors = max(descriptors, len(list(Path(f"/proc/{proxy.process}/fd").iterdir())))
            if end is None and every.is_set():
                end = time.monotonic() + 0.5
        with psycopg.connect(conninfo, connect_timeout=_PATIENCE_S) as session:
            assert session.execute("SHOW noisegate.budget").fetchone() is not None
    told = f"{health.asked} times, worst {health.worst}, {grown >> 20} MiB more, {descriptors} descriptors"
    print(told)
    assert descriptors <= 2 * places + 256, told
    assert grown <= 2 * places * (TLS_BYTES if any(first) else SILENT_BYTES) + SLACK_BYTES, told
    assert max(health.worst.values()) < worst_s, told


@pytest.mark.slow
def test_two_thousand_sockets_where_few_descriptors_are(own: Administrator) -> None:
    """Somebody else is answered, however late: how soon depends on what else the machine does."""
    assert own.wire.http.startswith("https") and FILES == 512
    held(own.wire, 2_000, 128, [b"", b"\x16"], per_second=500, worst_s=_PATIENCE_S)


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("limited", [(True, 4_096), (False, 4_096)], ids=["tls", "plain"], indirect=True)
@pytest.mark.parametrize("first", [b"", b"\x16"], ids=["silent", "begun"])
def test_twenty_thousand_sockets(limited: WireProxy, first: bytes) -> None:
    held(limited, 20_000, 1_000, [first], per_second=2_000, worst_s=0.1)
