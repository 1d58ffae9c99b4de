"""Appending entries within one write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from server.ledger.chain import canonical, chained
from server.ledger.store import Head, Writing

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
        self._head = writing.head
        self._at_ms = max(writing.now_ms, writing.head.at_ms)

    @property
    def at_ms(self) -> int:
        """The ledger's time: the clock, but never before the last entry; a clock set back cannot renew a window."""
        return self._at_ms

    def append(self, kind: str, content: Mapping[str, object]) -> int:
        """Write the next entry; returns its number."""
        number, at_ms, text = self._head.number + 1, self.at_ms, canonical(content)
        link = chained(self._head.hash, number, at_ms, kind, self.instance, self.operation, text)
        self.writing.run(INSERT, number, at_ms, kind, self.instance, self.operation, text, link)
        self._head = Head(number, at_ms, link)
        return number

    def done_before(self) -> dict[str, Any] | None:
        """The content of this operation's first entry, when an attempt whose answer was lost did write it."""
        if not self.writing.retried:
            return None
        row = self.writing.row(
            "SELECT content FROM entries WHERE instance = ? AND operation = ? ORDER BY number LIMIT 1",
            self.instance,
            self.operation,
        )
        return None if row is None else dict(json.loads(row[0]))
