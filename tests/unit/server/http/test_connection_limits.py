"""What a client can take of the server before it has said who it is."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from types import SimpleNamespace
from typing import Any, cast

import pytest

from server import connections
from server.http import listener
from server.http.listener import HEAD_BYTES
from server.startup.serve import http_server

ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LONG = ASK.replace(b"/ ", b"/long ")
LENGTH = 20_000_000


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the length of the body, /slow after a second, /long with much."""
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    length, more = 0, True
    while more:
        message = await receive()
        length, more = length + len(message.get("body", b"")), message.get("more_body", False)
    if scope["path"] == "/slow":
        await asyncio.sleep(1.0)
    text = bytes(LENGTH) if scope["path"] == "/long" else str(length).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(text))]})
    await send({"type": "http.response.body", "body": text})


@pytest.fixture
def port() -> Iterator[int]:
    """A server as it is served."""
    server = http_server(cast(Any, SimpleNamespace(app=_app)), None, connections=4)
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def said(client: socket.socket, sent: bytes = b"") -> bytes:
    """What comes back; nothing from who has hung up."""
    try:
        client.sendall(sent)
        return client.recv(1 << 16)
    except ConnectionError:
        return b""


def whole(client: socket.socket, sent: bytes) -> bytes:
    """An answer with its body, which may come after its head."""
    answer = said(client, sent)
    while answer.endswith(b"\r\n\r\n") and (more := said(client)):
        answer += more
    return answer


def test_nothing_before_a_body_is_without_end(port: int) -> None:
    for endless in [
        b"GET / HTTP/1.1\r\nX: ",
        b"GET /",
        ASK[:-2],
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: ",
    ]:
        more = b"Y: 1\r\n" * 10_000 if endless == ASK[:-2] else b"a" * 60_000
        with closing(connected(port)) as client:
            sent = 0
            try:
                client.sendall(endless)
                while sent < 100 * HEAD_BYTES:
                    client.sendall(more)
                    sent += len(more)
                    time.sleep(0.001)
            except ConnectionError:
                continue
        raise AssertionError(f"{sent} bytes were taken in")


@pytest.mark.slow  # half a second may be too short on a busy machine
def test_who_says_nothing_is_not_waited_for_and_who_asks_is(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "REQUEST_S", 0.5)
    monkeypatch.setattr(connections, "SILENT_S", 0.5)
    with ExitStack() as closed:
        silent = [closed.enter_context(closing(connected(port))) for _ in range(4)]
        parts = (b"", ASK[:20], b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab", b"\r\n")
        for client, partly in zip(silent, parts, strict=True):
            client.sendall(partly)
        assert [said(client) for client in silent] == [b""] * 4
    with closing(connected(port)) as client:
        assert said(client, ASK.replace(b"/ ", b"/slow ")).startswith(b"HTTP/1.1 200")
        assert whole(client, ASK).endswith(b"0")
        assert said(client) == b""


def test_a_whole_request_is_answered_in_whatever_pieces_it_comes(port: int) -> None:
    chunks = b"".join(b"1\r\na\r\n" for _ in range(50_000)) + b"0\r\n\r\n"
    with closing(connected(port)) as client:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert whole(client, head + chunks).endswith(b"50000")
        client.sendall(ASK[:10])
        time.sleep(0.05)
        assert whole(client, ASK[10:]).endswith(b"0")


def test_who_holds_a_place_makes_room(port: int) -> None:
    idle = []
    for _ in range(4):
        idle.append(connected(port))
        time.sleep(0.05)
    admission = connected(port)
    assert said(admission, ASK).startswith(b"HTTP/1.1 200")
    assert said(idle[0]) == b""
    assert all(said(one, ASK).startswith(b"HTTP/1.1 200") for one in idle[1:])
    for one in (*idle, admission):
        one.close()


def test_who_was_answered_stays_and_strangers_go(port: int) -> None:
    admission = connected(port)
    assert whole(admission, ASK).endswith(b"0")
    silent = [connected(port) for _ in range(20)]
    assert said(silent[0]) == b""
    assert whole(admission, ASK).endswith(b"0")
    for one in (*silent, admission):
        one.close()


@pytest.mark.slow
def test_who_does_not_take_its_answer_is_not_waited_for(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And makes room meanwhile; so does who wants the connection closed after it."""
    monkeypatch.setattr(listener, "STALL_S", 0.5)
    monkeypatch.setattr(listener, "REQUEST_S", 0.5)
    with ExitStack() as closed:
        clients = [closed.enter_context(socket.socket()) for _ in range(2)]
        asks = (LONG, LONG.replace(b"Host: x", b"Host: x\r\nConnection: close"))
        for client, ask in zip(clients, asks, strict=True):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            client.settimeout(60)
            client.connect(("127.0.0.1", port))
            client.sendall(ask)
        time.sleep(4.0)
        assert all(len(received(client)) < LENGTH for client in clients)


def received(client: socket.socket) -> bytes:
    """Everything, to the end."""
    whole = b""
    while more := said(client):
        whole += more
    return whole
