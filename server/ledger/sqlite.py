"""The ledger in one SQLite file, the default, for one machine: connections, locks, triggers, and how it is opened."""

from __future__ import annotations

import fcntl
import os
import queue
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from server.errors import LedgerFull, LedgerInvalid, LedgerReadOnly, LedgerUnavailable, ServerError, TooManyQueries
from server.ledger.entry import Opened
from server.ledger.high_water_mark import (
    HighWaterMark,
    check_room,
    read_marker,
    refused,
    sync_directory,
    sync_marker,
    write_marker,
)
from server.ledger.ledger import Ledger
from server.ledger.store import (
    REFUSED,
    SCHEMA_VERSION,
    SQLITE_TABLES,
    TABLES,
    UNCHANGED,
    Clock,
    Reading,
    T,
    Writing,
    row_rules,
)
from server.ledger.verify import absent, check_entries, check_marker, gone, other_version
from server.ledger.writes.clock import Steady
from server.ledger.writes.journal import Journal

BUSY_TIMEOUT_S = 10.0
"""How long a writer waits for another process's writer; one write takes milliseconds."""

LOG_BYTES = 4 << 20
"""The usual length of the write-ahead log, which SQLite restarts after about 1,000 pages. A longer one is
truncated.
"""

_RETRY_S = 0.001

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_NOT_OURS = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT})


def connect(path: Path, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Open an existing ledger file for writing. Any thread may use the connection, one at a time.

    WAL lets readers continue beside a writer. synchronous=FULL syncs each commit, since after a power cut no charge
    may be lost whose answer has left.

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
    """One atomic, durable write. BEGIN IMMEDIATE, so what it reads cannot change before it writes."""
    with translated():
        _begin(connection)
        try:
            yield
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def shrink_log(connection: sqlite3.Connection, log: Path) -> None:
    """Truncate a write-ahead log that a large commit left, which SQLite would keep.

    It never waits: if a reader needs the log or another process writes, a later commit tries again.
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
    """One consistent view, at the same time as any writer."""
    with translated():
        connection.execute("BEGIN")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")


@contextmanager
def translated() -> Iterator[None]:
    """Raise the ledger's own errors in place of sqlite3's.

    Clients must not see the texts of sqlite3's errors, so each error stays as the `__cause__` of ours.

    Raises: LedgerFull, LedgerInvalid, LedgerReadOnly, LedgerUnavailable, TooManyQueries.
    """
    try:
        yield
    except sqlite3.Error as error:
        code = _primary_code(error)
        if code in _BUSY:
            raise TooManyQueries("The ledger is busy.", hint="Try again.") from error
        if code in _NOT_OURS:
            raise LedgerInvalid(
                "The ledger is damaged, or refused an inconsistent change; nothing was written."
            ) from error
        if code == sqlite3.SQLITE_FULL:
            raise LedgerFull("The ledger could not be written: its disk is full.") from error
        if code == sqlite3.SQLITE_READONLY:
            raise LedgerReadOnly("The ledger could not be written: it is read-only.") from error
        raise LedgerUnavailable("The ledger could not be read or written.") from error


def _begin(connection: sqlite3.Connection) -> None:
    """Become the writer, trying every millisecond within the busy timeout.

    SQLite's own wait sleeps up to 100 ms between attempts and starves beside a process that writes constantly.
    """
    with _waiting_for_nobody(connection) as limit_s:
        deadline = time.monotonic() + limit_s
        while not _begun(connection, last=time.monotonic() >= deadline):
            time.sleep(_RETRY_S)


@contextmanager
def _waiting_for_nobody(connection: sqlite3.Connection) -> Iterator[float]:
    """Suspend the connection's busy timeout, and yield it in seconds."""
    (limit_ms,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        yield limit_ms / 1000
    finally:
        connection.execute(f"PRAGMA busy_timeout = {limit_ms}")


def _begun(connection: sqlite3.Connection, *, last: bool) -> bool:
    """One attempt to begin. A busy ledger is an error only in the last one."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if last or _primary_code(error) not in _BUSY:
            raise
        return False
    return True


def _primary_code(error: sqlite3.Error) -> int:
    """SQLite's result code without its extension; errors of the Python binding count as general."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


class ProcessLock:
    """A locked file beside the ledger, held while an instance has the ledger open.

    A reservation is crashed if its instance can settle it no more: its file is gone, or its lock is free. Only that
    decision depends on the lock, never a budget.

    Args:
      instance: unique; its file is locked before its first reservation.
    """

    def __init__(self, ledger: Path, instance: str) -> None:
        self._ledger = ledger
        self._path = self._file_of(instance)
        try:
            hidden = ledger.with_name(f".{self._path.name}")
            self._file = hidden.open("ab")
            fcntl.flock(self._file, fcntl.LOCK_EX)
            hidden.rename(self._path)  # the file of a live instance is never seen unlocked
        except OSError as error:
            raise refused(error, "The ledger's folder could not be written.") from error
        prefix = self._file_of("").name
        for name in [path.name for path in ledger.parent.iterdir() if path.name.startswith(prefix)]:
            self.is_dead(name.removeprefix(prefix))  # a killed process leaves its file

    def is_dead(self, instance: str) -> bool:
        """Whether the process of an instance has ended. Raises: LedgerUnavailable."""
        path = self._file_of(instance)
        if _is_held(path):
            return False
        path.unlink(missing_ok=True)  # no other instance ever has this name
        return True

    def _file_of(self, instance: str) -> Path:
        return self._ledger.with_name(f"{self._ledger.name}-open-{instance}")

    def close(self) -> None:
        """Release the lock. May be called twice."""
        if not self._file.closed:
            self._path.unlink(missing_ok=True)
            self._file.close()


def is_open(ledger: Path) -> bool:
    """Whether a living process has the ledger open. Raises: LedgerUnavailable."""
    return any(map(_is_held, ledger.parent.glob(f"{ledger.name}-open-*")))


def _is_held(path: Path) -> bool:
    """Does a living process hold the lock of a file? False if the file is gone."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise LedgerUnavailable("The ledger's folder could not be read.") from error
    return False


APPLICATION_ID = 0x4E474C47
"""'NGLG' in the file's header marks a Noisegate ledger."""

_LAST = {
    "entry": "(SELECT coalesce(max(number), 0) FROM entries)",
    "time": "(SELECT at_ms FROM entries ORDER BY number DESC LIMIT 1)",
    "charge": "(SELECT coalesce(max(number), 0) FROM charges)",
}

# INSERT OR REPLACE and UPDATE OR REPLACE delete without firing the triggers of deletion.
_ONCE = {
    "INSERT ON analysts": "name = NEW.name OR key_hash = NEW.key_hash",
    "UPDATE ON analysts": "key_hash = NEW.key_hash AND name <> OLD.name",
    "INSERT ON accounts": "name = NEW.name",
    "INSERT ON answers": "number = NEW.number",
    "INSERT ON identity": "only_row = NEW.only_row",
    "INSERT ON charges": "idempotency_key = nullif(NEW.idempotency_key, '') AND analyst = NEW.analyst",
}

_RULES = {
    **row_rules("IS NOT", "max", lambda column, field: f"({column} ->> '{field}')", _LAST.__getitem__),
    **{f"{table}_are_kept": (f"DELETE ON {table}", "true") for table in TABLES},
    **{f"{table}_do_not_change": (f"UPDATE ON {table}", "true") for table in UNCHANGED},
    **{
        f"{table}_are_there_once_by_{event}": (before, f"EXISTS (SELECT 1 FROM {table} WHERE {same})")
        for before, same in _ONCE.items()
        for event, _, table in (before.split(),)
    },
}

SQLITE_RULES = "".join(
    f"CREATE TRIGGER {name} BEFORE {event} WHEN {broken} BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END;\n"
    for name, (event, broken) in _RULES.items()
)
"""Triggers; executed after the tables are created."""


class SqliteView(Writing):
    """One transaction of a connection."""

    retried = False
    """A commit of SQLite always has a known outcome."""

    def __init__(
        self, connection: sqlite3.Connection, clock: Clock = time.time, steady: Callable[[int], int] = int
    ) -> None:
        super().__init__()
        self._connection = connection
        self._clock = clock
        self._steady = steady

    def asked(self, statement: str, *values: object) -> Callable[[], list[tuple[Any, ...]]]:
        """Run a query at once, and return a function that returns its rows."""
        rows = self._connection.execute(statement, values).fetchall()
        return lambda: rows

    def run(self, statement: str, *values: object) -> None:
        """Execute a statement that changes rows; `?` stands for each value."""
        self._connection.execute(statement, values)

    def _read_clock(self) -> int:
        return self._steady(round(self._clock() * 1000))


class SqliteStore:
    """A Store; made by `create_ledger` or `open_ledger`.

    One connection writes, behind a lock. Each read has its own connection, so it waits neither for a writer nor for a
    longer read.

    Args:
      path: an existing, checked ledger file.
    """

    local = True

    def __init__(self, path: Path, marker: Path, clock: Clock = time.time) -> None:
        self.instance = str(uuid.uuid4())
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._marker = marker
        self._clock = clock
        self._steady: Callable[[int], int] = Steady() if clock is time.time else int
        self._process_lock = ProcessLock(path, self.instance)
        self._write_lock = threading.Lock()
        self._writer, self._watcher = connect(path), connect(path)
        self._watch_lock = threading.Lock()
        self._readers: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()  # the idle ones
        self._closed = threading.Event()
        self.id: str = self.read(lambda view: str(view.rows("SELECT id FROM identity")[0][0]))

    def write(self, work: Callable[[Writing], T]) -> T:
        """Do the work in one transaction, and write it durably."""
        with self._write_lock:
            with transaction(self._writer):
                done = work(self._begun())
            with suppress(ServerError):  # the write is durable; its log only takes room
                shrink_log(self._writer, self._log)
            return done

    def read(self, work: Callable[[Reading], T]) -> T:
        """Do short work in one consistent view of the ledger."""
        with self._reader() as reader, read_transaction(reader):
            return work(SqliteView(reader, self._clock, self._steady))

    def state(self) -> int:
        """The number of writes that a connection which never writes has noticed, by this process and by others.

        Cost: 3 microseconds.
        """
        with translated(), self._watch_lock:
            ((changes,),) = self._watcher.execute("PRAGMA data_version").fetchall()
            return int(changes)

    def walk(self, work: Callable[[Reading], T]) -> T:
        """Do long work in a consistent view, on a connection of its own."""
        with closing(connect(self._path)) as connection, read_transaction(connection):
            return work(SqliteView(connection, self._clock, self._steady))

    def check_writable(self) -> None:
        """Check that the files can be written and the disk has room."""
        with self._write_lock, transaction(self._writer):
            self._begun()
            # SQLite says that it is read-only at the first statement that could write, and not before.
            self._writer.execute("UPDATE accounts SET spent = spent WHERE name IS NULL")
        check_room(self._path.parent)

    def is_dead(self, writing: Writing, instance: str) -> bool:
        """Whether the process of an instance has ended."""
        return self._process_lock.is_dead(instance)

    def close(self) -> None:
        """Write the marker, then close the file."""
        with self._write_lock:
            if self._closed.is_set():
                return
            self._closed.set()
            with transaction(self._writer):
                self._begun()
                sync_marker(self._marker)
            self._writer.close()
            self._watcher.close()
            self._close_readers()
            self._process_lock.close()

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """A read-only connection for one thread; there are as many as concurrent reads."""
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
        """The view of a write that has begun. The marker records everything before it, which is durable."""
        view = SqliteView(self._writer, self._clock, self._steady)
        write_marker(self._marker, HighWaterMark(self.id, view.head.number, view.head.hash.hex()))
        return view


def check_version(connection: sqlite3.Connection) -> None:
    """Raises LedgerInvalid if a file is no ledger, or one of another format."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise LedgerInvalid("The ledger file is not a Noisegate ledger.")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != SCHEMA_VERSION:
        raise other_version(version)


def create_ledger(path: Path, marker: Path, clock: Clock = time.time) -> Ledger:
    """Create a ledger, its marker and their folders, then open it. Only the owner may read the files.

    Raises: LedgerInvalid (a ledger exists), LedgerMissing (the marker's ledger is gone), LedgerUnavailable.
    """
    if read_marker(marker) is not None and not path.exists():
        raise gone(path.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        marker.parent.mkdir(parents=True, exist_ok=True)
        _create_file(path, clock)
    except FileExistsError as error:
        raise LedgerInvalid(f"There is a ledger {path.name} already.") from error
    except OSError as error:
        raise refused(error, "The ledger could not be created.") from error
    return open_ledger(path, marker, clock)


def open_ledger(path: Path, marker: Path, clock: Clock = time.time) -> Ledger:
    """Open the ledger that the marker names. Without a marker, adopt the ledger and create the marker.

    Raises: LedgerMissing; LedgerInvalid for another ledger, an older copy, an edited one or another format;
      LedgerUnavailable; TooManyQueries if another writer holds the ledger for too long.
    Cost: up to a second for VERIFIED_AT_OPEN entries; milliseconds for longer ledgers.
    """
    if not path.exists():
        raise absent(path.name) if read_marker(marker) is None else gone(path.name)
    with closing(connect(path)) as connection, transaction(connection):
        check_version(connection)
        view = SqliteView(connection, clock)
        (identity,) = connection.execute("SELECT id FROM identity").fetchone()
        check_marker(view, identity, marker, path.name)
        check_entries(view)
    return Ledger(SqliteStore(path, marker, clock))


def _create_file(path: Path, clock: Clock) -> None:
    """Build the file under another name and link it, so that it appears whole and replaces nothing."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4()}")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with closing(connect(temporary)) as connection, translated():
            connection.executescript(SQLITE_TABLES + SQLITE_RULES)
            identity = str(uuid.uuid4())
            with transaction(connection):
                connection.execute("INSERT INTO identity VALUES (1, ?)", (identity,))
                Journal(SqliteView(connection, clock), identity, 0).append(Opened(identity))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        os.link(temporary, path)
    finally:
        temporary.unlink()
    sync_directory(path.parent)
