"""What kind of statement a client sent: a question, or a utility statement, which drivers send around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Question:
    """A SELECT or EXPLAIN, for the pipeline or for the catalog.

    Attributes:
      catalog: is it for the catalog?
    """

    sql: str
    catalog: bool


@dataclass(frozen=True)
class Transaction:
    """BEGIN, COMMIT, ROLLBACK and savepoints, which have a name; they change nothing here but the session's state."""

    kind: Literal["begin", "commit", "rollback", "savepoint", "release", "rollback to"]
    tag: str
    name: str = ""


@dataclass(frozen=True)
class SetSetting:
    """SET name = value; None sets the default again. `local`: until the transaction ends."""

    name: str
    value: str | None
    local: bool = False
    tag: str = "SET"


@dataclass(frozen=True)
class ConfigCall:
    """A call of set_config or current_setting.

    Attributes:
      sets: set_config?
      arguments: as written: a text, true, false or NULL; an int n stands for `$n`.
    """

    sets: bool
    arguments: tuple[str | int | bool | None, ...]
    column: str


@dataclass(frozen=True)
class Configure:
    """A SELECT of nothing but such calls, in their order; of a setting that is not `known` it has no row."""

    calls: tuple[ConfigCall, ...]
    known: bool = True


@dataclass(frozen=True)
class BackendCall:
    """A SELECT of pg_backend_pid, pg_cancel_backend or pg_terminate_backend.

    Attributes:
      number: of the session that is to be stopped; None: `$1` holds it.
    """

    function: str
    column: str
    number: int | None = 0


@dataclass(frozen=True)
class Show:
    """`SHOW name`: the value of one setting, or of all."""

    name: str


@dataclass(frozen=True)
class Discard:
    """DISCARD ALL, or only one kind of thing."""

    what: str


@dataclass(frozen=True)
class Prepare:
    """PREPARE a question under a name; `types` are the OIDs of its parameters, as far as they are said."""

    name: str
    types: tuple[int, ...]
    question: Question


@dataclass(frozen=True)
class ExecutePrepared:
    """EXECUTE a prepared question with values, each a literal's text; None for NULL."""

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
    """COPY (SELECT ...) TO STDOUT; `options` is what follows STDOUT, not yet read."""

    question: Question
    options: str


@dataclass(frozen=True)
class Nothing:
    """A statement that has no effect here, for example UNLISTEN."""

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
