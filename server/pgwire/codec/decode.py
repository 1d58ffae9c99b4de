"""Bytes of a client to messages, as they arrive in any pieces. No I/O."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType

from server.pgwire.codec import messages as m
from server.pgwire.codec.field_reader import FieldReader
from server.pgwire.errors import ProtocolViolation

MAX_STARTUP_BYTES = 10_000
"""As PostgreSQL: nobody has to send more before it is known who they are."""

MAX_AUTHENTICATION_BYTES = 4_096
"""A step of SCRAM has a few hundred bytes."""

_PROTOCOL_MAJOR = 3
_CANCEL, _TLS, _GSS = 80877102, 80877103, 80877104
_MAX_SECRET = 256


class Decoder:
    """A connection's bytes, cut into messages.

    The first messages have no type byte: `begin` says when the session has begun.

    Args:
      max_bytes: the longest message of a session.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._limit = MAX_AUTHENTICATION_BYTES
        self._buffer = bytearray()
        self._started = False

    @property
    def waiting(self) -> int:
        """How many bytes have arrived that are not yet a message."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Take in bytes as they arrive, whole messages or not."""
        self._buffer += data

    def authenticated(self) -> None:
        """From here on messages may be as long as `max_bytes`."""
        self._limit = self._max_bytes

    def next(self) -> m.ClientMessage | None:
        """The next whole message, or None.

        Raises: ProtocolViolation as soon as a header shows it, before the body is waited for.
        """
        return self._session_message() if self._started else self._first_message()

    def _first_message(self) -> m.ClientMessage | None:
        if len(self._buffer) < 4:
            return None
        (length,) = struct.unpack_from("!i", self._buffer)
        if not 8 <= length <= MAX_STARTUP_BYTES:
            raise ProtocolViolation("this is no startup message of PostgreSQL's protocol")
        body = self._body(0, length)
        return None if body is None else self._startup(FieldReader(body))

    def _startup(self, fields: FieldReader) -> m.ClientMessage:
        code = fields.int32()
        if code in (_TLS, _GSS):
            fields.end()
            return m.EncryptionRequest(tls=code == _TLS)
        if code == _CANCEL:
            process, secret = fields.int32(), fields.rest()
            if not 4 <= len(secret) <= _MAX_SECRET:
                raise ProtocolViolation("a cancel key is between 4 and 256 bytes long")
            return m.CancelRequest(process, secret)
        major, minor = code >> 16, code & 0xFFFF
        if major != _PROTOCOL_MAJOR:
            raise ProtocolViolation(f"protocol {major}.{minor} is not spoken here; 3.0 is", code="0A000")
        self._started = True
        return m.Startup(major, minor, MappingProxyType(_parameters(fields)))

    def _session_message(self) -> m.ClientMessage | None:
        if not self._buffer:
            return None
        read = _READERS.get(self._buffer[0])
        if read is None:
            raise ProtocolViolation("a message of a type that the protocol does not have")
        if len(self._buffer) < 5:
            return None
        (length,) = struct.unpack_from("!i", self._buffer, 1)
        if length < 4:
            raise ProtocolViolation("a message shorter than its own length")
        if length > self._limit:
            raise ProtocolViolation(f"a message is longer than {self._limit} bytes", code="54000")
        body = self._body(1, length)
        if body is None:
            return None
        fields = FieldReader(body)
        message = read(fields)
        fields.end()
        return message

    def _body(self, start: int, length: int) -> bytes | None:
        """Take a message whose length field, which counts itself, stands at `start`."""
        if len(self._buffer) < start + length:
            return None
        body = bytes(self._buffer[start + 4 : start + length])
        del self._buffer[: start + length]
        return body


def _parameters(fields: FieldReader) -> dict[str, str]:
    parameters: dict[str, str] = {}
    while name := fields.text():
        parameters[name] = fields.text()
    fields.end()
    return parameters


def _parse(fields: FieldReader) -> m.Parse:
    name, sql = fields.text(), fields.text()
    return m.Parse(name, sql, tuple(fields.int32() & 0xFFFFFFFF for _ in range(fields.count())))


def _bind(fields: FieldReader) -> m.Bind:
    portal, statement = fields.text(), fields.text()
    formats = _formats(fields)
    values = tuple(fields.value() for _ in range(fields.count()))
    if len(formats) not in (0, 1, len(values)):
        raise ProtocolViolation("Bind has neither one format for all values nor one for each")
    return m.Bind(portal, statement, formats, values, _formats(fields))


def _formats(fields: FieldReader) -> tuple[int, ...]:
    formats = tuple(fields.int16() for _ in range(fields.count()))
    if any(code not in (0, 1) for code in formats):
        raise ProtocolViolation("a format is 0, text, or 1, binary", code="22023")
    return formats


def _target(fields: FieldReader) -> tuple[bool, str]:
    kind = fields.byte()
    if kind not in b"SP":
        raise ProtocolViolation("neither a statement nor a portal is named")
    return kind == ord("P"), fields.text()


def _skipped(message: m.ClientMessage) -> Callable[[FieldReader], m.ClientMessage]:
    """A message whose fields do not matter."""

    def read(fields: FieldReader) -> m.ClientMessage:
        fields.rest()
        return message

    return read


_READERS: Mapping[int, Callable[[FieldReader], m.ClientMessage]] = MappingProxyType(
    {
        ord("Q"): lambda fields: m.Query(fields.text()),
        ord("P"): _parse,
        ord("B"): _bind,
        ord("D"): lambda fields: m.Describe(*_target(fields)),
        ord("E"): lambda fields: m.Execute(fields.text(), fields.int32()),
        ord("C"): lambda fields: m.Close(*_target(fields)),
        ord("S"): lambda fields: m.Sync(),
        ord("H"): lambda fields: m.Flush(),
        ord("X"): lambda fields: m.Terminate(),
        ord("p"): lambda fields: m.Authentication(fields.rest()),
        ord("F"): _skipped(m.FunctionCall()),
        ord("d"): _skipped(m.CopyMessage()),
        ord("c"): _skipped(m.CopyMessage()),
        ord("f"): _skipped(m.CopyMessage()),
    }
)
