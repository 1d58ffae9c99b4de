"""The store itself refuses what the ledger never does."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.ledger.sqlite import SqliteLedger
from tests.unit.server.ledger.charges import charge


@pytest.fixture
def store(ledger: SqliteLedger, path: Path) -> Iterator[sqlite3.Connection]:
    """A foreign connection to a ledger with one committed and one reserved charge of a tenth each."""
    ledger.commit(ledger.reserve(charge(0.1)))
    ledger.reserve(charge(0.1))
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


INSERT = (
    "INSERT {mode} INTO charges (number, analyst, nano_epsilon, atto_delta, state, request_id, policy_hash,"
    " plan_hash, mechanism, reserved_at_ms, settled_at_ms)"
    " VALUES ({number}, 'ada', {nano}, 0, '{state}', 'r', 'p', 'q', 'gem', 0, {settled})"
)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM charges",
        "DELETE FROM charges WHERE state = 'reserved'",
        "DELETE FROM analysts",
        "UPDATE analysts SET name = 'eve'",
        "UPDATE charges SET state = 'reserved', settled_at_ms = NULL WHERE number = 1",
        "UPDATE charges SET state = 'released' WHERE number = 1",
        "UPDATE charges SET state = 'failed' WHERE number = 1",
        "UPDATE charges SET nano_epsilon = 1 WHERE number = 2",
        "UPDATE charges SET state = 'committed', settled_at_ms = 1, nano_epsilon = 1 WHERE number = 2",
        "UPDATE charges SET state = 'committed', settled_at_ms = 1, analyst = 'eve' WHERE number = 2",
        "UPDATE charges SET state = 'committed', settled_at_ms = 1, number = 9 WHERE number = 2",
        "UPDATE charges SET state = 'committed' WHERE number = 2",
        "UPDATE charges SET state = 'forgiven', settled_at_ms = 1 WHERE number = 2",
        "UPDATE OR REPLACE charges SET number = 1 WHERE number = 2",
        "INSERT OR REPLACE INTO analysts SELECT name, key_hash, 9000000000, 0, 0, 0, 0 FROM analysts",
        "UPDATE analysts SET spent_nano_epsilon = nano_epsilon + 1",
        INSERT.format(mode="", number=3, nano=1, state="committed", settled=1),
        INSERT.format(mode="", number=4, nano=1, state="reserved", settled="NULL"),
        INSERT.format(mode="OR REPLACE", number=1, nano=1, state="reserved", settled="NULL"),
        INSERT.format(mode="OR REPLACE", number=2, nano=1, state="reserved", settled="NULL"),
        INSERT.format(mode="", number=3, nano=0, state="reserved", settled="NULL"),
        INSERT.format(mode="", number=3, nano=-1, state="reserved", settled="NULL"),
        INSERT.format(mode="", number=3, nano=0.5, state="reserved", settled="NULL"),
        INSERT.format(mode="", number=3, nano=800_000_001, state="reserved", settled="NULL"),  # overspends by one
    ],
)
def test_the_store_refuses(store: sqlite3.Connection, statement: str) -> None:
    before = list(store.iterdump())
    with pytest.raises(sqlite3.IntegrityError):
        store.execute(statement)
    assert list(store.iterdump()) == before


def test_the_store_accepts_what_the_ledger_does(store: sqlite3.Connection) -> None:
    store.execute(INSERT.format(mode="", number=3, nano=800_000_000, state="reserved", settled="NULL"))
    store.execute("UPDATE charges SET state = 'released', settled_at_ms = 1 WHERE number = 3")
    spent = store.execute("SELECT spent_nano_epsilon FROM analysts").fetchone()
    assert spent == (200_000_000,)
