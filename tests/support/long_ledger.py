"""A ledger with many entries, made by the ledger's own code in one transaction; kept for the next run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from server.ledger.account import Grant
from server.ledger.analyst import Act, key_hash
from server.ledger.charge import Charge
from server.ledger.entry import Committed
from server.ledger.sqlite import SqliteView, connect, create_ledger, transaction
from server.ledger.writes.journal import Journal
from server.ledger.writes.reserve import reserved, settle

ANALYSTS = 100
BUDGET = 1e6


def long_ledger(folder: Path, entries: int) -> tuple[Path, Path]:
    """The paths of a ledger with at least so many entries and of its marker."""
    path, marker = folder / f"ledger-{entries}.sqlite", folder / f"ledger-{entries}.json"
    if not path.exists():
        building = folder / f"building-{entries}.sqlite"
        for leftover in folder.glob("building-*"):
            leftover.unlink()
        _build(building, folder / "building-.json", entries)
        building.rename(path)
    marker.unlink(missing_ok=True)
    return path, marker


def name_of(number: int) -> str:
    """The analyst who makes a charge."""
    return f"analyst-{number % ANALYSTS}"


def charge_of(number: int) -> Charge:
    """A charge with the texts that real ones have."""
    hashes = (f"{7:064x}", f"{number % 1000:064x}")
    return Charge(name_of(number), 0.01, 0.0, f"{number:032x}", *hashes, "gem", answer_key=f"{number:064x}")


def _build(path: Path, marker: Path, entries: int) -> None:
    ledger = create_ledger(path, marker)
    ledger.grant("dataset", Grant(BUDGET), Act())
    for number in range(ANALYSTS):
        ledger.add_analyst(name_of(number), key_hash(f"ng_{number}"), BUDGET, 0.0)
    ledger.close()
    with closing(connect(path)) as connection, transaction(connection):
        number = 0
        while _spend_once(connection, number) < entries:
            number += 1


def _spend_once(connection: sqlite3.Connection, number: int) -> int:
    """One charge with its answer; returns how many entries there are now."""
    reservation = reserved(_journal(connection, number), charge_of(number))
    journal = _journal(connection, number)
    settle(journal, reservation, Committed, b"x" * 200)
    return journal.writing.head.number + 1


def _journal(connection: sqlite3.Connection, number: int) -> Journal:
    return Journal(SqliteView(connection, lambda: 1_700_000_000 + number), "builder", number)
