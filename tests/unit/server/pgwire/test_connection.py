"""What a client is told when its connection ends before its session begins."""

from __future__ import annotations

import asyncio
import struct
from types import SimpleNamespace
from typing import Any, cast

import pytest

from server.errors import TooManyQueries
from server.pgwire.cancel_keys import CancelKeys
from server.pgwire.channel import Channel
from server.pgwire.connection import Connection, Limits, Reception
from server.pgwire.listener import Listener
from server.pgwire.scram import Verifier, unknown_verifier
from server.serving import wire_listener
from tests.property.test_wire_fuzz import Doors, Opened, Wire, conversation
from tests.support.wire_client import fields_of, message, replies
from tests.support.wire_desk import WireDesk


def startup(**parameters: str) -> bytes:
    every = {"user": "ann", "database": "demo", **parameters}
    body = (
        struct.pack("!i", 196608) + b"".join(f"{name}\0{value}\0".encode() for name, value in every.items()) + b"\0"
    )
    return struct.pack("!i", 4 + len(body)) + body


def refusal(kind: type[Connection], stream: bytes) -> dict[str, str]:
    wire = asyncio.run(conversation(kind, stream, WireDesk()))
    found = fields_of([body for kind, body in replies(bytes(wire.written)) if kind == "E"][-1])
    assert found["S"] == "FATAL"
    return found


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"client_encoding": "latin1"}, "0A000"),
        ({"options": "-c noisegate.epsilon=0"}, "22023"),
        ({"options": "--verbose"}, "42601"),
    ],
)
def test_a_setting_that_cannot_be(parameters: dict[str, str], code: str) -> None:
    assert refusal(Opened, startup(**parameters))["C"] == code


def test_nobody_can_be_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def busy(self: Doors, analyst: str) -> Verifier | None:
        raise TooManyQueries("Too many requests are waiting already.")

    monkeypatch.setattr(Doors, "verifier", busy)
    first = b"n,,n=,r=abcdefghijkl"
    proof = message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first)
    assert refusal(Connection, startup() + proof)["C"] == "53300"


def test_encryption_is_asked_for_twice_at_most() -> None:
    ask = struct.pack("!ii", 8, 80877103)
    wire = asyncio.run(conversation(Connection, ask * 100_000, WireDesk()))
    assert bytes(wire.written).startswith(b"NNE")
    assert fields_of(replies(bytes(wire.written)[2:])[0][1])["C"] == "08P01"


@pytest.mark.parametrize(("kind", "told"), [(Connection, ["E", ""]), (Opened, ["Z", "E"])])
def test_who_has_not_said_who_it_is_makes_room(
    kind: type[Connection], told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one place: the first one's, unless it is taken for good."""
    monkeypatch.setattr("server.pgwire.listener.Connection", kind)

    async def two() -> list[str]:
        limits = Limits(connections=1)
        listener = Listener(Reception(WireDesk(), Doors(), "demo", None, False, CancelKeys(), b"secret", limits))
        wires = []
        for hello in (startup() if kind is Opened else b"", b""):
            wires.append(Wire())
            channel = Channel()
            channel.connection_made(wires[-1])
            listener.greet(channel)
            channel.data_received(hello)
            for _ in range(20):
                await asyncio.sleep(0)
        said = ["".join(kind for kind, _ in replies(bytes(wire.written)))[-1:] for wire in wires]
        assert [wire.closed for wire in wires] == [one == "E" for one in told]
        await listener.stop()
        return said

    assert asyncio.run(two()) == told


def test_who_does_not_exist_has_the_same_salt_after_a_restart() -> None:
    def listener(ledger_id: str) -> Listener:
        services = SimpleNamespace(
            app=SimpleNamespace(
                state=SimpleNamespace(services=SimpleNamespace(asking=None, reads=None, explanations=None))
            ),
            pipeline=SimpleNamespace(current=SimpleNamespace(policy=SimpleNamespace(name="demo"))),
            ledger=SimpleNamespace(id=ledger_id),
        )
        return wire_listener(cast(Any, services), None, None, plain_text=False)

    salts = [unknown_verifier("eve", listener(id_)._reception.secret).salt for id_ in ("one", "one", "another")]
    assert salts[0] == salts[1] != salts[2]
