"""Sessions that stop one another by number, as dbt and Superset do."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing

import pytest

from planner.errors import UnsupportedSQL
from server.errors import CancelledByClient
from server.pgwire.connection import CancelKeys, Limits, Listener, ListenerContext
from server.pgwire.statements.parse_statement import command_of
from server.pgwire.statements.session_functions import backend_call_of
from server.pgwire.statements.split_statements import split
from server.query import QueryRequest, QueryResponse
from tests.property.test_wire_fuzz import Opened, known
from tests.support.scripted_gateway import ScriptedGateway
from tests.support.wire_client import SYNC, bind, cells_of, describe, execute, fields_of, parse, query, replies

_WAIT_S = 60.0


class Peer:
    """A client, and what it has been told."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def say(self, *raw: bytes) -> None:
        self._writer.write(b"".join(raw))

    async def told(self) -> list[tuple[str, bytes]]:
        """What it is told until it may go on, or until the connection ends."""
        said = b""
        while True:
            more = await asyncio.wait_for(self._reader.read(1 << 16), _WAIT_S)
            said += more
            found = replies(said)
            if not more or (found and found[-1][0] == "Z"):
                return found

    async def cell(self, sql: str) -> bytes | None:
        """The only cell of an answer."""
        self.say(query(sql))
        (row,) = (body for kind, body in await self.told() if kind == "D")
        (cell,) = cells_of(row)
        return cell

    def close(self) -> None:
        self._writer.close()


def together(monkeypatch: pytest.MonkeyPatch, work: Callable[[Peer, Peer, Peer], Awaitable[None]]) -> None:
    """Two sessions of ann and one of bob before one listener."""
    monkeypatch.setattr("server.pgwire.connection.Connection", Opened)

    def hello(user: str) -> bytes:
        body = struct.pack("!i", 196608) + f"user\0{user}\0database\0demo\0\0".encode()
        return struct.pack("!i", 4 + len(body)) + body

    async def held() -> None:
        context = ListenerContext(ScriptedGateway(), known, "demo", None, True, CancelKeys(), b"secret", Limits())
        listener = Listener(context)
        with closing(socket.create_server(("127.0.0.1", 0))) as listening:
            await listener.start(listening)
            peers = []
            for user in ("ann", "ann", "bob"):
                peer = Peer(*await asyncio.open_connection("127.0.0.1", listening.getsockname()[1]))
                peer.say(hello(user))
                assert (await peer.told())[-1][0] == "Z"
                peers.append(peer)
            await work(*peers)
            for peer in peers:
                peer.close()
            await listener.stop()

    asyncio.run(held())


def code(said: list[tuple[str, bytes]]) -> list[str]:
    return [fields_of(body)["C"] for kind, body in said if kind == "E"]


def test_a_session_knows_the_number_that_its_client_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(ann: Peer, again: Peer, bob: Peer) -> None:
        numbers = [await peer.cell("SELECT pg_backend_pid()") for peer in (ann, again, bob)]
        assert len(set(numbers)) == 3

    together(monkeypatch, work)


STOPS = ("SELECT pg_{}_backend({})", "/* dbt */ select pg_{}_backend('{}'::int) AS done")
LISTED = "SELECT pg_{}_backend(pid) FROM pg_stat_activity WHERE pid='{}'"


def test_what_runs_in_a_session_of_ones_own_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    for asked in [*STOPS, LISTED]:
        _what_runs_in_a_session_of_ones_own_is_cancelled(monkeypatch, asked)


def _what_runs_in_a_session_of_ones_own_is_cancelled(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    async def work(ann: Peer, again: Peer, bob: Peer) -> None:
        number = (await ann.cell("SELECT pg_backend_pid()") or b"").decode()
        ann.say(query("SELECT slow FROM t"))
        await asyncio.sleep(0.1)
        assert await bob.cell(asked.format("cancel", number)) == b"f", "it is another's"
        assert await again.cell(asked.format("cancel", number)) == b"t"
        said = await ann.told()
        assert code(said) == ["57014"]
        assert said[-1][0] == "Z"
        assert await ann.cell("SELECT pg_backend_pid()") == number.encode()

    together(monkeypatch, work)


def test_what_a_client_that_is_gone_has_asked_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled: list[bool] = []

    def finish(gateway: object, found: object, request: QueryRequest, event: threading.Event) -> QueryResponse:
        cancelled.append(event.wait(_WAIT_S))
        raise CancelledByClient("cancelled; it was charged")

    monkeypatch.setattr(ScriptedGateway, "finish", finish)

    async def work(ann: Peer, again: Peer, bob: Peer) -> None:
        asked = "SELECT slow FROM t"
        ann.say(query(asked), parse(asked), bind(), execute(), SYNC)  # the second begins after the end
        await asyncio.sleep(0.1)
        ann.close()
        async with asyncio.timeout(_WAIT_S):
            while len(cancelled) < 2:
                await asyncio.sleep(0.01)

    together(monkeypatch, work)
    assert cancelled == [True, True]


def test_a_session_of_ones_own_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    for busy in [True, False]:
        _a_session_of_ones_own_is_ended(monkeypatch, busy)


def _a_session_of_ones_own_is_ended(monkeypatch: pytest.MonkeyPatch, busy: bool) -> None:
    async def work(ann: Peer, again: Peer, bob: Peer) -> None:
        number = (await ann.cell("SELECT pg_backend_pid()") or b"").decode()
        if busy:
            ann.say(query("SELECT slow FROM t"))
            await asyncio.sleep(0.1)
        ask = "SELECT pg_terminate_backend($1)"
        for peer, stopped in ((bob, b"f"), (again, b"t"), (again, b"f")):
            peer.say(parse(ask), bind((number.encode(),)), describe(), execute(), SYNC)
            ((row,),) = [[body for kind, body in await peer.told() if kind == "D"]]
            assert cells_of(row) == [stopped]
            await asyncio.sleep(0.1)
        said = await ann.told()
        if busy and said[-1][0] == "Z":
            said += await ann.told()
        assert code(said) == (["57014", "57P01"] if busy else ["57P01"])

    together(monkeypatch, work)


def test_what_is_no_number_of_a_session_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in [b"x", b"-1", b"9" * 11, b"9" * 5_000]:
        _what_is_no_number_of_a_session_is_refused(monkeypatch, number)


def _what_is_no_number_of_a_session_is_refused(monkeypatch: pytest.MonkeyPatch, number: bytes) -> None:
    async def work(ann: Peer, again: Peer, bob: Peer) -> None:
        ann.say(parse("SELECT pg_terminate_backend($1)"), bind((number,)), describe(), execute(), SYNC)
        ((refused,),) = [code(await ann.told())]
        assert refused in ("22023", "22P02")
        assert await ann.cell("SELECT pg_backend_pid()")

    together(monkeypatch, work)


def test_no_copy_and_no_cursor_tells_a_number_of_the_catalogs() -> None:
    for around in ["COPY ({}) TO STDOUT", "DECLARE one CURSOR WITH HOLD FOR {}"]:
        with pytest.raises(UnsupportedSQL):
            command_of(split(around.format("SELECT pg_backend_pid()"))[0])


def test_what_does_more_is_the_catalogs_to_refuse() -> None:
    for sql in [
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity",
        "SELECT pg_terminate_backend(1), 2",
        "SELECT pg_cancel_backend(1 + 1)",
        "SELECT pg_backend_pid() + 1",
    ]:
        assert backend_call_of(split(sql)[0]) is None, sql
