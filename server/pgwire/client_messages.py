"""Decode client messages from a stream of bytes. Source: PostgreSQL documentation, "Message Formats".

No I/O. A field that is missing, too long or not text is a protocol violation.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from server.pgwire.errors import ProtocolViolation


@dataclass(frozen=True)
class EncryptionRequest:
    """SSLRequest (`tls`) or GSSENCRequest, before any other message."""

    tls: bool


@dataclass(frozen=True)
class CancelRequest:
    """Cancel another session's statement, on a separate connection.

    Attributes:
      process: the session's number.
      secret: known to its client only.
    """

    process: int
    secret: bytes = field(repr=False)


@dataclass(frozen=True)
class Startup:
    """The first message of a session.

    Attributes:
      minor: the client's minor version of protocol 3.
      parameters: `user`, `database`, `application_name`, ...
    """

    minor: int
    parameters: Mapping[str, str]


@dataclass(frozen=True)
class Authentication:
    """A client message of SASL, not yet decoded, because its meaning depends on the step."""

    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Query:
    """Statements separated by `;`, to run at once."""

    sql: str = field(repr=False)


@dataclass(frozen=True)
class Parse:
    """Prepare one statement.

    Attributes:
      name: empty for the unnamed statement.
      types: OIDs of the first parameters; 0 for the server to choose.
    """

    name: str
    sql: str = field(repr=False)
    types: tuple[int, ...]


@dataclass(frozen=True)
class Bind:
    """Bind values to a prepared statement.

    Attributes:
      portal, statement: names, empty for the unnamed.
      formats: of the values: none (all text), one for all, or one each; 0 text, 1 binary.
      values: as sent; None for NULL.
      result_formats: of the columns, likewise.
    """

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...] = field(repr=False)
    result_formats: tuple[int, ...]


@dataclass(frozen=True)
class Describe:
    """Describe the parameters and columns of a statement, or the columns of a portal."""

    portal: bool
    name: str


@dataclass(frozen=True)
class Execute:
    """Send rows of a portal; 0 means all."""

    portal: str
    max_rows: int


@dataclass(frozen=True)
class Close:
    """Close a statement or a portal."""

    portal: bool
    name: str


class Signal(Enum):
    """Messages without fields that matter."""

    SYNC = 1  # the end of a batch; after an error, messages are skipped up to here
    FLUSH = 2  # send what is waiting
    TERMINATE = 3
    COPY = 4  # rows of COPY FROM, or their end; nothing is written here
    FUNCTION_CALL = 5  # a function call by OID, which is not supported


ClientMessage = (
    EncryptionRequest
    | CancelRequest
    | Startup
    | Authentication
    | Query
    | Parse
    | Bind
    | Describe
    | Execute
    | Close
    | Signal
)
"""No message shows a password or a value in its repr."""


class FieldReader:
    """Reads the fields of one message."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._place = 0

    def byte(self) -> int:
        """An unsigned byte. Raises: ProtocolViolation at the end of the message."""
        return self.raw(1)[0]

    def int16(self) -> int:
        """A signed number of two bytes."""
        return int(struct.unpack("!h", self.raw(2))[0])

    def int32(self) -> int:
        """A signed number of four bytes."""
        return int(struct.unpack("!i", self.raw(4))[0])

    def count(self) -> int:
        """A number of fields: two bytes, not negative. Raises: ProtocolViolation."""
        count = self.int16()
        if count < 0:
            raise ProtocolViolation("a message announces a negative number of fields")
        return count

    def text(self) -> str:
        """UTF-8 up to a zero byte. Raises: ProtocolViolation."""
        end = self._body.find(b"\0", self._place)
        if end < 0:
            raise ProtocolViolation("a text of a message does not end")
        raw = self._body[self._place : end]
        self._place = end + 1
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise ProtocolViolation("a text of a message is not UTF-8", code="22021") from None

    def value(self) -> bytes | None:
        """A length of four bytes and as many bytes; -1 is NULL."""
        length = self.int32()
        if length == -1:
            return None
        return self.raw(length)

    def raw(self, length: int) -> bytes:
        """The next `length` bytes. Raises: ProtocolViolation at the end of the message."""
        if not 0 <= length <= len(self._body) - self._place:
            raise ProtocolViolation("a message is shorter than its fields")
        raw = self._body[self._place : self._place + length]
        self._place += length
        return raw

    def rest(self) -> bytes:
        """The rest of the message."""
        return self.raw(len(self._body) - self._place)

    def end(self) -> None:
        """Check that no bytes are left. Raises: ProtocolViolation."""
        if self._place != len(self._body):
            raise ProtocolViolation("a message is longer than its fields")


MAX_STARTUP_BYTES = 10_000
"""The limit before authentication, as in PostgreSQL."""

MAX_AUTHENTICATION_BYTES = 4_096
"""The limit of one SCRAM message, which has a few hundred bytes."""

_PROTOCOL_MAJOR = 3
_CANCEL, _TLS, _GSS = 80877102, 80877103, 80877104
_MAX_SECRET = 256


class Decoder:
    """Splits a connection's bytes into messages. The first messages have no type byte."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._limit = MAX_AUTHENTICATION_BYTES
        self._buffer = bytearray()
        self._started = False

    @property
    def waiting(self) -> int:
        """The number of bytes that form no whole message yet."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self._buffer += data

    def authenticated(self) -> None:
        """Allow messages of `max_bytes` from here on."""
        self._limit = self._max_bytes

    def next(self) -> ClientMessage | None:
        """The next whole message, or None.

        Raises: ProtocolViolation as soon as a header is invalid, before its body arrives.
        """
        return self._session_message() if self._started else self._first_message()

    def _first_message(self) -> ClientMessage | None:
        if len(self._buffer) < 4:
            return None
        (length,) = struct.unpack_from("!i", self._buffer)
        if not 8 <= length <= MAX_STARTUP_BYTES:
            raise ProtocolViolation("this is not a PostgreSQL startup message")
        body = self._body(0, length)
        return None if body is None else self._startup(FieldReader(body))

    def _startup(self, fields: FieldReader) -> ClientMessage:
        code = fields.int32()
        if code in (_TLS, _GSS):
            fields.end()
            return EncryptionRequest(tls=code == _TLS)
        if code == _CANCEL:
            process, secret = fields.int32(), fields.rest()
            if not 4 <= len(secret) <= _MAX_SECRET:
                raise ProtocolViolation("a cancel key is between 4 and 256 bytes long")
            return CancelRequest(process, secret)
        major, minor = code >> 16, code & 0xFFFF
        if major != _PROTOCOL_MAJOR:
            raise ProtocolViolation(f"protocol {major}.{minor} is not supported; use 3.0", code="0A000")
        self._started = True
        return Startup(minor, MappingProxyType(_parameters(fields)))

    def _session_message(self) -> ClientMessage | None:
        if not self._buffer:
            return None
        read = _READERS.get(self._buffer[0])
        if read is None:
            raise ProtocolViolation("unknown message type")
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
        """Take a message. Its length field at `start` includes itself."""
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


def _parse(fields: FieldReader) -> Parse:
    name, sql = fields.text(), fields.text()
    return Parse(name, sql, tuple(fields.int32() & 0xFFFFFFFF for _ in range(fields.count())))


def _bind(fields: FieldReader) -> Bind:
    portal, statement = fields.text(), fields.text()
    formats = _formats(fields)
    values = tuple(fields.value() for _ in range(fields.count()))
    if len(formats) not in (0, 1, len(values)):
        raise ProtocolViolation("Bind has neither one format for all values nor one for each")
    return Bind(portal, statement, formats, values, _formats(fields))


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


def _skipped(signal: Signal) -> Callable[[FieldReader], ClientMessage]:
    """A reader of a message whose fields do not matter."""

    def read(fields: FieldReader) -> ClientMessage:
        fields.rest()
        return signal

    return read


_READERS: Mapping[int, Callable[[FieldReader], ClientMessage]] = MappingProxyType(
    {
        ord("Q"): lambda fields: Query(fields.text()),
        ord("P"): _parse,
        ord("B"): _bind,
        ord("D"): lambda fields: Describe(*_target(fields)),
        ord("E"): lambda fields: Execute(fields.text(), fields.int32()),
        ord("C"): lambda fields: Close(*_target(fields)),
        ord("S"): lambda fields: Signal.SYNC,
        ord("H"): lambda fields: Signal.FLUSH,
        ord("X"): lambda fields: Signal.TERMINATE,
        ord("p"): lambda fields: Authentication(fields.rest()),
        ord("F"): _skipped(Signal.FUNCTION_CALL),
        ord("d"): _skipped(Signal.COPY),
        ord("c"): _skipped(Signal.COPY),
        ord("f"): _skipped(Signal.COPY),
    }
)
