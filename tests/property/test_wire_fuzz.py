"""Whatever bytes come, the wire protocol's server neither crashes nor lets anybody in without a proof."""

from __future__ import annotations

import asyncio
import itertools
import random
import secrets
import struct
import time

import pytest

from server.connections import Place, Places
from server.errors import WireError
from server.pgwire.channel import Channel
from server.pgwire.connection import CancelKeys, Connection, Limits, ListenerContext, counted_session
from server.pgwire.scram import Verifier
from server.scheduling.fair_shares import FairShares
from tests.support.scripted_gateway import ScriptedGateway
from tests.support.seeds import SEED, examples
from tests.support.wire_client import SYNC, bind, describe, execute, fields_of, message, parse, query, replies

STATEMENTS = (
    "SELECT 1 FROM t", "SELECT $1 FROM t", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT a", "ROLLBACK TO a", "FETCH c",
    "DECLARE c CURSOR FOR SELECT 1 FROM t", "CLOSE c", "SET noisegate.epsilon = 2", "SET noisegate.intervals = on",
    "SHOW noisegate.budget", "DISCARD ALL", "DEALLOCATE ALL", "COPY (SELECT 1 FROM t) TO STDOUT (FORMAT csv)",
    "DELETE FROM t", "SELECT 1 FROM nowhere", "SELECT 1 FROM dear", "SELECT relname FROM pg_class", "", ";;", "'",
    "EXPLAIN SELECT 1 FROM t", "SELECT 1 FROM foreign_table", "SET LOCAL noisegate.delta = 0.1", "RESET ALL", "/*",
    "FETCH 1 FROM c",
)  # fmt: skip


READY = b"Z\0\0\0\5"


class Wire(asyncio.Transport):
    """A connection without a socket: what the server writes stands in `written`."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1)})
        self.written = bytearray()
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def known(analyst: str) -> Verifier | None:
    """Everybody is known, by a key that nobody has."""
    return Verifier(1, b"salt", b"\1" * 32, b"\2" * 32)


class Opened(Connection):
    """A connection whose client has proved who it is."""

    async def _authenticate(self, user: str) -> None:
        self._decoder.authenticated()
        self._verifier = await self._reception.verifier(user)


def startup(rng: random.Random) -> bytes:
    body = struct.pack("!i", 196608 + rng.choice((0, 0, 0, 2))) + b"user\0ann\0database\0demo\0\0"
    return struct.pack("!i", 4 + len(body)) + body


def sensible(rng: random.Random) -> bytes:
    """A message that a client could send."""
    name, sql = rng.choice(("", "a", "c")), rng.choice(STATEMENTS)
    return rng.choice(
        (
            query("; ".join(rng.choices(STATEMENTS, k=rng.randrange(1, 4)))),
            parse(sql, name),
            bind((b"5",) if "$1" in sql or rng.random() < 0.3 else (), name, rng.choice(("", "a")), rng.randrange(2)),
            describe(name, portal=rng.random() < 0.5),
            execute(name, rng.choice((0, 1, -1))),
            message(b"C", rng.choice((b"S", b"P")) + name.encode() + b"\0"),
            SYNC,
            message(b"H"),
            message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", 3) + b"n,,"),
            message(b"d", b"row"),
            message(b"F", rng.randbytes(4)),
        )
    )


def mutated(rng: random.Random, raw: bytes) -> bytes:
    """The same with a byte changed, cut, doubled, or with another length."""
    data = bytearray(raw)
    kind = rng.randrange(5)
    if kind == 0:
        data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == 1:
        del data[rng.randrange(len(data)) :]
    elif kind == 2:
        data += rng.randbytes(rng.randrange(1, 9))
    elif kind == 3 and len(data) >= 5:
        struct.pack_into("!i", data, 1, rng.choice((-1, 0, 3, 4, 5, len(data), 1 << 20, 2**31 - 1)))
    else:
        data = bytearray(rng.randbytes(rng.randrange(1, 64)))
    return bytes(data)


def a_place() -> Place:
    """The only one of a port."""
    place = Places(1).enter("", lambda: None)
    assert place is not None
    return place


async def conversation(
    kind: type[Connection], stream: bytes, gateway: ScriptedGateway, answers: int = 0, patience_s: float = 60
) -> Wire:
    """Send a stream, and hang up when the server waits for more.

    Args:
      answers: so many messages that say that it is ready are waited for; of none, its first word.
      patience_s: how long these are waited for, as threads may be slow.
    """
    wire, channel = Wire(), Channel()
    channel.connection_made(wire)
    reception = ListenerContext(gateway, known, "demo", None, False, CancelKeys(), secrets.token_bytes(32), Limits())
    served = asyncio.ensure_future(kind(channel, reception, a_place()).serve())
    for start in range(0, len(stream), 1000):
        channel.data_received(stream[start : start + 1000])
        await asyncio.sleep(0)
    said, quiet = -1, 0
    ends = time.monotonic() + patience_s
    while not served.done() and (quiet < 1_000 or time.monotonic() < ends):
        quiet = quiet + 1 if len(wire.written) == said else 0
        said = len(wire.written)
        if quiet > 1_000 and said and wire.written.count(READY) >= answers:
            break
        await asyncio.sleep(0 if quiet < 1_000 else 0.001)
    channel.connection_lost(None)
    await asyncio.wait_for(served, 60)
    return wire


def test_a_session_survives_any_messages() -> None:
    rng = random.Random(SEED)
    for _ in range(examples(30, 2_000)):
        wrong = rng.choice((0.0, 0.02, 0.3))
        stream = startup(rng)
        for _ in range(50):
            raw = sensible(rng)
            stream += mutated(rng, raw) if rng.random() < wrong else raw
        answers = 0 if wrong else stream.count(SYNC)
        wire = asyncio.run(conversation(Opened, stream, ScriptedGateway(), answers))
        said = replies(bytes(wire.written))
        assert said[0][0] in "SEv"
        assert b"secret zebra" not in wire.written
        assert sum(kind == "Z" for kind, _ in said) >= answers


def test_nobody_gets_in_without_a_proof() -> None:
    rng = random.Random(1 + SEED)
    for _ in range(examples(30, 2_000)):
        gateway = ScriptedGateway()
        stream = startup(rng) if rng.random() < 0.8 else mutated(rng, startup(rng))
        stream += b"".join(
            mutated(rng, raw) if rng.random() < 0.3 else raw for raw in (sensible(rng) for _ in range(50))
        )
        wire = asyncio.run(conversation(Connection, stream, gateway, patience_s=0.2))  # which may bring no word
        said = replies(bytes(wire.written).lstrip(b"N"))
        assert not gateway.asked
        assert not gateway.catalog_asked
        assert all(kind in "REv" for kind, _ in said), "nothing but authentication and errors"
        assert ("R", struct.pack("!i", 0)) not in said, "AuthenticationOk"


def test_settings_that_cannot_be_are_told_before_the_end() -> None:
    body = struct.pack("!i", 196608) + b"user\0ann\0database\0demo\0client_encoding\0LATIN1\0\0"
    wire = asyncio.run(conversation(Opened, struct.pack("!i", 4 + len(body)) + body, ScriptedGateway()))
    ((kind, told),) = replies(bytes(wire.written))
    assert (kind, fields_of(told)["C"], fields_of(told)["S"]) == ("E", "0A000", "FATAL")
    assert wire.closed


def test_a_client_that_does_not_read_is_not_sent_more() -> None:
    """Half a gigabyte is asked for by one message; what the client does not take stays unsaid."""

    async def flooded() -> int:
        wire, channel = Stuffed(), Channel()
        wire.reader = channel
        channel.connection_made(wire)
        reception = ListenerContext(
            ScriptedGateway(), known, "demo", None, False, CancelKeys(), secrets.token_bytes(32), Limits()
        )
        served = asyncio.ensure_future(Opened(channel, reception, a_place()).serve())
        long = query("SET bytea_output TO '" + "a" * 1_000 + "'")
        channel.data_received(startup(random.Random(1)) + long + query("SHOW bytea_output;" * 3_000) * 20)
        for _ in range(2_000):
            await asyncio.sleep(0)
        written = len(wire.written)
        channel.connection_lost(None)
        await asyncio.wait_for(served, 60)
        return written

    assert asyncio.run(flooded()) < 1 << 18


class Stuffed(Wire):
    """A client that reads nothing: its connection is full after 64 KiB."""

    reader: Channel

    def write(self, data: bytes | bytearray | memoryview) -> None:
        super().write(data)
        if len(self.written) > 1 << 16:
            self.reader.pause_writing()


def test_a_session_ends_with_the_right_to_ask() -> None:
    """The key is changed behind a session's back; its next message is its last."""

    asked = itertools.count()

    async def changing(analyst: str) -> Verifier | None:
        return await known(analyst) if next(asked) < 2 else None

    async def ended() -> tuple[Wire, ScriptedGateway]:
        wire, channel, gateway = Wire(), Channel(), ScriptedGateway()
        channel.connection_made(wire)
        limits = Limits(trusted_s=0.0)
        reception = ListenerContext(
            gateway, changing, "demo", None, False, CancelKeys(), secrets.token_bytes(32), limits
        )
        channel.data_received(startup(random.Random(1)) + query("SELECT 1 FROM t") * 2)
        await asyncio.wait_for(Opened(channel, reception, a_place()).serve(), 60)
        return wire, gateway

    wire, gateway = asyncio.run(ended())
    assert fields_of(replies(bytes(wire.written))[-1][1])["C"] == "28P01"
    assert len(gateway.asked) == 1


def test_nobody_takes_all_places() -> None:
    sessions = FairShares(2)
    with (
        counted_session(sessions, "ann"),
        counted_session(sessions, "ann"),
        counted_session(sessions, "bob"),
        pytest.raises(WireError, match="too many sessions"),
        counted_session(sessions, "ann"),
    ):
        pass
    with counted_session(sessions, "ann"):
        pass
