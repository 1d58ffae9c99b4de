"""What kind of statement a client sent: a question, or the chatter of drivers around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Question:
    """A SELECT or EXPLAIN, for the pipeline or for the catalog.

    Attributes:
      sql: one statement.
      start: 0-based offset of it in the client's text.
      catalog: is it for the catalog?
    """

    sql: str
    start: int
    catalog: bool


@dataclass(frozen=True)
class Transaction:
    """BEGIN, COMMIT, ROLLBACK and savepoints, which change nothing here but the session's state."""

    kind: Literal["begin", "commit", "rollback", "savepoint", "release", "rollback to"]
    tag: str


@dataclass(frozen=True)
class SetSetting:
    """SET name = value; None sets the default again. `local`: until the transaction ends."""

    name: str
    value: str | None
    local: bool = False
    tag: str = "SET"


@dataclass(frozen=True)
class Show:
    """SHOW name."""

    name: str


@dataclass(frozen=True)
class Discard:
    """DISCARD ALL, or only one kind of thing."""

    what: str


@dataclass(frozen=True)
class Deallocate:
    """DEALLOCATE a prepared statement; None: all."""

    name: str | None


@dataclass(frozen=True)
class Declare:
    """DECLARE a cursor for a question."""

    name: str
    question: Question
    hold: bool


@dataclass(frozen=True)
class Fetch:
    """FETCH rows of a cursor, forwards; None: all. MOVE skips them."""

    name: str
    count: int | None
    move: bool = False


@dataclass(frozen=True)
class CloseCursor:
    """CLOSE a cursor; None: all."""

    name: str | None


@dataclass(frozen=True)
class Copy:
    """COPY (SELECT ...) TO STDOUT; `options` is what follows STDOUT, not yet read."""

    question: Question
    options: str


@dataclass(frozen=True)
class Nothing:
    """A statement that has no effect here, for example UNLISTEN."""

    tag: str


Command = (
    Question | Transaction | SetSetting | Show | Discard | Deallocate | Declare | Fetch | CloseCursor | Copy | Nothing
)
