from __future__ import annotations

import json
from collections.abc import AsyncIterator

from server.http.exchange import BODY_LIMIT_BYTES
from tests.unit.server.http.fakes import FakePipeline, assert_problem, send

JSON = {"Content-Type": "application/json"}


def body_of(length: int) -> bytes:
    empty = len(json.dumps({"sql": ""}))
    return json.dumps({"sql": "x" * (length - empty)}).encode()


def test_the_longest_body_is_read_whole() -> None:
    pipeline = FakePipeline()
    content = body_of(BODY_LIMIT_BYTES)
    assert send("POST", "/v1/query", pipeline=pipeline, content=content, headers=JSON).status_code == 200
    assert pipeline.asked[0].sql == json.loads(content)["sql"]


def test_a_longer_body_is_refused_whatever_it_announces() -> None:
    for length in ["13", str(10**30), "-1", "x", "\u00b9"]:
        pipeline = FakePipeline()
        headers = {"Content-Type": b"application/json", "Content-Length": length.encode("latin-1")}
        content = body_of(BODY_LIMIT_BYTES + 1)
        response = send("POST", "/v1/query", pipeline=pipeline, content=content, headers=headers)
        assert_problem(response, 413, "54000")
        assert pipeline.asked == [], length


def test_an_announced_length_is_refused_unread() -> None:
    read = False

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal read
        read = True
        yield b"{}"

    headers = {**JSON, "Content-Length": str(BODY_LIMIT_BYTES + 1)}
    assert_problem(send("POST", "/v1/query", content=pieces(), headers=headers), 413, "54000")
    assert not read


def test_a_body_in_pieces_is_counted() -> None:
    sent = 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(100):
            sent += 8192
            yield b" " * 8192

    assert_problem(send("POST", "/v1/query", content=pieces(), headers=JSON), 413, "54000")
    assert sent <= BODY_LIMIT_BYTES + 2 * 8192


def test_a_body_in_pieces_is_put_together() -> None:
    pipeline = FakePipeline()

    async def pieces() -> AsyncIterator[bytes]:
        for byte in b'{"sql": "SELECT 1"}':
            yield bytes([byte])

    assert send("POST", "/v1/query", pipeline=pipeline, content=pieces(), headers=JSON).status_code == 200
    assert pipeline.asked[0].sql == "SELECT 1"
