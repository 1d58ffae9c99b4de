"""The journal: entries as rows of a hash chain, appended within a write and read back.

Changing, removing or moving an entry changes the hash of every later one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from server.errors import LedgerInvalid
from server.ledger.charge import SHOWN_MS, shown_ms
from server.ledger.entry import Entry, EntryContent, EntryKind, entry_content
from server.ledger.store import CHARGE_KINDS, FAILURES, Head, Reading, Writing


def canonical(content: Mapping[str, object]) -> str:
    """The canonical JSON of a content: ASCII, sorted, without spaces; no floats, whose spelling could change."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def chained(
    previous: bytes, number: int, at_ms: int, kind: str, instance: str, operation: int, content: str
) -> bytes:
    """The SHA-256 of an entry, over the previous hash and everything of this entry; 32 bytes.

    Args:
      previous: 32 bytes.
      content: canonical. The other texts are encoded as JSON, so no two entries give the same bytes.
    """
    heading = json.dumps([number, at_ms, kind, instance, operation], separators=(",", ":"))
    return hashlib.sha256(b"%b%b\n%b" % (previous, heading.encode(), content.encode())).digest()


_PAGE = 500
_COLUMNS = "number, at_ms, kind, instance, operation, content, hash"


@dataclass(frozen=True)
class StoredEntry:
    """A row of `entries`, not yet verified."""

    number: int
    at_ms: int
    kind: str
    instance: str
    operation: int
    content: str
    hash: bytes

    def follows(self, previous: Head) -> bool:
        """Whether this is the entry after `previous`, by number, time and hash."""
        if self.number != previous.number + 1 or self.at_ms < previous.at_ms:
            return False
        fields = (self.number, self.at_ms, self.kind, self.instance, self.operation, self.content)
        return chained(previous.hash, *fields) == self.hash

    @property
    def says(self) -> EntryContent:
        """The parsed content. Raises: ValueError, KeyError or TypeError for a malformed one."""
        return entry_content(self.kind, self.content)

    @property
    def head(self) -> Head:
        """The head that the next entry builds on."""
        return Head(self.number, self.at_ms, self.hash)


def hash_of(reading: Reading, number: int) -> bytes | None:
    """The hash of an entry, or None if there is none with this number."""
    row = reading.row("SELECT hash FROM entries WHERE number = ?", number)
    return None if row is None else bytes(row[0])


def stored_entries(reading: Reading) -> Iterator[StoredEntry]:
    """All rows in order, read a page at a time."""
    after = 0
    while rows := reading.rows(
        f"SELECT {_COLUMNS} FROM entries WHERE number > ? ORDER BY number LIMIT {_PAGE}", after
    ):
        for number, at_ms, kind, instance, operation, content, link in rows:
            yield StoredEntry(number, at_ms, kind, instance, operation, content, bytes(link))
        after = rows[-1][0]


def read_entries(
    reading: Reading, *, after: int = 0, limit: int = 1000, acts_only: bool = False
) -> tuple[Entry, ...]:
    """Up to `limit` entries with numbers above `after`, in order; with `acts_only` without those of charges.

    Raises: LedgerInvalid for an entry of an unknown kind.
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


INSERT = "INSERT INTO entries (number, at_ms, kind, instance, operation, content, hash) VALUES (?, ?, ?, ?, ?, ?, ?)"


class Journal:
    """The entries of one operation.

    Args:
      writing: the write they are part of.
      instance, operation: unique together; a retry finds its earlier entries by them.
    """

    def __init__(self, writing: Writing, instance: str, operation: int) -> None:
        self.writing = writing
        self.instance = instance
        self.operation = operation
        self._last: Head | None = None  # that it wrote itself

    @property
    def at_ms(self) -> int:
        """The ledger's time of what it writes."""
        return self.writing.at_ms

    @property
    def utc_ms(self) -> int:
        """The clock's time that belongs to `at_ms`."""
        return self.writing.utc_ms

    def append(self, content: EntryContent) -> int:
        """Write the next entry; returns its number."""
        head = self._last or self.writing.head
        number, at_ms, kind, text = head.number + 1, self.at_ms, content.kind.value, canonical(content.json)
        link = chained(head.hash, number, at_ms, kind, self.instance, self.operation, text)
        self.writing.run(INSERT, number, at_ms, kind, self.instance, self.operation, text, link)
        self._last = Head(number, at_ms, link)
        return number

    def done_before(self) -> EntryContent | None:
        """The first entry of this operation, if an attempt whose answer was lost wrote it."""
        return next(iter(self.all_done_before()), None)

    def all_done_before(self) -> list[EntryContent]:
        """The entries of this operation, if an attempt whose answer was lost wrote them."""
        if not self.writing.retried:
            return []
        rows = self.writing.rows(
            "SELECT kind, content FROM entries WHERE instance = ? AND operation = ? ORDER BY number",
            self.instance,
            self.operation,
        )
        return [entry_content(kind, content) for kind, content in rows]


@dataclass(frozen=True)
class Vitals:
    """Counts for monitoring.

    Attributes:
      crashed, failed: charges that crashed, and failures that count against the limits.
      head_age_hours: the age of the last entry in whole hours, since the end of a question depends on the data.
    """

    entries: int
    crashed: int
    failed: int
    head_age_hours: int


def vitals(reading: Reading) -> Vitals:
    """Count the entries, crashes and failures. Cost: one scan of the failures by their index."""
    by_kind = dict(reading.rows(f"SELECT kind, count(*) FROM entries WHERE {FAILURES} GROUP BY kind"))
    age_ms = shown_ms(reading.at_ms) - shown_ms(reading.head.at_ms)
    crashed, failed = (int(by_kind.get(kind.value, 0)) for kind in (EntryKind.CRASHED, EntryKind.FAILED))
    return Vitals(reading.head.number, crashed, failed, age_ms // SHOWN_MS)
