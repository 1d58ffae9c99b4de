"""The interface of a store, and its tables: `entries`, and the tables that follow from them.

A store needs atomic, durable writes one after another, and consistent reads beside them.

`entries` is the ledger, and `verify` checks that the other tables follow from it. Triggers enforce these rules in the
store itself:

* entries and charges are numbered 1, 2, 3, ...; time never goes back;
* a charge begins reserved and is settled once; nothing else of it changes;
* nothing is deleted; analysts and accounts keep their names;
* an account with basic composition never spends more than its grant.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from string import Template
from typing import Any, Protocol, TypeVar, cast

from server.ledger.entry import EntryKind

T = TypeVar("T")

ORIGIN = bytes(32)
"""The hash before the first entry."""


@dataclass(frozen=True)
class Head:
    """The last entry: number, time in milliseconds since the epoch, and hash."""

    number: int = 0
    at_ms: int = 0
    hash: bytes = ORIGIN


Clock = Callable[[], float]
"""Seconds since the epoch."""


class Reading(ABC):
    """One consistent view of the tables. Statements contain `?` for each value, and otherwise no `?` or `%`.

    Values that are read once are cached here. In Python 3.11 functools.cached_property holds one lock for all
    instances while it computes, so a view that waits for another proxy would block every other view.
    """

    def __init__(self) -> None:
        self._cache: dict[str, Any] = {}

    @property
    def now_ms(self) -> int:
        """The store's clock in milliseconds since the epoch; it may go backwards."""
        return self._once("clock", self._read_clock)

    @property
    def offset_ms(self) -> int:
        """How far the ledger's time is ahead of the clock, in milliseconds."""
        return self._once("offset", self._read_offset)

    @property
    def head(self) -> Head:
        """The last entry, read before a write adds one; zeros in an empty ledger."""
        return self._once("head", self._read_head)

    @property
    def at_ms(self) -> int:
        """The ledger's time (`writes/clock.py`), never before the last entry. A clock that is set back renews no
        window.
        """
        return max(self.now_ms + self.offset_ms, self.head.at_ms)

    @property
    def utc_ms(self) -> int:
        """The clock's time that belongs to `at_ms`. It determines the date, and it may go back."""
        return self.at_ms - self.offset_ms

    @abstractmethod
    def asked(self, statement: str, *values: object) -> Callable[[], list[tuple[Any, ...]]]:
        """Send a query; the returned function gives its rows. Queries sent together wait for a server once."""

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self.asked(statement, *values)()

    def row(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        """The first row of a query, or None."""
        return next(iter(self.rows(statement, *values)), None)

    def _once(self, what: str, read: Callable[[], T]) -> T:
        if what not in self._cache:
            self._cache[what] = read()
        return cast(T, self._cache[what])

    @abstractmethod
    def _read_clock(self) -> int: ...

    def _read_offset(self) -> int:
        row = self.row(CLOCK)
        return offset_in(None if row is None else row[0])

    def _read_head(self) -> Head:
        row = self.row("SELECT number, at_ms, hash FROM entries ORDER BY number DESC LIMIT 1")
        return Head() if row is None else Head(int(row[0]), int(row[1]), bytes(row[2]))


class Writing(Reading):
    """One atomic write. No other write of any process runs at the same time.

    Attributes:
      retried: may an earlier attempt have been committed although its answer was lost?
    """

    retried: bool

    @abstractmethod
    def run(self, statement: str, *values: object) -> None:
        """Execute a statement that changes rows. A later statement or the commit may raise its error."""


def offset_in(content: str | None) -> int:
    """The offset in milliseconds that the newest `clock` entry records; 0 without one."""
    return 0 if content is None else int(json.loads(content)["offset_ms"])


class Store(Protocol):
    """A database with the ledger's tables. Any thread may use it; it does not survive a fork."""

    @property
    def id(self) -> str:
        """The id of this ledger."""
        ...

    @property
    def local(self) -> bool:
        """Whether the store is a file of this machine, which takes microseconds to read."""
        ...

    @property
    def instance(self) -> str:
        """The id of this open store; every reservation records it."""
        ...

    def state(self) -> Hashable | None:
        """A value that is another one after any write of any process; None if to know it takes a read. Raises as
        `write`.
        """
        ...

    def write(self, work: Callable[[Writing], T]) -> T:
        """Do the work in one transaction, and write it durably. If the work raises, nothing is written.

        The work is repeated after a conflict or a lost connection, so if `retried` it must first look for its own
        result.
        Raises: LedgerUnavailable, LedgerInvalid (a rule of the tables was broken), TooManyQueries (busy for long).
        """
        ...

    def read(self, work: Callable[[Reading], T]) -> T:
        """Do short work in one consistent view of the tables. Raises as `write`."""
        ...

    def walk(self, work: Callable[[Reading], T]) -> T:
        """As `read`, for long work: neither writers nor other readers wait."""
        ...

    def check_writable(self) -> None:
        """Check that a write would succeed, without a change. Raises as `write`."""
        ...

    def is_dead(self, writing: Writing, instance: str) -> bool:
        """Whether the process of an instance has ended, or lost its connection to the store."""
        ...

    def close(self) -> None:
        """Release everything. May be called twice."""
        ...


SCHEMA_VERSION = 3
"""Increased with every change of the tables."""

RENEWALS = "('day', 'week', 'month', 'quarter', 'year')"
"""The calendar periods."""

CHARGE_KINDS = str(tuple(kind.value for kind in EntryKind if not kind.is_act))
"""The kinds of entries that are no acts."""

ACTS_OF_KIND = f"kind = ? AND kind NOT IN {CHARGE_KINDS}"
"""The condition for acts of a kind. SQLite uses the partial index only if a query repeats its condition word for
word.
"""

CLOCK = f"SELECT content FROM entries WHERE kind = '{EntryKind.CLOCK}' AND kind NOT IN {CHARGE_KINDS}" + (
    " ORDER BY number DESC LIMIT 1"
)
"""Reads the newest `clock` entry, by the index of acts."""

FAILURES = f"""kind IN ('{EntryKind.FAILED}', '{EntryKind.CRASHED}') AND substr(content, 1, 11) = '{{"analyst":'"""
"""The condition for failures that count. Only they name an analyst, which canonical JSON puts first. Also the
condition of an index.
"""

_TABLES = Template(f"""
CREATE TABLE identity (
    only_row $integer PRIMARY KEY CHECK (only_row = 1),
    id TEXT NOT NULL CHECK (length(id) = 36)
) $strict;

CREATE TABLE entries (
    number $integer PRIMARY KEY,
    at_ms $integer NOT NULL,
    kind TEXT NOT NULL,
    instance TEXT NOT NULL,
    operation $integer NOT NULL,
    content TEXT NOT NULL,
    hash $bytes NOT NULL CHECK (length(hash) = 32)
) $strict;
CREATE INDEX entries_by_operation ON entries (instance, operation);
CREATE INDEX acts ON entries (kind, number) WHERE kind NOT IN {CHARGE_KINDS};
CREATE INDEX failures ON entries (at_ms, number) WHERE {FAILURES};

CREATE TABLE analysts (
    name TEXT PRIMARY KEY,
    key_hash TEXT NOT NULL UNIQUE CHECK (length(key_hash) = 64),
    scram_verifier TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('analyst', 'auditor', 'admin')),
    belongs_to TEXT,
    enabled $integer NOT NULL CHECK (enabled IN (0, 1))
) $strict;

CREATE TABLE accounts (
    name TEXT PRIMARY KEY,
    accounting TEXT NOT NULL CHECK (accounting IN ('basic', 'zcdp', 'renyi')),
    nano_epsilon $integer NOT NULL CHECK (nano_epsilon > 0),
    atto_delta $integer NOT NULL CHECK (atto_delta >= 0),
    event_atto $integer NOT NULL CHECK (event_atto BETWEEN 0 AND atto_delta),
    window_ms $integer CHECK (window_ms > 0),
    nano_cap $integer CHECK (nano_cap > 0),
    started_ms $integer NOT NULL,
    spent TEXT NOT NULL,
    renew TEXT CHECK (renew IN {RENEWALS}),
    most_nano $integer CHECK (most_nano > 0),
    most_atto $integer CHECK (most_atto >= 0),
    progress TEXT NOT NULL DEFAULT '{{}}'
) $strict;

CREATE TABLE charges (
    number $integer PRIMARY KEY,
    entry $integer NOT NULL REFERENCES entries (number),
    analyst TEXT NOT NULL REFERENCES analysts (name),
    plan_hash TEXT NOT NULL,
    answer_key TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    repeats $integer REFERENCES charges (number),
    instance TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN {CHARGE_KINDS}),
    settled_by $integer REFERENCES entries (number),
    CHECK ((state = 'reserved') = (settled_by IS NULL))
) $strict;
CREATE INDEX open_charges ON charges (number) WHERE state = 'reserved';
CREATE INDEX charges_of_analyst ON charges (analyst, number);
CREATE UNIQUE INDEX idempotent_requests ON charges (analyst, idempotency_key) WHERE idempotency_key <> '';
CREATE INDEX paid_answers ON charges (answer_key, analyst, number) WHERE state = 'committed' AND answer_key <> '';
CREATE INDEX answered_plans ON charges (plan_hash, analyst, number) WHERE state = 'committed' AND answer_key <> '';

CREATE TABLE answers (
    number $integer PRIMARY KEY REFERENCES charges (number),
    answer_key TEXT NOT NULL CHECK (answer_key <> ''),
    answer $bytes NOT NULL
) $strict;
CREATE INDEX answers_by_key ON answers (answer_key, number);
""")

SQLITE_TABLES = _TABLES.substitute(integer="INTEGER", bytes="BLOB", strict="STRICT")

POSTGRES_TABLES = _TABLES.substitute(integer="BIGINT", bytes="BYTEA", strict="")

TABLES = ("identity", "entries", "analysts", "accounts", "charges", "answers")
"""All tables."""

UNCHANGED = ("identity", "entries", "answers")
"""The tables whose rows never change."""

_CHARGE_KEEPS = ("number", "entry", "analyst", "plan_hash", "answer_key", "idempotency_key", "repeats", "instance")
"""The columns of a charge that never change."""

REFUSED = "this would break the ledger"
"""The message of every trigger."""


def row_rules(
    differs: str, greatest: str, amount: Callable[[str, str], str], last: Callable[[str], str]
) -> dict[str, tuple[str, str]]:
    """The row triggers by name: the event, and the condition that is refused.

    Args:
      differs: the operator that compares two values that may be NULL.
      greatest: the function for the larger of two numbers.
      amount: SQL of a field of a stored amount.
      last: SQL of the number of the last `entry` or `charge`, or of the `time` of the last entry.
    """
    kept = " OR ".join(f"NEW.{column} {differs} OLD.{column}" for column in _CHARGE_KEEPS)
    overspent = " OR ".join(
        f"{amount('NEW.spent', field)} < 0 OR {amount('NEW.spent', field)} > {greatest}(NEW.{field}, "
        f"{amount('OLD.spent', field)})"
        for field in ("nano_epsilon", "atto_delta")
    )
    return {
        "entries_follow": (
            "INSERT ON entries",
            f"NEW.number {differs} {last('entry')} + 1 OR NEW.at_ms < {last('time')}",
        ),
        "charge_begins_reserved": (
            "INSERT ON charges",
            f"NEW.state <> 'reserved' OR NEW.number {differs} {last('charge')} + 1",
        ),
        "charge_is_settled_once": (
            "UPDATE ON charges",
            f"OLD.state <> 'reserved' OR NEW.state = 'reserved' OR {kept}",
        ),
        "analyst_keeps_name": ("UPDATE ON analysts", f"NEW.name {differs} OLD.name"),
        "account_keeps_name": (
            "UPDATE ON accounts",
            f"NEW.name {differs} OLD.name OR NEW.accounting {differs} OLD.accounting",
        ),
        "account_is_not_overspent": ("UPDATE ON accounts", f"NEW.accounting = 'basic' AND ({overspent})"),
    }
