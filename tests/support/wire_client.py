"""The client's side of the wire protocol, as bytes: messages to send, and what came back, taken apart."""

from __future__ import annotations

import struct


def message(kind: bytes, body: bytes = b"") -> bytes:
    """One message."""
    return kind + struct.pack("!i", 4 + len(body)) + body


def query(sql: str) -> bytes:
    """A simple query."""
    return message(b"Q", sql.encode() + b"\0")


def parse(sql: str, name: str = "") -> bytes:
    """Prepare."""
    return message(b"P", f"{name}\0{sql}\0".encode() + struct.pack("!h", 0))


def bind(
    values: tuple[bytes | None, ...] = (), portal: str = "", statement: str = "", result_format: int = 0
) -> bytes:
    """Bind values in text."""
    body = f"{portal}\0{statement}\0".encode() + struct.pack("!hh", 0, len(values))
    for value in values:
        body += struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
    return message(b"B", body + struct.pack("!hh", 1, result_format))


def describe(name: str = "", *, portal: bool = True) -> bytes:
    """Describe."""
    return message(b"D", (b"P" if portal else b"S") + name.encode() + b"\0")


def execute(portal: str = "", rows: int = 0) -> bytes:
    """Execute."""
    return message(b"E", portal.encode() + b"\0" + struct.pack("!i", rows))


SYNC = message(b"S")


def replies(data: bytes) -> list[tuple[str, bytes]]:
    """Type and body of every message of the server, which must come out even."""
    found = []
    place = 0
    while place < len(data):
        (length,) = struct.unpack_from("!i", data, place + 1)
        assert place + 1 + length <= len(data), "a reply is cut off"
        found.append((chr(data[place]), data[place + 5 : place + 1 + length]))
        place += 1 + length
    return found


def fields_of(body: bytes) -> dict[str, str]:
    """The fields of an ErrorResponse or NoticeResponse."""
    return {part[:1].decode(): part[1:].decode() for part in body.split(b"\0") if part}


def cells_of(body: bytes) -> list[bytes | None]:
    """The cells of a DataRow."""
    (count,) = struct.unpack_from("!h", body)
    cells: list[bytes | None] = []
    place = 2
    for _ in range(count):
        (length,) = struct.unpack_from("!i", body, place)
        place += 4
        cells.append(None if length < 0 else body[place : place + length])
        place += max(0, length)
    return cells
