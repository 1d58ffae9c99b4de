"""What a client is told when its connection ends before its session begins."""

from __future__ import annotations

import asyncio
import struct

import pytest

from server.errors import TooManyQueries
from server.pgwire.connection import Connection
from server.pgwire.scram import Verifier
from tests.property.test_wire_fuzz import Doors, Opened, conversation
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
