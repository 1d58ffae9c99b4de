from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.ledger.sqlite import ProcessLock


@pytest.fixture
def first(tmp_path: Path) -> Iterator[ProcessLock]:
    presence = ProcessLock(tmp_path / "ledger.sqlite", "first")
    yield presence
    presence.close()


@pytest.fixture
def second(tmp_path: Path, first: ProcessLock) -> Iterator[ProcessLock]:
    presence = ProcessLock(tmp_path / "ledger.sqlite", "second")
    yield presence
    presence.close()


def test_the_present_are_not_dead(first: ProcessLock, second: ProcessLock) -> None:
    for _ in range(2):  # asking takes nothing away from them
        assert not first.is_dead("second")
        assert not second.is_dead("first")


def test_who_left_is_dead(first: ProcessLock, second: ProcessLock) -> None:
    second.close()
    second.close()
    assert first.is_dead("second")


def test_who_was_never_there_is_dead(first: ProcessLock) -> None:
    assert first.is_dead("third")


def test_what_the_dead_leave_behind_is_cleared(first: ProcessLock, tmp_path: Path) -> None:
    left = tmp_path / "ledger.sqlite-open-killed"
    left.touch()  # a killed process leaves its file, but the lock is gone
    assert first.is_dead("killed")
    assert not left.exists()
    left.touch()
    ProcessLock(tmp_path / "ledger.sqlite", "third").close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ledger.sqlite-open-first"]
    assert not first.is_dead("first")
