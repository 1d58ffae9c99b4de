from __future__ import annotations

import os
from pathlib import Path

import pytest

from server.errors import LedgerUnavailable
from server.ledger.high_water_mark import HighWaterMark, read_marker, sync_marker, write_marker


def test_a_written_mark_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "marker.json"
    assert read_marker(path) is None
    for entries in (10**12, 0, 7):  # a shorter text covers a longer one
        write_marker(path, HighWaterMark("id", entries, "00" * 32))
        assert read_marker(path) == HighWaterMark("id", entries, "00" * 32)
    sync_marker(path)
    assert [file.name for file in tmp_path.iterdir()] == ["marker.json"]


def test_a_longer_text_is_covered(tmp_path: Path) -> None:
    path = tmp_path / "marker.json"
    path.write_text('{"ledger": "id", "entries": 7, "hash": "", "charges": 0}' + " " * 500)
    assert read_marker(path) == HighWaterMark("id", 7, "")
    write_marker(path, HighWaterMark("id", 1, "00" * 32))
    assert read_marker(path) == HighWaterMark("id", 1, "00" * 32)


def test_a_new_one_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LedgerUnavailable):
        write_marker(tmp_path / "marker.json", HighWaterMark("id", 2, "00" * 32))
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "marker.json"
    write_marker(path, HighWaterMark("id", 1, "00" * 32))

    def full(descriptor: int, content: bytes, offset: int) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(LedgerUnavailable):
        write_marker(path, HighWaterMark("id", 2, "00" * 32))
    assert read_marker(path) == HighWaterMark("id", 1, "00" * 32)


def test_a_folder_is_not_a_marker(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable):
        read_marker(tmp_path)
