"""Connections to the SQLite ledger: durable settings, bounded waits, and sqlite's errors under our names."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from server.errors import LedgerFull, LedgerInvalid, LedgerReadOnly, LedgerUnavailable, TooManyQueries

BUSY_TIMEOUT_S = 10.0
"""How long a writer waits for another process's writer; one write takes milliseconds."""

LOG_BYTES = 4 << 20
"""The write-ahead log's usual length: SQLite begins it anew after some 1,000 pages. Beyond it, it is cut."""

_RETRY_S = 0.001

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_NOT_OURS = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT})


def connect(path: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Open an existing ledger file for writing; usable from any thread, one at a time.

    WAL lets readers go on beside a writer. synchronous=FULL syncs each commit before it returns: without it a
    power cut could forget a charge whose answer has left.

    Raises: LedgerInvalid (not a database), LedgerUnavailable (cannot be opened).
    """
    with translated():
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",  # mode=rw: a missing file is an error, never a new empty ledger
            uri=True,
            timeout=busy_timeout_s,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One atomic, durable write; BEGIN IMMEDIATE, so that what is read in it cannot change before it is used."""
    with translated():
        _begin(connection)
        try:
            yield
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def shrink_log(connection: sqlite3.Connection, log: Path) -> None:
    """Give the disk back what a large commit left of the write-ahead log, which SQLite would keep for the next one.

    Waits for nobody: where a reader still needs the log, or another process writes, a later commit tries again.
    """
    try:
        if log.stat().st_size <= LOG_BYTES:
            return
    except OSError:  # there is none
        return
    with translated(), _waiting_for_nobody(connection):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@contextmanager
def read_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One consistent view, beside any writer."""
    with translated():
        connection.execute("BEGIN")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")


@contextmanager
def translated() -> Iterator[None]:
    """Give sqlite's errors our names; their words are not for clients and stay in the cause.

    Raises: LedgerFull, LedgerInvalid, LedgerReadOnly, LedgerUnavailable, TooManyQueries.
    """
    try:
        yield
    except sqlite3.Error as error:
        code = _primary_code(error)
        if code in _BUSY:
            raise TooManyQueries("The ledger is busy.", hint="Try again.") from error
        if code in _NOT_OURS:
            raise LedgerInvalid("The ledger is damaged, or refused a change that breaks its rules.") from error
        if code == sqlite3.SQLITE_FULL:
            raise LedgerFull("The ledger could not be written: its disk is full.") from error
        if code == sqlite3.SQLITE_READONLY:
            raise LedgerReadOnly("The ledger could not be written: it is read-only.") from error
        raise LedgerUnavailable("The ledger could not be read or written.") from error


def _begin(connection: sqlite3.Connection) -> None:
    """Become the one writer, asking every millisecond within the connection's busy timeout.

    SQLite's own wait sleeps up to 100 ms between two attempts; beside a process that writes all the time it starves.
    """
    with _waiting_for_nobody(connection) as limit_s:
        deadline = time.monotonic() + limit_s
        while not _begun(connection, last=time.monotonic() >= deadline):
            time.sleep(_RETRY_S)


@contextmanager
def _waiting_for_nobody(connection: sqlite3.Connection) -> Iterator[float]:
    """Without the connection's busy timeout, in seconds, which is given."""
    (limit_ms,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        yield limit_ms / 1000
    finally:
        connection.execute(f"PRAGMA busy_timeout = {limit_ms}")


def _begun(connection: sqlite3.Connection, *, last: bool) -> bool:
    """One attempt; a busy ledger is an error only in the last one."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if last or _primary_code(error) not in _BUSY:
            raise
        return False
    return True


def _primary_code(error: sqlite3.Error) -> int:
    """SQLite's result code without its extension; errors of Python's binding have none and count as general."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF
