"""What every query reads of the ledger costs the same however long the ledger is.

Counted in the instructions of SQLite's own machine, so that no machine's speed matters.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from server.ledger import sqlite
from server.ledger.analyst import key_hash
from server.ledger.ledger import Ledger
from server.ledger.sqlite import connect, open_ledger
from tests.support.charging import reserve
from tests.support.long_ledger import charge_of, long_ledger, name_of
from tests.unit.server.ledger.charges import ACT, charge

_SHORT, _LONG = 400, 3_000
_MORE = 1.5  # a deeper tree takes a little more

READS: dict[str, Callable[[Ledger], object]] = {
    "key": lambda ledger: ledger.analyst_by_key(key_hash("ng_1")),
    "analyst": lambda ledger: ledger.analyst(name_of(1)),
    "data version": lambda ledger: ledger.data_version(),
    "accepted policy": lambda ledger: ledger.accepted_policy(),
    "budget": lambda ledger: ledger.budget(name_of(1)),
    "kept answer": lambda ledger: ledger.cached_answer(charge_of(1).answer_key, name_of(1)),
    "idempotency key": lambda ledger: ledger.charge_of(name_of(1), "once"),
    "answers to a plan": lambda ledger: ledger.answers_to(name_of(1), charge_of(1).plan_hash),
    "history": lambda ledger: ledger.newest_charges(name_of(1), limit=1),
    "charge": lambda ledger: ledger.commit(reserve(ledger, charge(0.1, analyst=name_of(1))), b"x"),
}


@pytest.mark.slow
def test_a_long_ledger_costs_a_query_no_more_than_a_short_one(
    ledgers: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for read in READS:
        short, long = (_instructions(folder, READS[read], monkeypatch) for folder in ledgers)
        assert long <= _MORE * short, read


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Folders with a short ledger and with a long one."""
    folders = tmp_path_factory.mktemp("short"), tmp_path_factory.mktemp("long")
    for folder, entries in zip(folders, (_SHORT, _LONG), strict=True):
        with closing(open_ledger(*long_ledger(folder, entries))) as ledger:
            ledger.bump_data(ACT)
    return folders


def _instructions(folder: Path, read: Callable[[Ledger], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many instructions SQLite runs for it."""
    run = 0

    def count() -> int:
        nonlocal run
        run += 1
        return 0

    def counting(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.set_progress_handler(count, 1)
        return connection

    monkeypatch.setattr(sqlite, "connect", counting)
    (path,) = folder.glob("ledger-*.sqlite")
    with closing(open_ledger(path, path.with_suffix(".json"))) as ledger:
        run = 0
        read(ledger)
        return run
