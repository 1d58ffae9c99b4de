"""The database of a ledger, as the store for PostgreSQL sees it: sessions, leases, transactions, and their ends.

SQLite in memory holds the tables, with the rules of the ledger in a file: entries that nobody edits, charges that are
settled once. One transaction runs at a time, as the store's lock makes it.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from server.errors import LedgerFull, LedgerInvalid, LedgerUnavailable
from server.ledger.account import Grant
from server.ledger.analyst import Act
from server.ledger.postgres import Conflict, ConnectionLost
from server.ledger.sqlite import SqliteView, create_ledger
from tests.support.simulation.scheduler import Scheduler

EPOCH_S = 1_800_000_000.0
"""When every history begins."""

GRANTS = {"analyst:ada": 2.0, "analyst:eve": 1.5, "analyst:grace": 1.0, "group:team": 2.5, "dataset": 3.5}
TEAM = ("ada", "eve")

_LEASE = "SELECT pg_try_advisory_xact_lock(?)"


@cache
def _template() -> bytes:
    """A ledger with its analysts and grants, as a database in memory."""
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "ledger.sqlite", Path(folder) / "marker.json"
        ledger = create_ledger(*paths, lambda: EPOCH_S)
        for account, epsilon in GRANTS.items():
            kind, _, name = account.partition(":")
            if kind == "analyst":
                ledger.add_analyst(name, f"{name:0<64}", epsilon, 0.0)
            else:
                ledger.grant(account, Grant(epsilon), Act())
        for name in TEAM:
            ledger.set_group(name, "team", Act())
        ledger.close()
        with closing(sqlite3.connect(paths[0])) as file, closing(sqlite3.connect(":memory:")) as copy:
            file.backup(copy)
            saved = bytearray(copy.serialize())
    saved[18:20] = b"\1\1"  # a database in memory has no write-ahead log: sqlite.org/fileformat.html, section 1.3.3
    return bytes(saved)


class SimulatedView(SqliteView):
    """A transaction's view, in which the lease of an instance is looked up among the sessions."""

    database: SimulatedDatabase

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        if statement == _LEASE:
            return [(values[0] not in {one.lease for one in self.database.sessions},)]
        return super().rows(statement, *values)


@dataclass(eq=False)
class Session:
    """A connection of a proxy.

    Attributes:
      database: which it is to.
      process: whose it is.
      lease: the advisory lock that it holds; None before it takes one.
    """

    database: SimulatedDatabase
    process: object
    lease: int | None = None
    closed: bool = False

    def execute(self, statement: str, values: tuple[int]) -> None:
        """Take the lease: the only statement that is sent outside of a transaction."""
        assert "pg_advisory_lock_shared" in statement
        self.database.reach(self)
        (self.lease,) = values

    def close(self) -> None:
        """End it; its lease goes with it."""
        self.closed = True
        self.database.sessions.discard(self)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


@dataclass
class SimulatedDatabase:
    """The server of a ledger.

    Attributes:
      scheduler: of the history.
      away_until_s: nobody reaches it until then.
      full_until_s: it takes no write until then.
      clock_offset_s: its clock is so much ahead.
      ends: how the next writes end, by process: `conflict`, `lost before` or `lost after` their commit.
      keeps_commits: False is a disk that forgets the last commit when the machine loses its power.
      committed: called after every commit.
      harmed: called with what is done to whose write, when it is done.
    """

    scheduler: Scheduler
    away_until_s: float = 0.0
    full_until_s: float = 0.0
    clock_offset_s: float = 0.0
    ends: dict[object, str] = field(default_factory=dict)
    cut_until_s: dict[object, float] = field(default_factory=dict)
    keeps_commits: bool = True
    committed: Callable[[], None] = lambda: None
    harmed: Callable[[str, object], None] = lambda kind, process: None

    def __post_init__(self) -> None:
        self.sessions: set[Session] = set()
        self._load(_template())
        self._before_last = self.saved()

    def saved(self) -> bytes:
        """All of it, as a backup has it."""
        return self.connection.serialize()

    def _load(self, saved: bytes) -> None:
        self.connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self.connection.deserialize(saved)

    def restore(self, saved: bytes) -> None:
        """Be what a backup has; every session ends."""
        self.end_sessions()
        self.connection.close()
        self._load(saved)

    def lose_power(self) -> None:
        """The machine ends; what its disk keeps is there again."""
        self.restore(self.saved() if self.keeps_commits else self._before_last)

    def end_sessions(self, process: object | None = None) -> None:
        """Cut the sessions of a process, or all."""
        for one in [one for one in self.sessions if process is None or one.process is process]:
            one.close()

    def clock(self) -> float:
        """Its time, in seconds since the epoch."""
        return EPOCH_S + self.scheduler.now_s + self.clock_offset_s

    def connect(self, process: object) -> Session:
        """A session for a process. Raises ConnectionLost."""
        self.scheduler.pause()
        session = Session(self, process)
        self.reach(session)
        self.sessions.add(session)
        return session

    def reach(self, session: Session) -> None:
        """Raises ConnectionLost where a session's word does not arrive."""
        now_s = self.scheduler.now_s
        if session.closed or now_s < max(self.away_until_s, self.cut_until_s.get(session.process, 0.0)):
            session.close()
            raise ConnectionLost

    def view(self, retried: bool = False) -> SimulatedView:
        """A view of the tables as they are."""
        view = SimulatedView(self.connection, self.clock)
        view.database, view.retried = self, retried
        return view

    @contextmanager
    def write(self, session: Session, retried: bool) -> Iterator[SimulatedView]:
        """One transaction, which ends as was decided."""
        self.scheduler.pause()
        self.reach(session)
        if self.scheduler.now_s < self.full_until_s:
            raise LedgerFull("The ledger could not be written: its database's disk is full.")
        end = self.ends.pop(session.process, "")
        if end:
            self.harmed(end, session.process)
        before = b"" if self.keeps_commits else self.saved()
        self.connection.execute("BEGIN")
        try:
            with _translated():
                yield self.view(retried)
            if end in ("conflict", "lost before"):
                raise Conflict if end == "conflict" else _lost(session)
            self.connection.execute("COMMIT")
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self._before_last = before
        self.committed()
        if end == "lost after":
            raise _lost(session)
        self.scheduler.pause()

    @contextmanager
    def read(self, session: Session) -> Iterator[SimulatedView]:
        """One view, beside any writer."""
        self.scheduler.pause()
        self.reach(session)
        yield self.view()


def _lost(session: Session) -> ConnectionLost:
    session.close()
    return ConnectionLost()


@contextmanager
def _translated() -> Iterator[None]:
    """SQLite's errors under the names that the store for PostgreSQL gives them."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise LedgerInvalid("The ledger refused an inconsistent change; nothing was written.") from error
    except sqlite3.Error as error:
        raise LedgerUnavailable("The ledger could not be read or written.") from error
