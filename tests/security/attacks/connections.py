"""Too long, too slow, half said: who says little or much keeps others out, or takes the memory.

MITRE, CAPEC-469 (HTTP DoS, Slowloris), CWE-400, CWE-770; Kettle, "HTTP Desync Attacks", 2019; RFC 9112, sections 6
and 11. Twenty thousand sockets: `tests/e2e/test_silent_flood.py`.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import httpx

from tests.security.game import AttackClass, BreakIn, Desk, nonce

_SOCKETS, _PATIENCE_S = 24, 4.0
_HEAD = b"POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@contextmanager
def _holding(desk: Desk, said: bytes, port: int | None = None) -> Iterator[None]:
    """Connections that said so much, and are silent."""
    with ExitStack() as stack:
        for _ in range(_SOCKETS):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port or desk.port), timeout=10))
            one.sendall(said)
        yield


def _keeps_out(said: bytes) -> Callable[[Desk], bool]:
    """Is somebody else answered while they are held?"""

    def tries(desk: Desk) -> bool:
        with _holding(desk, said):
            return not _served(desk)

    return tries


def _served(desk: Desk) -> bool:
    """A newcomer, with a connection of its own."""
    try:
        with httpx.Client(timeout=_PATIENCE_S) as innocent:
            innocent.get(f"{desk.address}/v1/budget", headers={"Authorization": f"Bearer {desk.key}"})
    except httpx.TransportError:
        return False
    return True


def _half_open_on_the_wire(desk: Desk) -> bool:
    """The first bytes of PostgreSQL's protocol, and no more."""
    if desk.wire is None:
        return _keeps_out(b"")(desk)
    startup = struct.pack("!ii", 1000, 196608) + b"user\0"
    with _holding(desk, startup, desk.wire):
        return not (_served(desk) and _greets(desk.wire))


def _greets(port: int) -> bool:
    """Is a newcomer asked for a proof?"""
    with socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE_S) as one:
        body = struct.pack("!i", 196608) + b"user\0eve\0database\0clinic\0\0"
        one.sendall(struct.pack("!i", 4 + len(body)) + body)
        return one.recv(1) in (b"R", b"E")


def _taken(sent: bytes, port_of: Callable[[Desk], int | None] = lambda desk: desk.port) -> Callable[[Desk], bool]:
    """Was all of it taken in, without a word against it and without an end?"""

    def tries(desk: Desk) -> bool:
        port = port_of(desk) or desk.port
        with socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE_S) as one:
            try:
                one.sendall(sent)
                reply = one.recv(200)
            except TimeoutError:
                return True
            except OSError:
                return False  # it hung up
        return reply.startswith(b"HTTP/1.1 2") or (reply.startswith(b"HTTP/1.1 4") and b" 400 OK" in reply)

    return tries


def _body_kept(length: int) -> Callable[[Desk], bool]:
    """Is a body of that length read to its end?"""

    def tries(desk: Desk) -> bool:
        sql = f"SELECT count(*) FROM ward WHERE name <> '{'x' * length}' AND floor <> -{nonce()}"
        reply = desk.ask(sql, 0.1)
        return reply.status not in (0, 413, 431)

    return tries


def _deep(desk: Desk) -> bool:
    """Does a deep document make anything fail that is not its own reply?"""
    deep = "[" * 50_000 + "]" * 50_000
    with httpx.Client(timeout=20.0) as client:
        try:
            reply = client.post(
                f"{desk.address}/v1/query",
                content=f'{{"sql": "SELECT 1", "parameters": {deep}}}',
                headers={"Authorization": f"Bearer {desk.key}", "Content-Type": "application/json"},
            )
        except httpx.TransportError:
            return True
    return reply.status_code >= 500 or not reply.headers.get("content-type", "").startswith(
        "application/problem+json"
    )


def _smuggled(desk: Desk) -> bool:
    """Two requests in one, by two lengths: is the second one answered?"""
    inner = b"GET /v1/budget HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + desk.key.encode() + b"\r\n\r\n"
    sent = _HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner
    with socket.create_connection(("127.0.0.1", desk.port), timeout=_PATIENCE_S) as one:
        try:
            one.sendall(sent)
            found = b""
            while piece := one.recv(65536):
                found += piece
        except OSError:
            pass
    return b"epsilon_left" in found


CONNECTIONS = AttackClass(
    "oversized, slow and half-open connections",
    "CAPEC-469; CWE-400, CWE-770; Kettle 2019",
    (
        BreakIn("silent connections", _keeps_out(b"")),
        BreakIn("half a head", _keeps_out(_HEAD)),
        BreakIn("half a body", _keeps_out(_HEAD + b"Content-Length: 1000\r\n\r\n{")),
        BreakIn("half a greeting on the wire", _half_open_on_the_wire),
        BreakIn("a body of a megabyte", _body_kept(1 << 20)),
        BreakIn("a document of fifty thousand levels", _deep),
        BreakIn("two lengths", _smuggled),
    ),
)
