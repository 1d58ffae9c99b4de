"""Entries as rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from server.errors import LedgerInvalid
from server.ledger.entry import Entry
from server.ledger.entry_contents import EntryContent, EntryKind, entry_content
from server.ledger.store import Head, Reading
from server.ledger.tables.hash_chain import chained
from server.ledger.tables.schema import CHARGE_KINDS

_HEAD = "SELECT number, at_ms, hash FROM entries ORDER BY number DESC LIMIT 1"
_PAGE = 500
_COLUMNS = "number, at_ms, kind, instance, operation, content, hash"


@dataclass(frozen=True)
class StoredEntry:
    """A row of `entries` as it stands there; nothing in it is trusted yet."""

    number: int
    at_ms: int
    kind: str
    instance: str
    operation: int
    content: str
    hash: bytes

    def follows(self, previous: Head) -> bool:
        """Whether it is the entry after `previous`: by its number, its time and its hash."""
        if self.number != previous.number + 1 or self.at_ms < previous.at_ms:
            return False
        fields = (self.number, self.at_ms, self.kind, self.instance, self.operation, self.content)
        return chained(previous.hash, *fields) == self.hash

    @property
    def says(self) -> EntryContent:
        """Its content. Raises: ValueError, KeyError or TypeError for a foreign one."""
        return entry_content(self.kind, json.loads(self.content))

    @property
    def head(self) -> Head:
        """What the next entry builds on."""
        return Head(self.number, self.at_ms, self.hash)


def head(reading: Reading) -> Head:
    """The last entry's number, time and hash, onto which the next is chained; zeros in an empty ledger."""
    row = reading.row(_HEAD)
    return Head() if row is None else Head(int(row[0]), int(row[1]), bytes(row[2]))


def hash_of(reading: Reading, number: int) -> bytes | None:
    """The hash of an entry, or None when there is none of that number."""
    row = reading.row("SELECT hash FROM entries WHERE number = ?", number)
    return None if row is None else bytes(row[0])


def ledger_time(reading: Reading) -> int:
    """As `Journal.at_ms`, for who only reads."""
    return max(reading.now_ms + reading.offset_ms, head(reading).at_ms)


def stored_entries(reading: Reading, after: int = 0) -> Iterator[StoredEntry]:
    """All rows after a number, in order, read a page at a time."""
    while rows := reading.rows(
        f"SELECT {_COLUMNS} FROM entries WHERE number > ? ORDER BY number LIMIT {_PAGE}", after
    ):
        for number, at_ms, kind, instance, operation, content, link in rows:
            yield StoredEntry(number, at_ms, kind, instance, operation, content, bytes(link))
        after = rows[-1][0]


def read_entries(reading: Reading, after: int, limit: int, acts_only: bool) -> tuple[Entry, ...]:
    """Up to `limit` entries with numbers above `after`, in order.

    Args:
      reading: the read transaction.
      after: an entry's number.
      limit: the most entries.
      acts_only: leave charges and what follows from them out.
    Raises: LedgerInvalid for one of a foreign kind.
    """
    acts = f" AND kind NOT IN {CHARGE_KINDS}" if acts_only else ""
    rows = reading.rows(
        f"SELECT number, at_ms, kind, content, hash FROM entries WHERE number > ?{acts} ORDER BY number LIMIT ?",
        *(after, limit),
    )
    return tuple(
        Entry(number, at_ms, _kind(number, kind), json.loads(content), bytes(link))
        for number, at_ms, kind, content, link in rows
    )


def _kind(number: int, kind: str) -> EntryKind:
    try:
        return EntryKind(kind)
    except ValueError:
        hint = "verify the ledger; open it with the version that wrote it"
        raise LedgerInvalid(f"The entry {number} is of no kind that this version knows.", hint=hint) from None
