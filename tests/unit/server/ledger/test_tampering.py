import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from server.ledger.ledger import Ledger
from server.ledger.sqlite import open_ledger
from tests.unit.server.ledger.tampering import EDITS, fill


def test_tampering_is_found(ledger: Ledger, path: Path, marker: Path) -> None:
    """Each edit in a copy of its own, behind the back of who has it open."""
    fill(ledger)
    assert ledger.verify().fault is None
    ledger.close()
    for number, (edit, statements) in enumerate(EDITS.items()):
        copy, copied_marker = path.with_name(f"{number}.sqlite"), marker.with_name(f"{number}.json")
        shutil.copy(path, copy)
        shutil.copy(marker, copied_marker)
        with closing(open_ledger(copy, copied_marker)) as opened:
            with closing(sqlite3.connect(copy, isolation_level=None)) as foreign:
                triggers = foreign.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall()
                for (trigger,) in triggers:
                    foreign.execute(f"DROP TRIGGER {trigger}")
                for statement in statements:
                    assert foreign.execute(statement).rowcount >= 1, edit
            assert opened.verify().fault is not None, edit
