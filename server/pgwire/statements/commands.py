"""The commands of a session: questions and utility statements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Question:
    """A SELECT or EXPLAIN.

    Attributes:
      catalog: ask the catalog rather than the pipeline.
    """

    sql: str
    catalog: bool


@dataclass(frozen=True)
class Transaction:
    """BEGIN, COMMIT, ROLLBACK and savepoints (with a name). They change only the session's state."""

    kind: Literal["begin", "commit", "rollback", "savepoint", "release", "rollback to"]
    tag: str
    name: str = ""


@dataclass(frozen=True)
class SetSetting:
    """SET name = value; None resets it. `local`: until the transaction ends."""

    name: str
    value: str | None
    local: bool = False
    tag: str = "SET"


@dataclass(frozen=True)
class ConfigCall:
    """A call of set_config or current_setting.

    Attributes:
      sets: True for set_config.
      arguments: a text, a boolean or NULL; an int n stands for `$n`.
    """

    sets: bool
    arguments: tuple[str | int | bool | None, ...]
    column: str


@dataclass(frozen=True)
class Configure:
    """A SELECT of calls of set_config and current_setting only. It returns no row if the setting is not `known`."""

    calls: tuple[ConfigCall, ...]
    known: bool = True


@dataclass(frozen=True)
class BackendCall:
    """A SELECT of pg_backend_pid, pg_cancel_backend or pg_terminate_backend.

    Attributes:
      number: of the session to stop; None: the value of `$1`.
    """

    function: str
    column: str
    number: int | None = 0


@dataclass(frozen=True)
class Show:
    """`SHOW name`: one setting, or all."""

    name: str


@dataclass(frozen=True)
class Discard:
    """DISCARD ALL, or one kind of object."""

    what: str


@dataclass(frozen=True)
class Prepare:
    """PREPARE a question under a name, with the given parameter types."""

    name: str
    types: tuple[int, ...]
    question: Question


@dataclass(frozen=True)
class ExecutePrepared:
    """EXECUTE a prepared question with literals as texts; None for NULL."""

    name: str
    values: tuple[bytes | None, ...] = field(default=(), repr=False)


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
    """COPY (SELECT ...) TO STDOUT, or of a table. `options` is the text after STDOUT, which is not parsed yet."""

    question: Question
    options: str


@dataclass(frozen=True)
class Nothing:
    """A statement without effect here, such as UNLISTEN."""

    tag: str


Command = (
    Question
    | Transaction
    | SetSetting
    | Configure
    | BackendCall
    | Show
    | Discard
    | Prepare
    | ExecutePrepared
    | Deallocate
    | Declare
    | Fetch
    | CloseCursor
    | Copy
    | Nothing
)
