"""What a client is told when its connection ends before its session begins."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import closing
from types import SimpleNamespace
from typing import Any, cast

import pytest

from server.errors import TooManyQueries
from server.pgwire.connection import CancelKeys, Connection, Limits, Listener, ListenerContext
from server.pgwire.scram import Verifier, unknown_verifier
from server.startup.serve import wire_listener
from tests.property.test_wire_fuzz import Opened, conversation, known
from tests.support.scripted_gateway import ScriptedGateway
from tests.support.wire_client import fields_of, message, replies


def startup(**parameters: str) -> bytes:
    every = {"user": "ann", "database": "demo", **parameters}
    body = (
        struct.pack("!i", 196608) + b"".join(f"{name}\0{value}\0".encode() for name, value in every.items()) + b"\0"
    )
    return struct.pack("!i", 4 + len(body)) + body


def refusal(kind: type[Connection], stream: bytes) -> dict[str, str]:
    wire = asyncio.run(conversation(kind, stream, ScriptedGateway()))
    found = fields_of([body for kind, body in replies(bytes(wire.written)) if kind == "E"][-1])
    assert found["S"] == "FATAL"
    return found


def test_a_setting_that_cannot_be() -> None:
    cases: list[tuple[dict[str, str], str]] = [
        ({"client_encoding": "latin1"}, "0A000"),
        ({"options": "-c noisegate.epsilon=0"}, "22023"),
        ({"options": "--verbose"}, "42601"),
    ]
    for parameters, code in cases:
        assert refusal(Opened, startup(**parameters))["C"] == code, parameters


def test_nobody_can_be_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def busy(analyst: str) -> Verifier | None:
        raise TooManyQueries("Too many requests are waiting already.")

    monkeypatch.setattr("tests.property.test_wire_fuzz.known", busy)
    first = b"n,,n=,r=abcdefghijkl"
    proof = message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first)
    assert refusal(Connection, startup() + proof)["C"] == "53300"


def test_encryption_is_asked_for_twice_at_most() -> None:
    ask = struct.pack("!ii", 8, 80877103)
    wire = asyncio.run(conversation(Connection, ask * 100_000, ScriptedGateway()))
    assert bytes(wire.written).startswith(b"NNE")
    assert fields_of(replies(bytes(wire.written)[2:])[0][1])["C"] == "08P01"


@pytest.mark.slow
def test_who_has_not_said_who_it_is_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one place: the first one's, unless it is taken for good."""
    kinds: list[type[Connection]] = [Connection, Opened]
    for kind in kinds:
        for hello in [startup(), b"\0", b""]:
            _who_has_not_said_who_it_is_makes_room(monkeypatch, kind, hello)


def _who_has_not_said_who_it_is_makes_room(
    monkeypatch: pytest.MonkeyPatch, kind: type[Connection], hello: bytes
) -> None:
    monkeypatch.setattr("server.pgwire.connection.Connection", kind)
    stays = kind is Opened and hello == startup()

    async def two() -> list[bool]:
        limits = Limits(connections=1)
        listener = Listener(
            ListenerContext(ScriptedGateway(), known, "demo", None, False, CancelKeys(), b"secret", limits)
        )
        with closing(socket.create_server(("127.0.0.1", 0))) as listening:
            await listener.start(listening)
            first = await asyncio.open_connection("127.0.0.1", listening.getsockname()[1])
            first[1].write(hello)
            await asyncio.sleep(0.05)
            second = await asyncio.open_connection("127.0.0.1", listening.getsockname()[1])
            second[1].write(b"" if stays else startup())
            await asyncio.sleep(0.05)
            keeping = first if stays else second
            read = [one[0].read(1 << 16 if one is keeping else -1) for one in (first, second)]
            said = [await asyncio.wait_for(one, 60) for one in read]
            await listener.stop()
        for _, writer in (first, second):
            writer.close()
        return ["E" in [kind for kind, _ in replies(one)] for one in said]

    assert asyncio.run(two()) == [not stays, stays]


def test_who_does_not_exist_has_the_same_salt_after_a_restart() -> None:
    def listener(ledger_id: str) -> Listener:
        services = SimpleNamespace(
            app=SimpleNamespace(
                state=SimpleNamespace(
                    services=SimpleNamespace(admission=None, reads=None, explanations=None, outgoing=None)
                )
            ),
            pipeline=SimpleNamespace(current=SimpleNamespace(policy=SimpleNamespace(name="demo"))),
            ledger=SimpleNamespace(id=ledger_id),
        )
        return wire_listener(cast(Any, services), None, None, plain_text=False)

    salts = [unknown_verifier("eve", listener(id_)._reception.secret).salt for id_ in ("one", "one", "another")]
    assert salts[0] == salts[1] != salts[2]
