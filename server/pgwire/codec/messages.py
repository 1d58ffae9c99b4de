"""What a client sends. Source: PostgreSQL documentation, "Message Formats"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


class ClientMessage:
    """Base of all messages of a client. None has a repr that could show a password or a value."""


@dataclass(frozen=True)
class EncryptionRequest(ClientMessage):
    """SSLRequest (`tls`) or GSSENCRequest: the client asks before it says anything else."""

    tls: bool


@dataclass(frozen=True)
class CancelRequest(ClientMessage):
    """Cancel what another session is doing; on a connection of its own.

    Attributes:
      process: the number that the session was given.
      secret: what only its client knows.
    """

    process: int
    secret: bytes = field(repr=False)


@dataclass(frozen=True)
class Startup(ClientMessage):
    """The first message of a session.

    Attributes:
      major, minor: of the protocol that the client speaks.
      parameters: `user`, `database`, `application_name`, ...
    """

    major: int
    minor: int
    parameters: Mapping[str, str]


@dataclass(frozen=True)
class Authentication(ClientMessage):
    """A step of the client's in SASL, not yet taken apart: which step it is only the session knows."""

    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Query(ClientMessage):
    """Statements to run at once, with `;` between them."""

    sql: str = field(repr=False)


@dataclass(frozen=True)
class Parse(ClientMessage):
    """Prepare one statement.

    Attributes:
      name: empty for the unnamed statement.
      sql: the statement.
      types: OIDs of the first parameters; 0 where the server shall tell.
    """

    name: str
    sql: str = field(repr=False)
    types: tuple[int, ...]


@dataclass(frozen=True)
class Bind(ClientMessage):
    """Give a prepared statement its values.

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
class Describe(ClientMessage):
    """Ask for the parameters and columns of a statement, or the columns of a portal."""

    portal: bool
    name: str


@dataclass(frozen=True)
class Execute(ClientMessage):
    """Send rows of a portal; 0 means all."""

    portal: str
    max_rows: int


@dataclass(frozen=True)
class Close(ClientMessage):
    """Forget a statement or a portal."""

    portal: bool
    name: str


@dataclass(frozen=True)
class Sync(ClientMessage):
    """The end of a batch: after an error nothing is read up to here."""


@dataclass(frozen=True)
class Flush(ClientMessage):
    """Send what is waiting."""


@dataclass(frozen=True)
class Terminate(ClientMessage):
    """Terminate: the client ends the session."""


@dataclass(frozen=True)
class CopyMessage(ClientMessage):
    """Rows that a client wants to write, or their end; nothing is written here."""


@dataclass(frozen=True)
class FunctionCall(ClientMessage):
    """The old way to call a function by its OID; none is called."""
