"""What one question can make a running proxy hold and keep, however small its epsilon and slow its readers."""

from __future__ import annotations

import hashlib
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from server.demo.demonstration import client
from tests.e2e.administrator import Administrator
from tests.support.wire_proxy import WireProxy

EPSILON = 0.01
READERS = 8
FRONT_MB = 1_000
LEDGER_MB = 20


@dataclass(frozen=True)
class Attacked:
    """A proxy whose policy has 74,880 groups, and an analyst's key."""

    wire: WireProxy
    key: str

    def client(self) -> httpx.Client:
        return client(self.wire.http, self.key, self.wire.trusted)

    def peak_mb(self) -> float:
        """The most that its front process has held."""
        status = Path(f"/proc/{self.wire.process}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    def ledger_mb(self) -> float:
        """What its ledger takes on disk."""
        return sum(path.stat().st_size for path in self.wire.demonstration.folder.glob("ledger.sqlite*")) / 2**20


@pytest.fixture
def attacked(own: Administrator) -> Attacked:
    return Attacked(own.wire, own.wire.analyst(1.0)[1])


def sums(number: int) -> str:
    many = ", ".join(f"sum(o_totalprice + {index}) AS s{index}" for index in range(number))
    return f"SELECT o_shippriority, {many} FROM orders GROUP BY o_shippriority"


def read_slowly(attacked: Attacked, sql: str, accept: str, patience_s: float) -> tuple[int, str, int]:
    """Ask and read a few bytes now and then for a while, then the rest: status, hash and length of the body."""
    where = urlsplit(attacked.wire.http)
    body = json.dumps({"sql": sql, "epsilon": EPSILON}).encode()
    head = (
        f"POST /v1/query HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: {accept}\r\n"
        f"Authorization: Bearer {attacked.key}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.socket() as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.settimeout(300)
        plain.connect((where.hostname, where.port))
        with attacked.wire.trusted.wrap_socket(plain, server_hostname="localhost") as reader:
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
    with attacked.client() as http:
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
        with attacked.client() as http:  # others are served meanwhile
            assert http.get("/v1/budget").is_success
        found = [one.result() for one in asked]
    assert {status for status, _, _ in found} <= {200, 503}
    whole = {(form, digest) for form, (status, digest, _) in zip(forms, found, strict=True) if status == 200}
    assert len(whole) == 2, "all readers of a form have read the same, and the whole"
    assert read_slowly(attacked, sql, "text/csv", 0)[0] == 200


def test_a_question_of_two_million_cells_is_refused_before_it_is_charged(attacked: Attacked) -> None:
    check_refused(attacked)
    check_bounds(attacked)


@pytest.mark.slow
def test_the_largest_answer_and_eight_slow_readers_fit_into_a_gigabyte(attacked: Attacked) -> None:
    check_readers(attacked, sums(1), patience_s=1.0)
    check_bounds(attacked)
    check_readers(attacked, sums(12), patience_s=10.0)
    check_bounds(attacked)
    check_readers(attacked, sums(12).replace("FROM orders", "FROM orders WHERE o_totalprice > 10"), patience_s=3.0)
    check_bounds(attacked)
