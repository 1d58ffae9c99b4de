"""A ledger in PostgreSQL, which several proxies share."""

from __future__ import annotations

import hashlib
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from server.errors import LedgerInvalid, LedgerUnavailable, LedgerUncertain, TooManyQueries
from server.ledger.integrity.high_water_mark import HighWaterMark, sync_marker, write_marker
from server.ledger.postgres.connection import (
    Clock,
    Conflict,
    ConnectionLost,
    connect,
    read_transaction,
    translated,
    write_transaction,
)
from server.ledger.store import Head, Reading, T, Writing
from server.ledger.tables.entry_rows import hash_of
from server.ledger.writes.ledger_clock import Steady

_PAUSES_S = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Before each further attempt: a server that starts again has three seconds."""

_LOST_MEANWHILE = "The ledger's database was lost while it was written."


class PostgresStore:
    """A Store (see the Protocol); made by `create_postgres_ledger` or `open_postgres_ledger`.

    One connection writes and one reads, each behind its lock, and each is made anew when it is lost. While one of
    them lives the server knows that this process does: that is the lease of its reservations. A proxy that was cut
    off from the server and taken for dead finds them settled as crashed; it cannot commit, and the charges stand.

    Args:
      url: of the database, as a role that may write the tables.
      marker: the marker file beside the policy.
      clock: for tests; otherwise the server's, which all proxies share.
    """

    def __init__(self, url: str, marker: Path, clock: Clock | None = None) -> None:
        self.instance = str(uuid.uuid4())
        self._url = url
        self._marker = marker
        self._clock = clock
        self._steady = Steady()
        self._known = Head()
        self._write_lock = threading.Lock()
        self._writer: psycopg.Connection[tuple[Any, ...]] | None = None
        self._read_lock = threading.Lock()
        self._reader: psycopg.Connection[tuple[Any, ...]] | None = None
        self._closed = False
        self.id: str = self.read(lambda view: str(view.rows("SELECT id FROM identity")[0][0]))

    @property
    def local(self) -> bool:
        """No: a read may wait for the network."""
        return False

    def write(self, work: Callable[[Writing], T]) -> T:
        """Do the work in one write, and again after a conflict or a lost connection."""
        with self._write_lock:
            return self._tried(lambda retried: self._write_once(work, retried))

    def read(self, work: Callable[[Reading], T]) -> T:
        """Do short work in one view."""
        with self._read_lock:
            return self._tried(lambda _: self._read_once(work))

    def walk(self, work: Callable[[Reading], T]) -> T:
        """Do long work in a view of its own."""
        return self._tried(lambda _: self._walk_once(work))

    def check_writable(self) -> None:
        """Whether the database takes a write: one that leaves everything as it is."""
        self.write(lambda writing: writing.run("UPDATE version SET number = number"))

    def is_dead(self, writing: Writing, instance: str) -> bool:
        """Whether no session of the process that made an instance is left."""
        return bool(writing.rows("SELECT pg_try_advisory_xact_lock(?)", _lease(instance))[0][0])

    def close(self) -> None:
        """Let go of the connections; twice is once."""
        with self._write_lock, self._read_lock:
            if not self._closed:
                self._closed = True
                self._drop()
                sync_marker(self._marker)

    def _write_once(self, work: Callable[[Writing], T], retried: bool) -> T:
        new = self._writer is None or self._writer.closed
        if self._writer is None or new:
            self._writer = self._session()
        try:
            return self._written(self._writer, work, new, retried)
        except ConnectionLost as error:
            error.sent = True
            raise

    def _written(
        self,
        writer: psycopg.Connection[tuple[Any, ...]],
        work: Callable[[Writing], T],
        new: bool,
        retried: bool,
    ) -> T:
        with write_transaction(writer, self._clock, retried, self._steady) as view:
            if new and self._known.number and hash_of(view, self._known.number) != self._known.hash:
                raise LedgerInvalid("The ledger's database came back without what it had promised to keep.")
            done = work(view)
            self._known = view.head  # durable: what is written now is not yet
            write_marker(self._marker, HighWaterMark(self.id, view.head.number, view.head.hash.hex()))
            return done

    def _read_once(self, work: Callable[[Reading], T]) -> T:
        if self._reader is None or self._reader.closed:
            self._reader = self._session()
        with read_transaction(self._reader, self._clock, self._steady) as view:
            return work(view)

    def _walk_once(self, work: Callable[[Reading], T]) -> T:
        with connect(self._url) as connection, read_transaction(connection, self._clock, self._steady) as view:
            return work(view)

    def _session(self) -> psycopg.Connection[tuple[Any, ...]]:
        """A new session, which holds the lease."""
        connection = connect(self._url)
        with translated(connection):
            connection.execute("SELECT pg_advisory_lock_shared(%s)", (_lease(self.instance),))
        return connection

    def _tried(self, once: Callable[[bool], T]) -> T:
        """Try, and try again; every further attempt is told that an earlier one may have been done."""
        if self._closed:
            raise LedgerUnavailable("The ledger is closed.")
        lost: Exception | None = None
        uncertain = False
        for pause in (None, *_PAUSES_S):
            if pause is not None:
                time.sleep(pause)
            try:
                return once(lost is not None)
            except (Conflict, ConnectionLost) as error:
                lost = error
                uncertain = uncertain or (isinstance(error, ConnectionLost) and error.sent)
            except (LedgerUnavailable, TooManyQueries) as error:
                if uncertain:  # this attempt did nothing, but what an earlier one did could not be looked up
                    raise LedgerUncertain(_LOST_MEANWHILE) from error
                raise
        if uncertain:
            raise LedgerUncertain(_LOST_MEANWHILE) from lost
        raise LedgerUnavailable("The ledger's database could not be reached.") from lost

    def _drop(self) -> None:
        for connection in (self._writer, self._reader):
            if connection is not None:
                connection.close()


def _lease(instance: str) -> int:
    """The number of the advisory lock that an instance holds: 64 bits of a hash of it."""
    return int.from_bytes(hashlib.sha256(instance.encode()).digest()[:8], signed=True)
