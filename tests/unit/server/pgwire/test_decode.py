"""Bytes to messages, in any pieces; what is not the protocol is refused at its header."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.pgwire import client_messages as m
from server.pgwire.client_messages import MAX_STARTUP_BYTES, Decoder
from server.pgwire.errors import ProtocolViolation

STARTUP = b"user\0ann\0database\0demo\0\0"


def first(code: int, body: bytes = b"") -> bytes:
    return struct.pack("!ii", 8 + len(body), code) + body


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", 4 + len(body)) + body


def begun(max_bytes: int = 1 << 20) -> Decoder:
    decoder = Decoder(max_bytes)
    decoder.feed(first(196608, STARTUP))
    assert isinstance(decoder.next(), m.Startup)
    decoder.authenticated()
    return decoder


SESSION = [
    (message(b"Q", b"SELECT 1\0"), m.Query("SELECT 1")),
    (message(b"P", b"s\0SELECT $1\0" + struct.pack("!hi", 1, 20)), m.Parse("s", "SELECT $1", (20,))),
    (
        message(b"B", b"p\0s\0" + struct.pack("!hhhi", 1, 1, 2, 2) + b"ab" + struct.pack("!ihh", -1, 1, 0)),
        m.Bind("p", "s", (1,), (b"ab", None), (0,)),
    ),
    (message(b"D", b"Ss\0"), m.Describe(portal=False, name="s")),
    (message(b"E", b"p\0" + struct.pack("!i", 5)), m.Execute("p", 5)),
    (message(b"C", b"Pp\0"), m.Close(portal=True, name="p")),
    (message(b"S"), m.Signal.SYNC),
    (message(b"H"), m.Signal.FLUSH),
    (message(b"X"), m.Signal.TERMINATE),
    (message(b"d", b"row"), m.Signal.COPY),
]


@given(cuts=st.lists(st.integers(1, 40), max_size=60))
def test_messages_arrive_in_any_pieces(cuts: list[int]) -> None:
    stream = b"".join(raw for raw, _ in SESSION)
    decoder = begun()
    found = []
    for size in [*cuts, len(stream)]:
        decoder.feed(stream[:size])
        stream = stream[size:]
        while (got := decoder.next()) is not None:
            found.append(got)
    assert found == [wanted for _, wanted in SESSION]
    assert decoder.waiting == 0


def test_a_startup_packet_has_its_version_and_parameters() -> None:
    decoder = Decoder(100)
    decoder.feed(first(196610, STARTUP))
    assert decoder.next() == m.Startup(2, {"user": "ann", "database": "demo"})


def test_requests_before_the_startup_message() -> None:
    decoder = Decoder(100)
    decoder.feed(first(80877103) + first(80877104) + first(80877102, struct.pack("!i", 7) + b"abcd"))
    assert decoder.next() == m.EncryptionRequest(tls=True)
    assert decoder.next() == m.EncryptionRequest(tls=False)
    assert decoder.next() == m.CancelRequest(7, b"abcd")


def test_what_is_no_beginning_is_refused() -> None:
    for raw in [
        b"GET / HTTP/1.1\r\n",
        first(131072, STARTUP),
        struct.pack("!ii", MAX_STARTUP_BYTES + 1, 196608),
        struct.pack("!ii", 4, 196608),
        first(196608, b"user\0ann"),
        first(196608, STARTUP + b"more"),
        first(80877103, b"more"),
        first(80877102, b"abc"),
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
    ]:
        decoder = Decoder(100)
        decoder.feed(raw)
        with pytest.raises(ProtocolViolation):
            decoder.next()


def test_what_is_no_message_is_refused() -> None:
    for raw in [
        message(b"!"),
        b"Q" + struct.pack("!i", 3),
        message(b"Q", b"SELECT 1"),
        message(b"Q", b"SELECT 1\0more"),
        message(b"Q", b"\xff\0"),
        message(b"P", b"s\0SELECT 1\0" + struct.pack("!h", 2)),
        message(b"P", b"s\0SELECT 1\0" + struct.pack("!h", -1)),
        message(b"B", b"p\0s\0" + struct.pack("!hhhhh", 2, 0, 0, 0, 0) + b"\0\0"),
        message(b"B", b"p\0s\0" + struct.pack("!hhhih", 1, 7, 1, -1, 0)),
        message(b"B", b"p\0s\0" + struct.pack("!hhi", 0, 1, -2)),
        message(b"D", b"Xs\0"),
        message(b"E", b"p\0\0\0"),
    ]:
        decoder = begun()
        decoder.feed(raw)
        with pytest.raises(ProtocolViolation):
            decoder.next()


def test_a_long_message_is_refused_at_its_header_and_shorter_before_it_is_known_who_asks() -> None:
    decoder = begun(max_bytes=100)
    decoder.feed(b"Q" + struct.pack("!i", 101))
    with pytest.raises(ProtocolViolation) as caught:
        decoder.next()
    assert caught.value.code == "54000"
    unknown = Decoder(1 << 20)
    unknown.feed(first(196608, STARTUP) + b"p" + struct.pack("!i", 5_000))
    unknown.next()
    with pytest.raises(ProtocolViolation):
        unknown.next()


def test_no_repr_shows_what_was_sent() -> None:
    for raw, wanted in SESSION[:3]:
        assert "SELECT" not in repr(wanted), raw
        assert "ab" not in repr(wanted), raw
