from __future__ import annotations

import os
from pathlib import Path

import pytest

from server.errors import LedgerUnavailable
from server.ledger.marker import Marker, read_marker, write_marker


def test_it_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "marker.json"
    assert read_marker(path) is None
    for charges in (0, 7, 10**12):
        write_marker(path, Marker("id", charges))
        assert read_marker(path) == Marker("id", charges)
    assert [file.name for file in tmp_path.iterdir()] == ["marker.json"]


def test_a_failed_write_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "marker.json"
    write_marker(path, Marker("id", 1))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LedgerUnavailable):
        write_marker(path, Marker("id", 2))
    assert read_marker(path) == Marker("id", 1)
    assert [file.name for file in tmp_path.iterdir()] == ["marker.json"]


def test_a_folder_is_not_a_marker(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable):
        read_marker(tmp_path)
