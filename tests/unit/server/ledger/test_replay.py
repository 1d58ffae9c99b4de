from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from server.errors import LedgerInvalid
from server.ledger.analyst import key_hash
from server.ledger.entry import EntryKind, Restored
from server.ledger.ledger import Ledger
from server.ledger.sqlite import open_ledger
from server.ledger.store import ORIGIN
from server.ledger.writes.journal import canonical, chained

LEDGER = "fbbe5d29-75aa-41ea-969d-6f6ee07135f7"
LATER = {EntryKind.CHECKED, EntryKind.PERIODS, EntryKind.RENEWED, EntryKind.TUNING, EntryKind.TUNED}
"""Kinds that there were not yet; the suite of all stores writes and verifies them (`suite/`)."""

HEAD = "0b22dc436cb3c196fc19a789556ff02cc200b5359c6b54d8421f7d915bd65435"


@pytest.fixture
def recorded(path: Path, marker: Path) -> Iterator[Ledger]:
    """A ledger that an earlier version wrote, with an entry of every kind that it knew."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(Path(__file__).with_name("recorded_ledger.sql").read_text())
    marker.write_text(json.dumps({"ledger": LEDGER, "entries": 33, "hash": HEAD, "charges": 0}))
    ledger = open_ledger(path, marker, lambda: 1_800_100_000.0)
    yield ledger
    ledger.close()


def test_a_recorded_ledger_of_every_kind_holds(recorded: Ledger) -> None:
    found = recorded.verify()
    assert (found.entries, found.head, found.fault) == (33, HEAD, None)
    assert {entry.kind for entry in recorded.entries()} == set(EntryKind) - LATER
    assert recorded.accepted_policy() == "policy2"
    assert recorded.accepted_ownership() == ("orders by customer",)
    assert recorded.data_version() == 2
    assert [record.charge.request_hash for record in recorded.charges()][:2] == ["", "h"]


def test_every_stored_content_is_read_and_written_back_byte_by_byte(recorded: Ledger, path: Path) -> None:
    from server.ledger.writes.journal import StoredEntry

    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT number, at_ms, kind, instance, operation, content, hash FROM entries ORDER BY number"
        ).fetchall()
    last = ORIGIN
    for row in rows:
        entry = StoredEntry(*row)
        said = entry.says
        assert said.kind == entry.kind
        assert canonical(said.json) == entry.content
        heading = entry.number, entry.at_ms, said.kind.value, entry.instance, entry.operation
        last = chained(last, *heading, canonical(said.json))
        assert last == entry.hash
    assert last.hex() == HEAD


def test_a_field_of_a_later_version_is_left_aside() -> None:
    json_form = {"missing": 1, "by": "grace", "reason": "", "more": 1}
    assert Restored(**Restored.arguments(json_form)) == Restored(missing=1, by="grace", reason="")


def test_an_entry_of_a_foreign_kind_is_refused_and_found(recorded: Ledger, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        number, at_ms, link = connection.execute(
            "SELECT number, at_ms, hash FROM entries ORDER BY number DESC LIMIT 1"
        ).fetchone()
        new = chained(link, number + 1, at_ms, "gift", "me", 1, "{}")
        values = (number + 1, at_ms, "gift", "me", 1, "{}", new)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        connection.commit()
    fault = recorded.verify().fault
    assert fault is not None and "Entry 34 (gift)" in fault
    with pytest.raises(LedgerInvalid, match="entry 34"):
        recorded.entries()
    assert recorded.entries(limit=33)[-1].kind is EntryKind.RESTORED
    assert recorded.analyst_by_key(key_hash("ng_ada")) == "ada"
