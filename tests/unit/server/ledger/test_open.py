from __future__ import annotations

import json
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from server.errors import LedgerInvalid, LedgerMissing
from server.ledger.analyst import key_hash
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger, open_ledger
from server.ledger.store import SCHEMA_VERSION
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import charge


def edit(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_spending_and_the_ledgers_id_survive_reopening(ledger: Ledger, path: Path, marker: Path) -> None:
    ledger.commit(reserve(ledger, charge(0.25)))
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


def test_a_deleted_ledger_is_missed(ledger: Ledger, path: Path, marker: Path) -> None:
    ledger.close()
    path.unlink()
    with pytest.raises(LedgerMissing, match="gone"):
        open_ledger(path, marker)
    with pytest.raises(LedgerMissing, match="gone"):
        create_ledger(path, marker)
    assert not path.exists()


def test_another_ledger_is_refused(ledger: Ledger, path: Path, marker: Path, tmp_path: Path) -> None:
    ledger.close()
    other = tmp_path / "other.sqlite"
    create_ledger(other, tmp_path / "other.json").close()
    shutil.copy(other, path)
    with pytest.raises(LedgerInvalid, match="not the ledger"):
        open_ledger(path, marker)


def test_an_older_copy_is_refused(ledger: Ledger, path: Path, marker: Path, tmp_path: Path) -> None:
    ledger.close()
    shutil.copy(path, tmp_path / "old.sqlite")
    spending = open_ledger(path, marker)
    reserve(spending, charge(0.25))
    spending.close()
    shutil.copy(tmp_path / "old.sqlite", path)
    with pytest.raises(LedgerInvalid, match="older"):
        open_ledger(path, marker)


def test_the_marker_lags_by_the_last_change_at_most(ledger: Ledger, marker: Path) -> None:
    for _ in range(3):
        reserve(ledger, charge(1e-6))
        known = json.loads(marker.read_text())
        entries = ledger.entries()
        assert known["entries"] == len(entries) - 1
        assert known["hash"] == entries[-2].hash.hex()


def test_a_copy_that_went_on_in_another_way_is_refused(
    ledger: Ledger, path: Path, marker: Path, tmp_path: Path
) -> None:
    ledger.close()
    other, other_marker = tmp_path / "other.sqlite", tmp_path / "other.json"
    shutil.copy(path, other)
    for file, file_marker in ((path, marker), (other, other_marker)):
        spending = open_ledger(file, file_marker)
        spending.commit(reserve(spending, charge(0.25)), b"noisy")
        spending.close()
    shutil.copy(other, path)
    with pytest.raises(LedgerInvalid, match="older copy, or continues one"):
        open_ledger(path, marker)


def test_a_lost_marker_is_written_again_and_spending_stays(ledger: Ledger, path: Path, marker: Path) -> None:
    reserve(ledger, charge(0.25))
    ledger.close()
    marker.unlink()
    adopted = open_ledger(path, marker)
    assert adopted.budget("ada").epsilon_left == 0.75
    head = adopted.entries()[-1]
    known = {"ledger": adopted.id, "entries": head.number, "hash": head.hash.hex()}
    assert json.loads(marker.read_text()) == known
    adopted.close()


def test_an_unreadable_marker_is_refused(ledger: Ledger, path: Path, marker: Path) -> None:
    for text in [
        *("", "{", "[]", "null", "\ufeff{}", "{}"),
        '{"ledger": 1, "charges": 0}',
        '{"ledger": "x", "charges": -1}',
        '{"ledger": "x", "entries": true, "hash": ""}',
        '{"ledger": "x", "entries": 1, "hash": 1}',
    ]:
        ledger.close()
        marker.write_text(text)
        with pytest.raises(LedgerInvalid, match="marker"):
            open_ledger(path, marker)


def test_a_ledger_is_created_once(ledger: Ledger, path: Path, marker: Path) -> None:
    with pytest.raises(LedgerInvalid, match="already"):
        create_ledger(path, marker)
    assert ledger.analyst_by_key(key_hash("ng_ada")) == "ada"
    assert sorted(file.name for file in path.parent.glob(".*")) == []


def test_only_the_owner_may_read_it(ledger: Ledger, path: Path) -> None:
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


@pytest.mark.parametrize("version", [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_another_version_is_refused(version: int, ledger: Ledger, path: Path, marker: Path) -> None:
    ledger.close()
    edit(path, f"PRAGMA user_version = {version}")
    with pytest.raises(LedgerInvalid, match=f"version {version}"):
        open_ledger(path, marker)


def test_an_edited_ledger_is_refused(ledger: Ledger, path: Path, marker: Path) -> None:
    reserve(ledger, charge(0.25))
    ledger.close()
    edit(path, """UPDATE accounts SET spent = '{"version":1,"atto_delta":0,"currency":"basic","nano_epsilon":0}'""")
    with pytest.raises(LedgerInvalid, match="analyst:ada"):
        open_ledger(path, marker)


def test_entries_deleted_behind_the_triggers_are_missed(ledger: Ledger, path: Path, marker: Path) -> None:
    reserve(ledger, charge(0.25))
    ledger.close()
    edit(path, "DROP TRIGGER charges_are_kept", "DELETE FROM charges", "DROP TRIGGER entries_are_kept")
    edit(path, "DELETE FROM entries WHERE number = 4")
    with pytest.raises(LedgerInvalid, match="older"):
        open_ledger(path, marker)


def test_a_path_may_hold_any_character(tmp_path: Path) -> None:
    path = tmp_path / "a b?mode=memory#%41é" / "ledger.sqlite"
    create_ledger(path, tmp_path / "m.json").close()
    assert path.read_bytes().startswith(b"SQLite format 3")
