"""What one question can make a running proxy hold and keep, however small its epsilon and slow its readers."""

from __future__ import annotations

import hashlib
import json
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from server.backends.embedded import EmbeddedPostgres
from server.demo.asking import client
from server.demo.workplace import add_analyst, running_proxy
from tests.support.proxies import tpch_demonstration

GROUPS = 74_880
EPSILON = 0.01
READERS = 8
FRONT_MB = 1_000
LEDGER_MB = 20
GROUPED = f"""
[tables.orders.columns]
o_totalprice = {{ range = [0, 500000] }}
o_shippriority = {{ range = [0, {GROUPS - 1}], step = 1 }}
"""


@dataclass(frozen=True)
class Attacked:
    """A proxy that was started for one test."""

    process: subprocess.Popen[bytes]
    address: str
    key: str
    folder: Path

    def peak_mb(self) -> float:
        """The most that its front process has held."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    def ledger_mb(self) -> float:
        """What its ledger takes on disk."""
        return sum(path.stat().st_size for path in self.folder.glob("ledger.sqlite*")) / 2**20


@pytest.fixture
def attacked(embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path: Path) -> Iterator[Attacked]:
    with _attacked(embedded_postgres, tpch_url, tmp_path) as running:
        yield running


@contextmanager
def _attacked(server: EmbeddedPostgres, url: str, folder: Path) -> Iterator[Attacked]:
    made = tpch_demonstration(folder, server, url)
    made.policy.write_text(made.policy.read_text().replace("[tables.orders]\n", "") + GROUPED)
    key = add_analyst(made, epsilon=1.0)
    with running_proxy(made, 0) as (process, address):
        yield Attacked(process, address, key, folder)


def sums(number: int) -> str:
    many = ", ".join(f"sum(o_totalprice + {index}) AS s{index}" for index in range(number))
    return f"SELECT o_shippriority, {many} FROM orders GROUP BY o_shippriority"


def read_slowly(attacked: Attacked, sql: str, accept: str, patience_s: float) -> tuple[int, str, int]:
    """Ask and read a few bytes now and then for a while, then the rest: status, hash and length of the body."""
    where = urlsplit(attacked.address)
    body = json.dumps({"sql": sql, "epsilon": EPSILON}).encode()
    head = (
        f"POST /v1/query HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: {accept}\r\n"
        f"Authorization: Bearer {attacked.key}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.settimeout(300)
        reader.connect((where.hostname, where.port))
        reader.sendall(head.encode() + body)
        said = bytearray(reader.recv(4096))
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            said += reader.recv(512)
            time.sleep(0.1)
        while more := reader.recv(1 << 16):
            said += more
    start, _, chunks = bytes(said).partition(b"\r\n\r\n")
    whole = unchunked(chunks) if b"chunked" in start.lower() else chunks
    if accept == "application/json":
        # what differs from reader to reader: the request's own name
        whole = whole.rpartition(b'"request_id"')[0] if start.split()[1] == b"200" else whole
    return int(start.split()[1]), hashlib.sha256(whole).hexdigest(), len(whole)


def unchunked(body: bytes) -> bytes:
    """The body of a chunked transfer, which must be complete."""
    parts: list[bytes] = []
    place = 0
    while True:
        line = body.index(b"\r\n", place)
        size = int(body[place:line], 16)
        if not size:
            return b"".join(parts)
        parts.append(body[line + 2 : line + 2 + size])
        place = line + 2 + size + 2


def check_bounds(attacked: Attacked) -> None:
    print(f"front process at most {attacked.peak_mb():.0f} MB, ledger {attacked.ledger_mb():.1f} MB")
    assert attacked.peak_mb() < FRONT_MB
    assert attacked.ledger_mb() < LEDGER_MB


def check_refused(attacked: Attacked) -> None:
    """24 sums of 74,880 groups: by number and way out, on either endpoint, and free."""
    with client(attacked.address, attacked.key) as http:
        before = http.get("/v1/budget").json()
        for path in ("/v1/query", "/v1/explain"):
            refused = http.post(path, json={"sql": sums(24), "epsilon": EPSILON})
            assert (refused.status_code, refused.json()["code"]) == (422, "54001")
            assert "74,880 groups x 25 columns" in refused.json()["message"]
            assert "1,000,000" in refused.json()["message"] and "WHERE" in refused.json()["hint"]
        assert http.get("/v1/budget").json() == before


def check_readers(attacked: Attacked, sql: str, patience_s: float) -> None:
    """Every slow reader has in the end the whole answer, or was refused by name and has it when it asks again."""
    forms = ["application/json", "text/csv", "application/json", "text/csv"] * (READERS // 4)
    with ThreadPoolExecutor(READERS) as readers:
        first = read_slowly(attacked, sql, "application/json", 0)
        assert first[0] == 200
        asked = [readers.submit(read_slowly, attacked, sql, form, patience_s) for form in forms]
        time.sleep(patience_s / 2)
        with client(attacked.address, attacked.key) as http:  # others are served meanwhile
            assert http.get("/v1/budget", timeout=10).is_success
        found = [one.result() for one in asked]
    assert {status for status, _, _ in found} <= {200, 503}
    whole = {(form, digest) for form, (status, digest, _) in zip(forms, found, strict=True) if status == 200}
    assert len(whole) == 2, "all readers of a form have read the same, and the whole"
    assert read_slowly(attacked, sql, "text/csv", 0)[0] == 200


def test_a_question_of_two_million_cells_is_refused_before_it_is_charged(attacked: Attacked) -> None:
    check_refused(attacked)
    check_readers(attacked, sums(1), patience_s=1.0)
    check_bounds(attacked)


@pytest.mark.slow
def test_the_largest_answer_and_eight_slow_readers_fit_into_a_gigabyte(attacked: Attacked) -> None:
    check_refused(attacked)
    check_readers(attacked, sums(12), patience_s=10.0)
    check_bounds(attacked)
    check_readers(attacked, sums(12).replace("FROM orders", "FROM orders WHERE o_totalprice > 10"), patience_s=3.0)
    check_bounds(attacked)
