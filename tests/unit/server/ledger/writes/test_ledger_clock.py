"""A clock that is put forward while a process runs changes nothing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from server.ledger.account import Grant
from server.ledger.ledger import Ledger
from server.ledger.writes.clock import Steady
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import ACT, charge


def test_time_passes_no_faster_than_it_does() -> None:
    elapsed = [100.0]
    steady = Steady(lambda: elapsed[0])
    assert steady(1_000_000) == 1_000_000
    elapsed[0] += 1.0
    assert steady(1_001_000) == 1_001_000
    assert steady(99_001_000) == 1_001_000  # put forward
    elapsed[0] += 1.0
    assert steady(99_002_000) == 1_002_000
    assert steady(500) == 500  # put back: the ledger sees to that
    assert steady(1_002_000) == 1_002_000


def test_a_window_is_not_renewed_by_a_clock_that_is_put_forward(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    ledger.grant("analyst:ada", Grant(1.0, window_s=3600), ACT)
    ledger.commit(reserve(ledger, charge(1.0)))
    now = time.time
    monkeypatch.setattr(ledger._store, "_clock", lambda: now() + 7200.0)
    assert ledger.budget("ada").epsilon_left == 0
    assert ledger.accounts("ada")[0].epsilon_left == 0
    assert ledger.bump_data(ACT) == 2
    assert ledger.entries()[-1].at_ms < (now() + 60) * 1000
