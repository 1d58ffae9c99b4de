"""What a database must do to hold a ledger: atomic durable writes one after another, and reads beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

ORIGIN = bytes(32)
"""What stands for the hash before the first entry."""


@dataclass(frozen=True)
class Head:
    """The last entry: its number, its time in milliseconds since the epoch, and its hash."""

    number: int = 0
    at_ms: int = 0
    hash: bytes = ORIGIN


class Reading(Protocol):
    """One consistent view of the tables. Statements hold `?` for each value and neither `?` nor `%` otherwise.

    Attributes:
      now_ms: the store's clock, in milliseconds since the epoch; it may go backwards.
      offset_ms: by how much the ledger's time is ahead of it.
    """

    @property
    def now_ms(self) -> int:
        """The clock of the store, in milliseconds since the epoch; `offset_ms` is added to it."""
        ...

    @property
    def offset_ms(self) -> int:
        """What is added to the clock."""
        ...

    def asked(self, statement: str, *values: object) -> Callable[[], list[tuple[Any, ...]]]:
        """What returns all rows of a query, as they are now; those asked at once wait for a server once."""
        ...

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        ...

    def row(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """The first row of a query, or None."""
        ...


class Writing(Reading, Protocol):
    """One atomic write. No other write of any process runs beside it.

    Attributes:
      head: the last entry when the write began.
      retried: whether an earlier attempt may have been committed although its answer was lost.
    """

    @property
    def head(self) -> Head:
        """Where the next entry begins."""
        ...

    @property
    def retried(self) -> bool:
        """Whether the work may have been done before."""
        ...

    def run(self, statement: str, *values: object) -> None:
        """Change rows; what is wrong with it may be raised by a later statement, or by the commit."""
        ...


class Store(Protocol):
    """A database with the ledger's tables. Usable from any thread; not to be carried across a fork.

    Attributes:
      id: of the ledger.
      instance: of this open store; every reservation carries it.
      local: is it a file of this machine, in which a read waits for nobody and takes microseconds?
    """

    @property
    def id(self) -> str:
        """Which ledger this is."""
        ...

    @property
    def local(self) -> bool:
        """Is it a file of this machine?"""
        ...

    @property
    def instance(self) -> str:
        """Who has it open."""
        ...

    def write(self, work: Callable[[Writing], T]) -> T:
        """Do the work in one write, durable on return; nothing of it is left when it raises.

        The work is done again when it conflicts with another or when the connection is lost, so it must begin by
        looking for itself when it is `retried`.
        Raises: LedgerUnavailable, LedgerInvalid (a rule of the tables was broken), TooManyQueries (busy for long).
        """
        ...

    def read(self, work: Callable[[Reading], T]) -> T:
        """Do short work in one view, beside any writer. Raises as `write`."""
        ...

    def walk(self, work: Callable[[Reading], T]) -> T:
        """As `read`, for work that takes long: it holds up neither writers nor other readers."""
        ...

    def check_writable(self) -> None:
        """Whether a write would succeed now; changes nothing that is kept. Raises as `write`."""
        ...

    def is_dead(self, writing: Writing, instance: str) -> bool:
        """Whether the process that made an instance has ended, or lost its hold on the store."""
        ...

    def close(self) -> None:
        """Let go of everything; twice is once."""
        ...
