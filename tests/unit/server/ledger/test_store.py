from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from server.errors import LedgerUnavailable
from server.ledger.analyst import key_hash
from server.ledger.ledger import Ledger
from server.ledger.sqlite import BUSY_TIMEOUT_S, LOG_BYTES, SqliteStore, create_ledger, open_ledger
from server.ledger.store import Reading
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import charge
from tests.unit.server.ledger.ledger_suite import LedgerSuite
from tests.unit.server.ledger.suite.ledger_case import Clock, Reopen


class TestSqliteLedger(LedgerSuite):
    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def ledger(self, path: Path, marker: Path, clock: Clock) -> Iterator[Ledger]:
        made = create_ledger(path, marker, clock)
        made.add_analyst("ada", key_hash("ng_ada"), 1.0, 1e-6)
        yield made
        made.close()

    @pytest.fixture
    def reopen(self, ledger: Ledger, path: Path, marker: Path, clock: Clock) -> Iterator[Reopen]:
        opened: list[Ledger] = []

        def once_more() -> Ledger:
            opened.append(open_ledger(path, marker, clock))
            return opened[-1]

        yield once_more
        for book in opened:
            book.close()

    def test_a_large_commit_leaves_no_large_log(self, ledger: Ledger, path: Path) -> None:
        log = path.with_name(f"{path.name}-wal")
        paid = reserve(ledger, charge(0.1, answer_key="large"))
        ledger.commit(paid, bytes(3 * LOG_BYTES))
        assert log.stat().st_size <= LOG_BYTES
        assert ledger.verify().fault is None

    def test_a_large_commit_waits_for_no_reader(self, ledger: Ledger, path: Path, marker: Path) -> None:
        log = path.with_name(f"{path.name}-wal")
        reading, go_on = threading.Event(), threading.Event()

        def long(view: Reading) -> bool:
            view.rows("SELECT count(*) FROM entries")
            reading.set()
            return go_on.wait(60)

        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(ledger._store.read, long)
            assert reading.wait(60)
            began = time.monotonic()
            ledger.commit(reserve(ledger, charge(0.1, answer_key="large")), bytes(3 * LOG_BYTES))
            assert time.monotonic() - began < 0.9 * BUSY_TIMEOUT_S  # which it would wait; a busy disk takes less
            go_on.set()
            assert waiting.result(60)
        reserve(ledger, charge(0.1))
        assert log.stat().st_size <= LOG_BYTES

    def test_a_short_read_does_not_wait_for_a_longer_one(self, ledger: Ledger, path: Path, marker: Path) -> None:
        ledger.close()
        with closing(SqliteStore(path, marker)) as store:
            reading, go_on = threading.Event(), threading.Event()

            def long(_: Reading) -> bool:
                reading.set()
                return go_on.wait(60)

            with ThreadPoolExecutor(1) as threads:
                waiting = threads.submit(store.read, long)
                assert reading.wait(60)
                try:
                    assert store.read(lambda view: view.row("SELECT 1")) == (1,)
                finally:
                    go_on.set()
                assert waiting.result()

    def test_a_read_may_end_after_the_ledger_is_closed(self, ledger: Ledger, path: Path, marker: Path) -> None:
        ledger.close()
        store = SqliteStore(path, marker)

        def closing_time(view: Reading) -> object:
            store.close()
            return view.row("SELECT 1")

        assert store.read(closing_time) == (1,)
        with pytest.raises(LedgerUnavailable):
            store.read(lambda view: view.row("SELECT 1"))
