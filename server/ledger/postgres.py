"""The ledger in PostgreSQL, shared by several proxies: connections, triggers, and how it is opened."""

from __future__ import annotations

import hashlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import psycopg

from server import libpq
from server.errors import (
    LedgerFull,
    LedgerInvalid,
    LedgerReadOnly,
    LedgerUnavailable,
    LedgerUncertain,
    TooManyQueries,
)
from server.ledger.entry import Opened
from server.ledger.high_water_mark import HighWaterMark, read_marker, sync_marker, write_marker
from server.ledger.ledger import Ledger
from server.ledger.store import (
    CLOCK,
    POSTGRES_TABLES,
    REFUSED,
    SCHEMA_VERSION,
    TABLES,
    UNCHANGED,
    Clock,
    Head,
    Reading,
    T,
    Writing,
    offset_in,
    row_rules,
)
from server.ledger.verify import absent, check_entries, check_marker, gone, other_version
from server.ledger.writes.clock import Steady
from server.ledger.writes.journal import Journal, hash_of

SCHEMA = "noisegate_ledger"
"""The schema that holds nothing but the ledger's tables."""

_FUNCTIONS = f"""
CREATE FUNCTION {SCHEMA}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '{REFUSED}' USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE FUNCTION {SCHEMA}.last_entry() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT coalesce(max(number), 0) FROM {SCHEMA}.entries);
END $$;

CREATE FUNCTION {SCHEMA}.last_time() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN coalesce((SELECT at_ms FROM {SCHEMA}.entries ORDER BY number DESC LIMIT 1), 0);
END $$;

CREATE FUNCTION {SCHEMA}.last_charge() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT coalesce(max(number), 0) FROM {SCHEMA}.charges);
END $$;

CREATE FUNCTION {SCHEMA}.amount(saved text, field text) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT (saved::jsonb ->> field)::bigint $$;
"""

_RULES = row_rules(
    "IS DISTINCT FROM",
    "greatest",
    lambda column, field: f"{SCHEMA}.amount({column}, '{field}')",
    lambda what: f"{SCHEMA}.last_{what}()",
)

POSTGRES_RULES = (
    _FUNCTIONS
    + "".join(
        f"CREATE TRIGGER {name} BEFORE {event} FOR EACH ROW WHEN ({broken}) EXECUTE FUNCTION {SCHEMA}.refuse();\n"
        for name, (event, broken) in _RULES.items()
    )
    + "".join(
        f"CREATE TRIGGER {table}_are_kept BEFORE {'UPDATE OR ' if unchanged else ''}DELETE OR TRUNCATE ON {table}"
        f" FOR EACH STATEMENT EXECUTE FUNCTION {SCHEMA}.refuse();\n"
        for table in TABLES
        for unchanged in (table in UNCHANGED,)
    )
    + f"CREATE TABLE version AS SELECT {SCHEMA_VERSION}::bigint AS number;\n"
)
"""Triggers and the version; executed after the tables are created."""


BUSY_TIMEOUT_S = 10
"""How long a writer waits for writers of other proxies; one write takes milliseconds."""

_OPTIONS = " ".join(
    f"-c {setting}"
    for setting in (
        f"search_path={SCHEMA}",
        f"lock_timeout={BUSY_TIMEOUT_S}s",
        "synchronous_commit=on",
        "idle_in_transaction_session_timeout=60s",  # a proxy that hangs does not hang the others
        "tcp_keepalives_idle=10",  # a proxy that is cut off loses its sessions within half a minute
        "tcp_keepalives_interval=5",
        "tcp_keepalives_count=3",
    )
)

_BEGIN_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

# No other write begins before this one has ended, and every statement after the lock sees all that came before.
_LOCK = f"LOCK TABLE {SCHEMA}.identity IN EXCLUSIVE MODE"

_TIME = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

_TIME_AND_HEAD = f"""
SELECT {_TIME}, ({CLOCK}), number, at_ms, hash
FROM (SELECT 1) AS one LEFT JOIN (
    SELECT number, at_ms, hash FROM {SCHEMA}.entries ORDER BY number DESC LIMIT 1
) AS last ON true
"""


class ConnectionLost(Exception):
    """The connection broke.

    Attributes:
      sent: had a write been sent? Then its outcome is unknown.
    """

    sent = False


class Conflict(Exception):
    """PostgreSQL rolled the transaction back because of another one."""


class PostgresView(Writing):
    """One transaction.

    Args:
      clock: for tests; otherwise the server's clock.
      steady: limits how fast the server's clock advances.
      retried: may an earlier attempt have been committed?
      beginning: the pending row of what a write asks for first: the server's clock, the newest `clock` entry, the
        last entry. It is waited for with the first question of the work.
    """

    def __init__(
        self,
        connection: psycopg.Connection[tuple[Any, ...]],
        clock: Clock | None = None,
        steady: Callable[[int], int] = int,
        *,
        retried: bool = False,
        beginning: Callable[[], tuple[Any, ...]] | None = None,
    ) -> None:
        super().__init__()
        self.retried = retried
        self._connection = connection
        self._clock = clock
        self._steady = steady
        self._beginning = beginning

    def asked(self, statement: str, *values: object) -> Callable[[], list[tuple[Any, ...]]]:
        """Send a query without waiting, together with the next ones. The returned function waits for its rows."""
        return self._connection.execute(_placed(statement), values).fetchall

    def run(self, statement: str, *values: object) -> None:
        """Execute a statement that changes rows; `?` stands for each value."""
        self._connection.execute(_placed(statement), values)

    def _read_clock(self) -> int:
        if self._clock is not None:
            return round(self._clock() * 1000)
        began = self.rows(f"SELECT {_TIME}")[0] if self._beginning is None else self._beginning()
        return self._steady(int(began[0]))

    def _read_offset(self) -> int:
        return super()._read_offset() if self._beginning is None else offset_in(self._beginning()[1])

    def _read_head(self) -> Head:
        if self._beginning is None:
            return super()._read_head()
        _, _, number, at_ms, link = self._beginning()
        return Head() if number is None else Head(number, at_ms, bytes(link))


def connect(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Open a session. Raises: ConnectionLost."""
    try:
        return libpq.connect(url, autocommit=True, connect_timeout=5, options=_OPTIONS, application_name="noisegate")
    except psycopg.OperationalError as error:
        raise ConnectionLost from error
    except psycopg.Error as error:
        raise LedgerUnavailable("The ledger's database refuses the connection.") from error


@contextmanager
def write_transaction(
    connection: psycopg.Connection[tuple[Any, ...]],
    clock: Clock | None,
    retried: bool,
    steady: Callable[[int], int] = int,
) -> Iterator[PostgresView]:
    """One atomic, durable write; no other runs at the same time. Raises: as `translated`."""
    with translated(connection):
        try:
            # In the pipeline a statement waits for the server only when its rows are read.
            with connection.pipeline():
                connection.execute(_BEGIN_WRITE)
                connection.execute(_LOCK)
                began = connection.execute(_TIME_AND_HEAD)
                beginning = cache(lambda: began.fetchall()[0])
                yield PostgresView(connection, clock, steady, retried=retried, beginning=beginning)
                # Sent with the last statements: after an error the server skips what follows in the pipeline, so a
                # COMMIT that is done says that all of it was.
                done = connection.execute("COMMIT")
            if done.statusmessage != "COMMIT":
                raise LedgerUnavailable("The ledger's database did not commit.")
        except BaseException:
            with suppress(psycopg.Error):  # a lost connection has rolled back by itself
                connection.execute("ROLLBACK")
            raise


@contextmanager
def read_transaction(
    connection: psycopg.Connection[tuple[Any, ...]], clock: Clock | None, steady: Callable[[int], int] = int
) -> Iterator[PostgresView]:
    """One consistent view, at the same time as any writer."""
    with translated(connection):
        try:
            with connection.pipeline():
                connection.execute(_BEGIN_READ)
                yield PostgresView(connection, clock, steady)
                connection.execute("ROLLBACK")
        except BaseException:
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
            raise


@contextmanager
def translated(connection: psycopg.Connection[tuple[Any, ...]]) -> Iterator[None]:
    """Raise the ledger's own errors in place of psycopg's.

    Clients must not see the texts of psycopg's errors, so each error stays as the `__cause__` of ours.

    Raises: Conflict, ConnectionLost, LedgerFull, LedgerInvalid, LedgerReadOnly, LedgerUnavailable, TooManyQueries.
    """
    try:
        yield
    except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected) as error:
        raise Conflict from error
    except psycopg.errors.LockNotAvailable as error:
        raise TooManyQueries("The ledger is busy.", hint="Try again.") from error
    except psycopg.errors.DiskFull as error:
        raise LedgerFull("The ledger could not be written: its database's disk is full.") from error
    except psycopg.errors.ReadOnlySqlTransaction as error:
        raise LedgerReadOnly("The ledger could not be written: its database is read-only.") from error
    except psycopg.IntegrityError as error:
        raise LedgerInvalid("The ledger refused an inconsistent change; nothing was written.") from error
    except psycopg.Error as error:
        if connection.closed or error.diag.severity_nonlocalized == "FATAL":  # its last word: the session has ended
            connection.close()
            raise ConnectionLost from error
        raise LedgerUnavailable("The ledger could not be read or written.") from error


@lru_cache(maxsize=256)
def _placed(statement: str) -> str:
    """A statement with psycopg's placeholders; all statements are constants of this package."""
    assert "%" not in statement, "statements hold no % of their own"
    return statement.replace("?", "%s")


_PAUSES_S = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds before each further attempt: a restarting server has three seconds."""

_LOST_MEANWHILE = "The ledger's database was lost while it was written."


class PostgresStore:
    """A Store; made by `create_postgres_ledger` or `open_postgres_ledger`.

    One connection writes and one reads, each behind a lock; a lost one is replaced. Each session holds an advisory
    lock, the lease of this proxy's reservations. If a proxy is cut off and taken for dead, its reservations are
    settled as crashed: it cannot commit them any more, and the charges stand.

    Args:
      url: of the database, for a role that may write the tables.
      clock: for tests; otherwise the server's, which all proxies share.
    """

    local = False

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

    def state(self) -> None:
        """Unknown without a read."""

    def write(self, work: Callable[[Writing], T]) -> T:
        """Do the work in one transaction, and repeat it after a conflict or a lost connection."""
        with self._write_lock:
            return self._tried(lambda retried: self._write_once(work, retried))

    def read(self, work: Callable[[Reading], T]) -> T:
        """Do short work in one consistent view of the ledger."""
        with self._read_lock:
            return self._tried(lambda _: self._read_once(work))

    def walk(self, work: Callable[[Reading], T]) -> T:
        """Do long work in a consistent view, on a connection of its own."""
        return self._tried(lambda _: self._walk_once(work))

    def check_writable(self) -> None:
        """Check that the database accepts a write, by one that changes nothing."""
        self.write(lambda writing: writing.run("UPDATE version SET number = number"))

    def is_dead(self, writing: Writing, instance: str) -> bool:
        """Whether the process of an instance has no session left."""
        return bool(writing.rows("SELECT pg_try_advisory_xact_lock(?)", _lease(instance))[0][0])

    def close(self) -> None:
        """Close the connections. May be called twice."""
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
            with write_transaction(self._writer, self._clock, retried, self._steady) as view:
                if new and self._known.number and hash_of(view, self._known.number) != self._known.hash:
                    raise LedgerInvalid("The ledger's database lost entries that it had confirmed.")
                done = work(view)
                self._known = view.head  # durable: what is written now is not yet
                write_marker(self._marker, HighWaterMark(self.id, view.head.number, view.head.hash.hex()))
                return done
        except ConnectionLost as error:
            error.sent = True
            raise

    def _read_once(self, work: Callable[[Reading], T]) -> T:
        if self._reader is None or self._reader.closed:
            self._reader = self._session()
        with read_transaction(self._reader, self._clock, self._steady) as view:
            return work(view)

    def _walk_once(self, work: Callable[[Reading], T]) -> T:
        with connect(self._url) as connection, read_transaction(connection, self._clock, self._steady) as view:
            return work(view)

    def _session(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Open a session that holds the lease."""
        connection = connect(self._url)
        with translated(connection):
            connection.execute("SELECT pg_advisory_lock_shared(%s)", (_lease(self.instance),))
        return connection

    def _tried(self, once: Callable[[bool], T]) -> T:
        """Try several times. Each further attempt knows that an earlier one may have been committed."""
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
    """The number of an instance's advisory lock: 64 bits of a hash of its id."""
    return int.from_bytes(hashlib.sha256(instance.encode()).digest()[:8], signed=True)


_NAME = "in PostgreSQL"


def create_postgres_ledger(url: str, marker: Path, clock: Clock | None = None) -> Ledger:
    """Create a ledger in the schema `noisegate_ledger` with its marker, then open it.

    Raises: LedgerInvalid (a ledger exists), LedgerMissing (the marker's ledger is gone), LedgerUnavailable.
    """
    with closing(_connected(url)) as connection:
        if read_marker(marker) is not None and not _exists(connection):
            raise gone(_NAME)
        marker.parent.mkdir(parents=True, exist_ok=True)
        with translated(connection), connection.transaction():
            try:
                connection.execute(f"CREATE SCHEMA {SCHEMA}")
            except (psycopg.errors.DuplicateSchema, psycopg.errors.UniqueViolation) as error:
                raise LedgerInvalid("There is a ledger in this database already.") from error
            _fill(connection, clock)
    return open_postgres_ledger(url, marker, clock)


def open_postgres_ledger(url: str, marker: Path, clock: Clock | None = None) -> Ledger:
    """Open the ledger that the marker names. Without a marker, adopt the ledger and create the marker.

    Raises: LedgerMissing; LedgerInvalid for another ledger, an older copy, an edited one or another version;
      LedgerUnavailable if the database cannot be reached; TooManyQueries if other proxies write for so long that this
      one gets no turn.
    """
    with closing(_connected(url)) as connection:
        if not _exists(connection):
            raise absent(_NAME) if read_marker(marker) is None else gone(_NAME)
        with write_transaction(connection, clock, retried=False) as view:
            (version,) = view.rows("SELECT number FROM version")[0]
            if version != SCHEMA_VERSION:
                raise other_version(version)
            check_marker(view, view.rows("SELECT id FROM identity")[0][0], marker, f"The ledger {_NAME}")
            check_entries(view)
    return Ledger(PostgresStore(url, marker, clock))


def _connected(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    try:
        return connect(url)
    except ConnectionLost as error:
        raise LedgerUnavailable("The ledger's database could not be reached.") from error


def _exists(connection: psycopg.Connection[tuple[Any, ...]]) -> bool:
    with translated(connection):
        return connection.execute("SELECT to_regnamespace(%s) IS NOT NULL", (SCHEMA,)).fetchall()[0][0] is True


def _fill(connection: psycopg.Connection[tuple[Any, ...]], clock: Clock | None) -> None:
    """Create the tables and triggers for the owner alone, and write the first entry."""
    connection.execute(f"REVOKE ALL ON SCHEMA {SCHEMA} FROM PUBLIC")
    connection.execute(POSTGRES_TABLES + POSTGRES_RULES)
    identity = str(uuid.uuid4())
    connection.execute("INSERT INTO identity VALUES (1, %s)", (identity,))
    Journal(PostgresView(connection, clock), identity, 0).append(Opened(identity))
