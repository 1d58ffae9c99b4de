"""Appending entries within one write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
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
        self._last: Head | None = None  # that it wrote itself

    @cached_property
    def at_ms(self) -> int:
        """The ledger's time: the clock, but never before the last entry; a clock set back cannot renew a window."""
        return max(self.writing.now_ms, self.writing.head.at_ms)

    def append(self, kind: str, content: Mapping[str, object]) -> int:
        """Write the next entry; returns its number."""
        head = self._last or self.writing.head
        number, at_ms, text = head.number + 1, self.at_ms, canonical(content)
        link = chained(head.hash, number, at_ms, kind, self.instance, self.operation, text)
        self.writing.run(INSERT, number, at_ms, kind, self.instance, self.operation, text, link)
        self._last = Head(number, at_ms, link)
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
