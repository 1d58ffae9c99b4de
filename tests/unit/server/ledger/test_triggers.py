"""The store itself refuses what the ledger never does."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from server.ledger.analyst import key_hash
from server.ledger.sqlite import create_ledger
from server.ledger.store import TABLES
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import charge


@pytest.fixture(scope="module")
def spent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """A foreign connection to a ledger with one committed and one reserved charge of a tenth each; only read."""
    folder = tmp_path_factory.mktemp("triggers")
    with closing(create_ledger(folder / "ledger.sqlite", folder / "marker.json")) as ledger:
        ledger.add_analyst("ada", key_hash("ng_ada"), 1.0, 1e-6)
        ledger.add_analyst("eve", "1" * 64, 1.0, 1e-6)
        ledger.commit(reserve(ledger, charge(0.1, answer_key="question")), b"noisy")
        reserve(ledger, charge(0.1, idempotency_key="once"))
        with closing(sqlite3.connect(folder / "ledger.sqlite")) as connection:
            yield connection


@pytest.fixture
def store(spent: sqlite3.Connection, path: Path) -> Iterator[sqlite3.Connection]:
    """A copy of it, into which a test writes."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        spent.backup(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        yield connection


CHARGE = (
    "INSERT {mode} INTO charges (number, entry, analyst, plan_hash, answer_key, idempotency_key, instance, state,"
    " settled_by) VALUES ({number}, 1, 'ada', '', '', '{key}', 'i', '{state}', {settled})"
)
ENTRY = "INSERT {mode} INTO entries VALUES ({number}, {at_ms}, 'data', 'i', 0, '{{}}', zeroblob({length}))"
LATER = 10**15
SPENT = 'UPDATE accounts SET spent = \'{{"nano_epsilon":{nano},"atto_delta":{atto}}}\''


def test_the_store_refuses(store: sqlite3.Connection) -> None:
    for statement in [
        *(f"DELETE FROM {table}" for table in TABLES),
        "DELETE FROM charges WHERE state = 'reserved'",
        "UPDATE identity SET id = '00000000-0000-0000-0000-000000000000'",
        "INSERT OR REPLACE INTO identity VALUES (1, '00000000-0000-0000-0000-000000000000')",
        "UPDATE entries SET content = '{}'",
        "UPDATE answers SET answer = x'00'",
        "INSERT OR REPLACE INTO answers SELECT number, answer_key, x'00' FROM answers",
        "UPDATE analysts SET name = 'eve'",
        "UPDATE analysts SET role = 'king'",
        "UPDATE OR REPLACE analysts SET key_hash = (SELECT key_hash FROM analysts WHERE name = 'ada')",
        "INSERT OR REPLACE INTO analysts SELECT name, key_hash, '', 'admin', NULL, 1 FROM analysts",
        "UPDATE accounts SET name = 'analyst:eve'",
        "UPDATE accounts SET accounting = 'zcdp'",
        "UPDATE accounts SET nano_epsilon = 'many'",
        "INSERT OR REPLACE INTO accounts SELECT * FROM accounts",
        SPENT.format(nano=10**9 + 1, atto=0),
        SPENT.format(nano=0, atto=10**12 + 1),
        SPENT.format(nano=-1, atto=0),
        "UPDATE charges SET state = 'reserved', settled_by = NULL WHERE number = 1",
        "UPDATE charges SET state = 'released' WHERE number = 1",
        "UPDATE charges SET state = 'failed' WHERE number = 1",
        "UPDATE charges SET state = 'committed', settled_by = 1, analyst = 'eve' WHERE number = 2",
        "UPDATE charges SET state = 'committed', settled_by = 1, number = 9 WHERE number = 2",
        "UPDATE charges SET state = 'committed', settled_by = 1, answer_key = 'q' WHERE number = 2",
        "UPDATE charges SET state = 'committed', settled_by = 1, instance = 'me' WHERE number = 2",
        "UPDATE charges SET state = 'committed' WHERE number = 2",
        "UPDATE charges SET state = 'committed', settled_by = 999 WHERE number = 2",
        "UPDATE charges SET state = 'forgiven', settled_by = 1 WHERE number = 2",
        "UPDATE OR REPLACE charges SET number = 1 WHERE number = 2",
        CHARGE.format(mode="", number=3, key="", state="committed", settled=1),
        CHARGE.format(mode="", number=4, key="", state="reserved", settled="NULL"),
        CHARGE.format(mode="OR REPLACE", number=1, key="", state="reserved", settled="NULL"),
        CHARGE.format(mode="OR REPLACE", number=3, key="once", state="reserved", settled="NULL"),
        ENTRY.format(mode="", number=99, at_ms=LATER, length=32),
        ENTRY.format(mode="OR REPLACE", number=1, at_ms=LATER, length=32),
        ENTRY.format(mode="", number=9, at_ms=0, length=32),
        ENTRY.format(mode="", number=9, at_ms=LATER, length=31),
        ENTRY.format(mode="", number=9, at_ms="'late'", length=32),
    ]:
        before = list(store.iterdump())
        with pytest.raises(sqlite3.IntegrityError):
            store.execute(statement)
        assert list(store.iterdump()) == before, statement


def test_the_store_accepts_what_the_ledger_does(store: sqlite3.Connection) -> None:
    for statement in [
        CHARGE.format(mode="", number=3, key="", state="reserved", settled="NULL"),
        "UPDATE charges SET state = 'released', settled_by = 1 WHERE number = 2",
        ENTRY.format(mode="", number=9, at_ms=LATER, length=32),
        SPENT.format(nano=10**9, atto=10**12),
        "UPDATE accounts SET nano_epsilon = 1",  # a grant below what is spent
    ]:
        store.execute(statement)
