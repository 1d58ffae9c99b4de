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

from server.errors import LedgerUnavailable, ServerError
from server.ledger.integrity.disk_space import check_room
from server.ledger.integrity.high_water_mark import HighWaterMark, sync_marker, write_marker
from server.ledger.sqlite.connection import connect, read_transaction, shrink_log, transaction
from server.ledger.sqlite.process_lock import ProcessLock
from server.ledger.store import Head, Reading, T, Writing
from server.ledger.tables.entry_rows import head
from server.ledger.tables.schema import CLOCK
from server.ledger.writes.ledger_clock import Steady, offset_in

Clock = Callable[[], float]
"""Seconds since the epoch."""


@dataclass
class SqliteView:
    """What runs in one transaction of a connection.

    Attributes:
      connection: in a transaction.
      clock: read once, at the beginning.
      steady: keeps it from running ahead.
      head: the last entry then.
      retried: never; a commit of SQLite has an answer.
    """

    connection: sqlite3.Connection
    clock: Clock
    retried: bool = False
    steady: Callable[[int], int] = int

    def __post_init__(self) -> None:
        self.now_ms = self.steady(round(self.clock() * 1000))
        self.head: Head = head(self)
        self._offset_ms: int | None = None

    @property
    def offset_ms(self) -> int:
        """What is added to the clock; read once."""
        if self._offset_ms is None:
            row = self.row(CLOCK)
            self._offset_ms = offset_in(None if row is None else row[0])
        return self._offset_ms

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
        """Execute a statement that changes rows, within the write under way; `?` stand for the values."""
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
        self._log = path.with_name(f"{path.name}-wal")
        self._marker = marker
        self._clock = clock
        self._steady: Callable[[int], int] = Steady() if clock is time.time else int
        self._process_lock = ProcessLock(path, self.instance)
        self._write_lock = threading.Lock()
        self._writer = connect(path)
        self._readers: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()  # those that nobody uses now
        self._closed = threading.Event()
        self.id: str = self.read(lambda view: str(view.rows("SELECT id FROM identity")[0][0]))

    @property
    def local(self) -> bool:
        """Whether the store is a file of this machine: it is, so reads need no thread of their own."""
        return True

    def write(self, work: Callable[[Writing], T]) -> T:
        """Do the work in one write."""
        with self._write_lock:
            with transaction(self._writer):
                done = work(self._begun())
            with suppress(ServerError):  # the write is durable; what is left of its log takes room, and harms nobody
                shrink_log(self._writer, self._log)
            return done

    def read(self, work: Callable[[Reading], T]) -> T:
        """Do short work in one view."""
        with self._reader() as reader, read_transaction(reader):
            return work(SqliteView(reader, self._clock, steady=self._steady))

    def walk(self, work: Callable[[Reading], T]) -> T:
        """Do long work in a view of its own."""
        with closing(connect(self._path)) as connection, read_transaction(connection):
            return work(SqliteView(connection, self._clock, steady=self._steady))

    def check_writable(self) -> None:
        """Whether the files can be written, and the disk has room."""
        with self._write_lock, transaction(self._writer):
            self._begun()
            # SQLite says that it is read-only at the first statement that could write, and not before.
            self._writer.execute("UPDATE accounts SET spent = spent WHERE name IS NULL")
        check_room(self._path.parent)

    def is_dead(self, writing: Writing, instance: str) -> bool:
        """Whether the process that made an instance has ended."""
        return self._process_lock.is_dead(instance)

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
            self._process_lock.close()

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
        view = SqliteView(self._writer, self._clock, steady=self._steady)
        write_marker(self._marker, HighWaterMark(self.id, view.head.number, view.head.hash.hex()))
        return view
