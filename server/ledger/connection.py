"""Connections to the SQLite ledger: durable settings, bounded waits, and sqlite's errors under our names."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from server.errors import LedgerInvalid, LedgerUnavailable, TooManyQueries

BUSY_TIMEOUT_S = 10.0
"""How long a writer waits for another process's writer; one write takes milliseconds."""

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
    """Give sqlite's errors our names; their words are not for clients and stay in the cause."""
    try:
        yield
    except sqlite3.Error as error:
        code = _primary_code(error)
        if code in _BUSY:
            raise TooManyQueries("The ledger is busy.", hint="Try again.") from error
        if code in _NOT_OURS:
            raise LedgerInvalid("The ledger is damaged, or refused a change that breaks its rules.") from error
        raise LedgerUnavailable("The ledger could not be read or written.") from error


def _begin(connection: sqlite3.Connection) -> None:
    """Become the one writer, asking every millisecond within the connection's busy timeout.

    SQLite's own wait sleeps up to 100 ms between two attempts; beside a process that writes all the time it starves.
    """
    (limit_ms,) = connection.execute("PRAGMA busy_timeout").fetchone()
    deadline = time.monotonic() + limit_ms / 1000
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        while not _begun(connection, last=time.monotonic() >= deadline):
            time.sleep(_RETRY_S)
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
