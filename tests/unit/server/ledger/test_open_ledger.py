from __future__ import annotations

import json
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from server.errors import LedgerInvalid, LedgerMissing
from server.keys import key_hash
from server.ledger.marker import INTERVAL
from server.ledger.open_ledger import create_ledger, open_ledger
from server.ledger.sqlite import SqliteLedger
from tests.unit.server.ledger.charges import charge


def edit(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_spending_survives(ledger: SqliteLedger, path: Path, marker: Path) -> None:
    ledger.commit(ledger.reserve(charge(0.25)))
    ledger.close()
    reopened = open_ledger(path, marker)
    assert reopened.budget("ada").epsilon_left == 0.75
    assert reopened.id == ledger.id
    reopened.close()


def test_without_ledger_and_marker_an_analyst_is_needed_first(path: Path, marker: Path) -> None:
    with pytest.raises(LedgerMissing) as refused:
        open_ledger(path, marker)
    assert refused.value.hint is not None
    assert "analyst add" in refused.value.hint
    assert not path.exists()
    assert not marker.exists()


def test_a_deleted_ledger_is_missed(ledger: SqliteLedger, path: Path, marker: Path) -> None:
    ledger.close()
    path.unlink()
    with pytest.raises(LedgerMissing, match="gone"):
        open_ledger(path, marker)
    with pytest.raises(LedgerMissing, match="gone"):
        create_ledger(path, marker)
    assert not path.exists()


def test_another_ledger_is_refused(ledger: SqliteLedger, path: Path, marker: Path, tmp_path: Path) -> None:
    ledger.close()
    other = tmp_path / "other.sqlite"
    create_ledger(other, tmp_path / "other.json").close()
    shutil.copy(other, path)
    with pytest.raises(LedgerInvalid, match="not the ledger"):
        open_ledger(path, marker)


def test_an_older_copy_is_refused(ledger: SqliteLedger, path: Path, marker: Path, tmp_path: Path) -> None:
    ledger.close()
    shutil.copy(path, tmp_path / "old.sqlite")
    spending = open_ledger(path, marker)
    spending.reserve(charge(0.25))
    spending.close()
    shutil.copy(tmp_path / "old.sqlite", path)
    with pytest.raises(LedgerInvalid, match="older"):
        open_ledger(path, marker)


def test_the_marker_never_lags_by_more_than_its_interval(ledger: SqliteLedger, marker: Path) -> None:
    for number in range(1, 3 * INTERVAL + 1):
        ledger.reserve(charge(1e-6))
        known = json.loads(marker.read_text())["charges"]
        assert number - INTERVAL <= known < number


def test_a_lost_marker_is_written_again_and_spending_stays(ledger: SqliteLedger, path: Path, marker: Path) -> None:
    ledger.reserve(charge(0.25))
    ledger.close()
    marker.unlink()
    adopted = open_ledger(path, marker)
    assert adopted.budget("ada").epsilon_left == 0.75
    assert json.loads(marker.read_text()) == {"ledger": adopted.id, "charges": 1}
    adopted.close()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"ledger": 1, "charges": 0}', '{"ledger": "x", "charges": -1}', "\ufeff{}"]
)
def test_an_unreadable_marker_is_refused(ledger: SqliteLedger, path: Path, marker: Path, text: str) -> None:
    ledger.close()
    marker.write_text(text)
    with pytest.raises(LedgerInvalid, match="marker"):
        open_ledger(path, marker)


def test_a_ledger_is_created_once(ledger: SqliteLedger, path: Path, marker: Path) -> None:
    with pytest.raises(LedgerInvalid, match="already"):
        create_ledger(path, marker)
    assert ledger.analyst_by_key(key_hash("ng_ada")) == "ada"
    assert sorted(file.name for file in path.parent.glob(".*")) == []


def test_only_the_owner_may_read_it(ledger: SqliteLedger, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_text_file_is_not_a_ledger(path: Path, marker: Path) -> None:
    path.write_text("not a database, but long enough to be looked at " * 100)
    with pytest.raises(LedgerInvalid):
        open_ledger(path, marker)


def test_another_sqlite_file_is_not_a_ledger(path: Path, marker: Path) -> None:
    edit(path, "CREATE TABLE t (x)")
    with pytest.raises(LedgerInvalid, match="not a Noisegate ledger"):
        open_ledger(path, marker)
    assert not marker.exists()


def test_another_version_is_refused(ledger: SqliteLedger, path: Path, marker: Path) -> None:
    ledger.close()
    edit(path, "PRAGMA user_version = 2")
    with pytest.raises(LedgerInvalid, match="version 2"):
        open_ledger(path, marker)


def test_an_edited_balance_is_refused(ledger: SqliteLedger, path: Path, marker: Path) -> None:
    ledger.reserve(charge(0.25))
    ledger.close()
    edit(path, "UPDATE analysts SET spent_nano_epsilon = 0")
    with pytest.raises(LedgerInvalid, match="edited"):
        open_ledger(path, marker)


def test_charges_deleted_behind_the_triggers_are_missed(ledger: SqliteLedger, path: Path, marker: Path) -> None:
    ledger.reserve(charge(0.25))
    ledger.close()
    edit(
        path,
        "DROP TRIGGER charge_is_kept",
        "DELETE FROM charges",
        "UPDATE analysts SET spent_nano_epsilon = 0",
    )
    with pytest.raises(LedgerInvalid, match="older"):
        open_ledger(path, marker)


def test_a_path_may_hold_any_character(tmp_path: Path) -> None:
    path = tmp_path / "a b?mode=memory#%41é" / "ledger.sqlite"
    create_ledger(path, tmp_path / "m.json").close()
    assert path.read_bytes().startswith(b"SQLite format 3")
