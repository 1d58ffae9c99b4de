"""A ledger in one SQLite file: the default, for one machine."""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.errors import LedgerUnavailable
from server.ledger.connection import connect, read_transaction, transaction
from server.ledger.entry_rows import head
from server.ledger.marker import Marker, sync_marker, write_marker
from server.ledger.presence import Presence
from server.ledger.store import Head, Reading, T, Writing

Clock = Callable[[], float]
"""Seconds since the epoch."""


@dataclass
class SqliteView:
    """What runs in one transaction of a connection.

    Attributes:
      connection: in a transaction.
      clock: read once, at the beginning.
      head: the last entry then.
      retried: never; a commit of SQLite has an answer.
    """

    connection: sqlite3.Connection
    clock: Clock
    retried: bool = False

    def __post_init__(self) -> None:
        self.now_ms = round(self.clock() * 1000)
        self.head: Head = head(self)

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self.connection.execute(statement, values).fetchall()

    def asked(self, statement: str, *values: object) -> Callable[[], list[tuple[Any, ...]]]:
        """The rows of a query, as they are now."""
        rows = self.rows(statement, *values)
        return lambda: rows

    def row(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """The first row of a query, or None."""
        found: tuple[Any, ...] | None = self.connection.execute(statement, values).fetchone()
        return found

    def run(self, statement: str, *values: object) -> None:
        """Change rows."""
        self.connection.execute(statement, values)


class SqliteStore:
    """A Store (see the Protocol); made by `create_ledger` or `open_ledger`.

    One connection writes, behind a lock. Each read has a connection to itself, so that a lookup of a key waits
    neither for a writer (with WAL) nor for a longer read.

    Args:
      path: an existing, checked ledger file.
      marker: the marker file beside the policy.
      clock: for the times of entries.
    """

    def __init__(self, path: Path, marker: Path, clock: Clock = time.time) -> None:
        self.instance = str(uuid.uuid4())
        self._path = path
        self._marker = marker
        self._clock = clock
        self._presence = Presence(path, self.instance)
        self._write_lock = threading.Lock()
        self._writer = connect(path)
        self._readers: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()  # those that nobody uses now
        self._closed = threading.Event()
        self.id: str = self.read(lambda view: str(view.rows("SELECT id FROM identity")[0][0]))

    @property
    def local(self) -> bool:
        """Yes."""
        return True

    def write(self, work: Callable[[Writing], T]) -> T:
        """Do the work in one write."""
        with self._write_lock, transaction(self._writer):
            return work(self._begun())

    def read(self, work: Callable[[Reading], T]) -> T:
        """Do short work in one view."""
        with self._reader() as reader, read_transaction(reader):
            return work(SqliteView(reader, self._clock))

    def walk(self, work: Callable[[Reading], T]) -> T:
        """Do long work in a view of its own."""
        with closing(connect(self._path)) as connection, read_transaction(connection):
            return work(SqliteView(connection, self._clock))

    def is_dead(self, writing: Writing, instance: str) -> bool:
        """Whether the process that made an instance has ended."""
        return self._presence.is_dead(instance)

    def close(self) -> None:
        """Write the marker, then let go of the file."""
        with self._write_lock:
            if self._closed.is_set():
                return
            self._closed.set()
            with transaction(self._writer):
                self._begun()
                sync_marker(self._marker)
            self._writer.close()
            self._close_readers()
            self._presence.close()

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """A connection that only reads, for one thread; as many are made as read at once."""
        if self._closed.is_set():
            raise LedgerUnavailable("The ledger is closed.")
        try:
            connection = self._readers.get_nowait()
        except queue.Empty:
            connection = connect(self._path)
            connection.execute("PRAGMA query_only = ON")
        try:
            yield connection
        finally:
            self._readers.put(connection)
            if self._closed.is_set():  # meanwhile
                self._close_readers()

    def _close_readers(self) -> None:
        while not self._readers.empty():
            with suppress(queue.Empty):
                self._readers.get_nowait().close()

    def _begun(self) -> SqliteView:
        """The view of a write that has begun. Everything before it is durable, and that is noted in the marker."""
        view = SqliteView(self._writer, self._clock)
        write_marker(self._marker, Marker(self.id, view.head.number, view.head.hash.hex()))
        return view
