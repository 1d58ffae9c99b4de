"""While the database is away, one looks and the others are told; afterwards nobody waits."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from planner.errors import SchemaChanged
from server.errors import BackendFailed, BackendUnavailable, CancelledEarly
from server.scheduling import single_flight
from server.scheduling.single_flight import Outage


class Database:
    """Counts how often somebody looks."""

    def __init__(self) -> None:
        self.looks = 0
        self.away: Exception | None = None

    def look(self) -> None:
        self.looks += 1
        if self.away is not None:
            raise self.away


def _ask(outage: Outage, database: Database) -> None:
    with outage.watched(database.look):
        if database.away is not None:
            raise database.away


def test_nobody_begins_while_it_is_away_and_everybody_afterwards() -> None:
    cases: list[Exception] = [BackendUnavailable("gone"), SchemaChanged("changed")]
    for away in cases:
        outage, database, begun = Outage(), Database(), []
        _ask(outage, database)
        assert database.looks == 0, away
        database.away = away
        for _ in range(3):
            with pytest.raises(type(away)), outage.watched(database.look):
                begun.append(1)
                raise away
        assert (len(begun), database.looks) == (1, 2), away
        database.away = None
        _ask(outage, database)
        _ask(outage, database)
        assert database.looks == 3, away


def test_what_fails_otherwise_is_no_outage() -> None:
    outage, database = Outage(), Database()
    with pytest.raises(BackendFailed), outage.watched(database.look):
        raise BackendFailed("refused")
    _ask(outage, database)
    assert database.looks == 0


def test_many_who_ask_at_once_look_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    pause_s = 0.05
    monkeypatch.setattr(single_flight, "PROBE_PAUSE_S", pause_s)
    outage, database, together = Outage(), Database(), Barrier(16)
    database.away = BackendUnavailable("gone")
    with pytest.raises(BackendUnavailable):
        _ask(outage, database)

    def ask(_: int) -> None:
        together.wait(timeout=60)
        for _ in range(3):
            with pytest.raises(BackendUnavailable):
                _ask(outage, database)

    started = time.monotonic()
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(ask, range(16)))
    assert 3 <= database.looks <= 1 + (time.monotonic() - started) / pause_s


def test_a_wait_for_a_look_is_cancelled() -> None:
    outage, database, looking, go_on, cancelled = Outage(), Database(), Event(), Event(), Event()
    database.away = BackendUnavailable("gone")
    with pytest.raises(BackendUnavailable):
        _ask(outage, database)

    def slow() -> None:
        looking.set()
        go_on.wait(60)

    def first() -> None:
        with outage.watched(slow):
            pass

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(first)
        assert looking.wait(60)
        cancelled.set()
        with pytest.raises(CancelledEarly), outage.watched(database.look, cancelled):
            pass
        go_on.set()
        done.result(timeout=60)
