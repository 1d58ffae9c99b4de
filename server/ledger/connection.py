"""Connections to the SQLite ledger: durable settings, bounded waits, and sqlite's errors under our names."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from server.errors import LedgerInvalid, LedgerUnavailable, TooManyQueries

BUSY_TIMEOUT_S = 10.0
"""How long a writer waits for another process's writer; one write takes milliseconds."""

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
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


@contextmanager
def translated() -> Iterator[None]:
    """Give sqlite's errors our names; their words are not for clients and stay in the cause."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # the primary code of an extended one
        if code in _BUSY:
            raise TooManyQueries("The ledger is busy.", hint="Try again.") from error
        if code in _NOT_OURS:
            raise LedgerInvalid("The ledger is damaged, or refused a change that breaks its rules.") from error
        raise LedgerUnavailable("The ledger could not be read or written.") from error
