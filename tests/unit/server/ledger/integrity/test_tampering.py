from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from server.ledger.store_ledger import StoreLedger
from tests.unit.server.ledger.tampering import EDITS, fill


@pytest.mark.parametrize("edit", EDITS)
def test_tampering_is_found(ledger: StoreLedger, path: Path, edit: str) -> None:
    fill(ledger)
    assert ledger.verify().fault is None
    with closing(sqlite3.connect(path, isolation_level=None)) as foreign:
        for (trigger,) in foreign.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            foreign.execute(f"DROP TRIGGER {trigger}")
        for statement in EDITS[edit]:
            assert foreign.execute(statement).rowcount >= 1
    assert ledger.verify().fault is not None
