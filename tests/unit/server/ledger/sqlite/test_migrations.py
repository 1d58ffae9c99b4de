from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from server.errors import LedgerInvalid
from server.ledger.analyst import key_hash
from server.ledger.charge import Charge
from server.ledger.sqlite import open_ledger
from server.query import Budget
from tests.unit.server.ledger.charges import charge

ID = "01234567-89ab-cdef-0123-456789abcdef"

CHARGES = (  # analyst, nano-epsilon, state, reserved and settled at
    ("ada", 600_000_000, "released", 2_000, 9_000),
    ("ada", 600_000_000, "committed", 9_100, 9_200),
    ("eve", 2_000_000_000, "crashed", 9_150, 999_000),
    ("ada", 300_000_000, "failed", 5_000, 6_000),  # the clock had been set back
    ("ada", 100_000_000, "reserved", 9_900, None),
)


@pytest.fixture
def old(path: Path, marker: Path) -> Path:
    """A ledger of version 1, filled under its own rules."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(Path(__file__).with_name("version_1.sql").read_text())
        connection.execute("INSERT INTO identity VALUES (1, ?)", (ID,))
        for name, nano_epsilon, added_at_ms in (("eve", 2 * 10**9, 1_500), ("ada", 10**9, 1_000)):
            connection.execute(
                "INSERT INTO analysts (name, key_hash, nano_epsilon, atto_delta, added_at_ms) VALUES (?, ?, ?, ?, ?)",
                (name, key_hash(f"ng_{name}"), nano_epsilon, 10**12, added_at_ms),
            )
        for number, (analyst, nano_epsilon, state, reserved_at_ms, settled_at_ms) in enumerate(CHARGES, 1):
            connection.execute(
                "INSERT INTO charges VALUES (?, ?, ?, 0, 'reserved', 'request', 'policy', 'plan', 'gem', ?, NULL)",
                (number, analyst, nano_epsilon, reserved_at_ms),
            )
            if settled_at_ms is not None:
                settled = (state, settled_at_ms, number)
                connection.execute("UPDATE charges SET state = ?, settled_at_ms = ? WHERE number = ?", settled)
    marker.write_text(json.dumps({"ledger": ID, "charges": len(CHARGES)}))
    return path


def test_everything_is_carried_over(old: Path, marker: Path) -> None:
    ledger = open_ledger(old, marker)
    assert ledger.id == ID
    assert ledger.verify().fault is None
    assert ledger.budget("ada") == Budget(1.0, 1e-6, 0.0, 1e-6)
    assert ledger.budget("eve") == Budget(2.0, 1e-6, 0.0, 1e-6)
    assert ledger.analyst_by_key(key_hash("ng_eve")) == "eve"
    found = ledger.charges()
    assert [(one.charge.analyst, one.state) for one in found] == [(charge[0], charge[2]) for charge in CHARGES]
    assert found[1].charge == Charge("ada", 0.6, 0.0, "request", "policy", "plan", "gem")
    assert [one.reserved_at_ms for one in found] == [2_000, 9_100, 9_150, 9_150, 9_900]
    assert [one.id for one in ledger.recover()] == [5]
    ledger.close()


def test_it_is_done_once(old: Path, marker: Path) -> None:
    open_ledger(old, marker).close()
    again = open_ledger(old, marker)
    assert again.verify().entries == 1 + 2 * 2 + 2 * len(CHARGES) - 1
    again.add_analyst("grace", key_hash("ng_grace"), 1.0, 0.0)
    again.commit(again.reserve(charge(0.5, analyst="grace")))
    assert again.verify().fault is None
    again.close()


def test_an_older_copy_of_it_is_still_noticed(old: Path, marker: Path) -> None:
    marker.write_text(json.dumps({"ledger": ID, "charges": len(CHARGES) + 1}))
    with pytest.raises(LedgerInvalid, match="older copy"):
        open_ledger(old, marker)
    with closing(sqlite3.connect(old)) as connection:  # and it was left as it was
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM charges WHERE state = 'failed'").fetchone() == (1,)


def test_an_edited_one_is_refused(old: Path, marker: Path) -> None:
    """What is spent is counted anew from the charges; those of an overspent budget contradict their grant."""
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER charge_is_settled_once")
        connection.execute("DROP TRIGGER released_is_given_back")
        connection.execute("UPDATE charges SET state = 'committed' WHERE number = 1")
    with pytest.raises(LedgerInvalid):
        open_ledger(old, marker)
