"""Appending entries within one write."""

from __future__ import annotations

import json

from server.ledger.entry_contents import EntryContent, entry_content
from server.ledger.store import Head, Writing
from server.ledger.tables.hash_chain import canonical, chained

INSERT = "INSERT INTO entries (number, at_ms, kind, instance, operation, content, hash) VALUES (?, ?, ?, ?, ?, ?, ?)"


class Journal:
    """The entries of one operation.

    Args:
      writing: the write they are part of.
      instance, operation: unique together; a retry finds by them what it had already done.
    """

    def __init__(self, writing: Writing, instance: str, operation: int) -> None:
        self.writing = writing
        self.instance = instance
        self.operation = operation
        self._last: Head | None = None  # that it wrote itself

    @property
    def at_ms(self) -> int:
        """The ledger's time (`ledger_clock.py`): never before the last entry; a clock set back cannot renew a
        window."""
        return max(self.writing.now_ms + self.writing.offset_ms, self.writing.head.at_ms)

    @property
    def utc_ms(self) -> int:
        """The clock's time that belongs to the ledger's: it says which day it is, and it may go back."""
        return self.at_ms - self.writing.offset_ms

    def append(self, content: EntryContent) -> int:
        """Write the next entry; returns its number."""
        head = self._last or self.writing.head
        number, at_ms, kind, text = head.number + 1, self.at_ms, content.kind.value, canonical(content.json)
        link = chained(head.hash, number, at_ms, kind, self.instance, self.operation, text)
        self.writing.run(INSERT, number, at_ms, kind, self.instance, self.operation, text, link)
        self._last = Head(number, at_ms, link)
        return number

    def done_before(self) -> EntryContent | None:
        """The content of this operation's first entry, when an attempt whose answer was lost did write it."""
        return next(iter(self.all_done_before()), None)

    def all_done_before(self) -> list[EntryContent]:
        """The contents of this operation's entries, when an attempt whose answer was lost did write them."""
        if not self.writing.retried:
            return []
        rows = self.writing.rows(
            "SELECT kind, content FROM entries WHERE instance = ? AND operation = ? ORDER BY number",
            self.instance,
            self.operation,
        )
        return [entry_content(kind, json.loads(content)) for kind, content in rows]
