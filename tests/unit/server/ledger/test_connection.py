from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from server.errors import LedgerUnavailable, TooManyQueries
from server.ledger.ledger import Ledger
from server.ledger.sqlite import connect, transaction


def test_commits_are_synced(ledger: Ledger, path: Path) -> None:
    with closing(connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_a_missing_file_is_not_made(path: Path) -> None:
    with pytest.raises(LedgerUnavailable):
        connect(path)
    assert not path.exists()


def test_a_writer_that_stays_is_waited_for_only_so_long(ledger: Ledger, path: Path) -> None:
    with closing(connect(path)) as holder, closing(connect(path, busy_timeout_s=0.05)) as waiter:
        with transaction(holder), pytest.raises(TooManyQueries), transaction(waiter):
            raise AssertionError("two writers at once")
        with transaction(waiter):
            pass


def test_a_reader_never_waits_for_a_writer(ledger: Ledger, path: Path) -> None:
    with closing(connect(path)) as holder, transaction(holder):
        holder.execute("UPDATE analysts SET role = 'admin'")
        assert ledger.analyst_by_key("0" * 64) is None
        assert ledger.budget("ada").epsilon_left == 1.0


def test_what_failed_is_undone(ledger: Ledger, path: Path) -> None:
    with closing(connect(path)) as connection:
        with pytest.raises(KeyError), transaction(connection):
            connection.execute("UPDATE analysts SET role = 'admin'")
            raise KeyError
        assert not connection.in_transaction
        assert connection.execute("SELECT role FROM analysts").fetchone() == ("analyst",)


def test_sqlites_words_are_not_ours(ledger: Ledger, path: Path) -> None:
    with closing(connect(path)) as connection:
        with pytest.raises(LedgerUnavailable) as raised, transaction(connection):
            connection.execute("SELECT secret FROM nowhere")
        assert "nowhere" not in raised.value.message
        assert isinstance(raised.value.__cause__, sqlite3.OperationalError)
