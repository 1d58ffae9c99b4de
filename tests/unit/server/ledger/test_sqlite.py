from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.keys import key_hash
from server.ledger.book import Book
from server.ledger.open_ledger import create_ledger, open_ledger
from tests.unit.server.ledger.ledger_suite import LedgerSuite
from tests.unit.server.ledger.suite.ledger_case import Clock, Reopen


class TestSqliteLedger(LedgerSuite):
    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def ledger(self, path: Path, marker: Path, clock: Clock) -> Iterator[Book]:
        made = create_ledger(path, marker, clock)
        made.add_analyst("ada", key_hash("ng_ada"), 1.0, 1e-6)
        yield made
        made.close()

    @pytest.fixture
    def reopen(self, ledger: Book, path: Path, marker: Path, clock: Clock) -> Iterator[Reopen]:
        opened: list[Book] = []

        def once_more() -> Book:
            opened.append(open_ledger(path, marker, clock))
            return opened[-1]

        yield once_more
        for book in opened:
            book.close()

    def test_keys_are_not_in_the_file(self, ledger: Book, path: Path) -> None:
        ledger.close()
        assert b"ng_ada" not in path.read_bytes()
