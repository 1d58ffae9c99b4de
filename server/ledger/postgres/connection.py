"""Connections to a ledger in PostgreSQL: durable settings, bounded waits, and its errors under our names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import psycopg

from server import libpq
from server.errors import LedgerFull, LedgerInvalid, LedgerReadOnly, LedgerUnavailable, TooManyQueries
from server.ledger.postgres.triggers import SCHEMA
from server.ledger.store import Head
from server.ledger.tables.schema import CLOCK
from server.ledger.writes.ledger_clock import offset_in

BUSY_TIMEOUT_S = 10
"""How long a writer waits for the other proxies' writers; one write takes milliseconds."""

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

_TIME_AND_HEAD = f"""
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, ({CLOCK}), number, at_ms, hash
FROM (SELECT 1) AS one LEFT JOIN (
    SELECT number, at_ms, hash FROM {SCHEMA}.entries ORDER BY number DESC LIMIT 1
) AS last ON true
"""

NO_HEAD = Head()

Clock = Callable[[], float]
"""Seconds since the epoch."""


class ConnectionLost(Exception):
    """The connection broke.

    Attributes:
      sent: whether a write had been sent: then it is not known whether it was done.
    """

    sent = False


class Conflict(Exception):
    """PostgreSQL undid the transaction because of another; nothing was done."""


@dataclass
class PostgresView:
    """What runs in one transaction.

    Attributes:
      connection: in a transaction.
      clock: for tests; otherwise the server's.
      retried: whether a commit of the same work may have been done before.
      beginning: what a write asked for at its beginning: the server's clock, by how much the ledger is ahead of it,
        and the last entry. It is waited for with the work's own first question.
      steady: keeps the server's clock from running ahead.
    """

    connection: psycopg.Connection[tuple[Any, ...]]
    clock: Clock | None = None
    retried: bool = False
    beginning: Callable[[], list[tuple[Any, ...]]] | None = None
    steady: Callable[[int], int] = int
    _now_ms: int | None = field(default=None, init=False)
    _offset_ms: int | None = field(default=None, init=False)
    _beginning: tuple[Any, ...] | None = field(default=None, init=False)

    # What is read once is kept in a field. In Python 3.11 functools.cached_property holds one lock for all instances
    # while it computes: a view that waits for another proxy's write would keep every other view waiting.

    @property
    def now_ms(self) -> int:
        """The clock; the server's is read once."""
        if self._now_ms is None:
            self._now_ms = self._read_clock()
        return self._now_ms

    @property
    def offset_ms(self) -> int:
        """What is added to the clock."""
        if self._offset_ms is None:
            row = self.row(CLOCK) if self.beginning is None else (self._began[1],)
            self._offset_ms = offset_in(None if row is None else row[0])
        return self._offset_ms

    @property
    def head(self) -> Head:
        """The last entry when a write began; views that only read do not know it."""
        if self.beginning is None or self._began[2] is None:
            return NO_HEAD
        _, _, number, at_ms, link = self._began
        return Head(number, at_ms, bytes(link))

    def _read_clock(self) -> int:
        if self.clock is not None:
            return round(self.clock() * 1000)
        if self.beginning is not None:
            return self.steady(int(self._began[0]))
        return self.steady(int(self.rows("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")[0][0]))

    @property
    def _began(self) -> tuple[Any, ...]:
        assert self.beginning is not None, "only a write asks for it"
        if self._beginning is None:
            self._beginning = self.beginning()[0]
        return self._beginning

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self.connection.execute(_placed(statement), values).fetchall()

    def asked(self, statement: str, *values: object) -> Callable[[], list[tuple[Any, ...]]]:
        """The rows of a query that goes out with the next ones, when they are wanted."""
        return self.connection.execute(_placed(statement), values).fetchall

    def row(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """The first row of a query, or None."""
        return self.connection.execute(_placed(statement), values).fetchone()

    def run(self, statement: str, *values: object) -> None:
        """Execute a statement that changes rows, within the write under way; `?` stand for the values."""
        self.connection.execute(_placed(statement), values)


def connect(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Open a session of the ledger. Raises: ConnectionLost."""
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
    """One atomic, durable write; no other runs beside it.

    Args:
      connection: to the ledger's database.
      clock: of a test; None: the server's.
      retried, steady: as of `PostgresView`.
    Raises: LedgerUnavailable.
    """
    with translated(connection):
        try:
            # In the pipeline a statement waits for the server only when its rows are read.
            with connection.pipeline():
                connection.execute(_BEGIN_WRITE)
                connection.execute(_LOCK)
                yield PostgresView(connection, clock, retried, connection.execute(_TIME_AND_HEAD).fetchall, steady)
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
    """One consistent view, beside any writer."""
    with translated(connection):
        try:
            with connection.pipeline():
                connection.execute(_BEGIN_READ)
                yield PostgresView(connection, clock, steady=steady)
                connection.execute("ROLLBACK")
        except BaseException:
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
            raise


@contextmanager
def translated(connection: psycopg.Connection[tuple[Any, ...]]) -> Iterator[None]:
    """Give psycopg's errors our names; their words are not for clients and stay in the cause.

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
        raise LedgerInvalid("The ledger refused a change that breaks its rules.") from error
    except psycopg.Error as error:
        if connection.closed or error.diag.severity_nonlocalized == "FATAL":  # its last word: the session has ended
            connection.close()
            raise ConnectionLost from error
        raise LedgerUnavailable("The ledger could not be read or written.") from error


@lru_cache(maxsize=256)
def _placed(statement: str) -> str:
    """With psycopg's placeholders; all statements are constants of this package."""
    assert "%" not in statement, "statements hold no % of their own"
    return statement.replace("?", "%s")
