"""`noisegate workload` against a stand-in for the proxy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.server.cli.answers import GROUPED, SCALAR
from tests.unit.server.cli.conftest import FakeProxy

Run = Callable[..., int]
Capture = pytest.CaptureFixture[str]

SUMMARY: dict[str, Any] = {
    "epsilon": 1.0,
    "delta": 0.0,
    "measured": [{"keys": ["ward"], "epsilon": 1.0, "delta": 0.0, "charged": 1.0, "queries": [1, 2]}],
    "queries": [
        {"how": "together", "epsilon": 1.0, "half_width": 3.0, "half_width_alone": 6.0, "why": None},
        {"how": "together", "epsilon": 1.0, "half_width": 3.0, "half_width_alone": 6.0, "why": None},
    ],
    "error_of_alone": 0.5,
    "worst_of_alone": 1.0,
    "strategy": "2 questions are estimated together.",
}
ANSWERED: dict[str, Any] = {
    "answers": [SCALAR, GROUPED],
    "summary": SUMMARY,
    "charge": {"epsilon": 1.0, "delta": 0.0},
    "budget": SCALAR["budget"],
    "request_id": "r-1",
}
STATEMENTS = "SELECT count(*) FROM patient;\nSELECT ward, ';' AS x, count(*)\nFROM patient GROUP BY ward;\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "board.sql"
    path.write_text(STATEMENTS)
    return path


def test_the_statements_of_a_file_are_asked_at_once(proxy: FakeProxy, run: Run, file: Path, capsys: Capture) -> None:
    proxy.answer(ANSWERED)
    assert run("workload", str(file), "--epsilon", "1") == 0
    ((path, _, body),) = proxy.requests
    assert path == "/v1/workload"
    assert body == {
        "queries": [
            {"sql": "SELECT count(*) FROM patient"},
            {"sql": "SELECT ward, ';' AS x, count(*)\nFROM patient GROUP BY ward"},
        ],
        "epsilon": 1.0,
    }
    out = capsys.readouterr().out
    for part in ("1,234,567", "FRANCE", "2 questions are estimated together", "epsilon 1 by ward, for question 1, 2"):
        assert part in out


def test_explaining_asks_nothing(proxy: FakeProxy, run: Run, file: Path, capsys: Capture) -> None:
    proxy.answer({"summary": SUMMARY, "charge": ANSWERED["charge"], "budget": ANSWERED["budget"]})
    assert run("workload", str(file), "--max-relative-error", "0.05", "--explain") == 0
    ((path, _, body),) = proxy.requests
    assert path == "/v1/workload/explain" and body["max_relative_error"] == 0.05
    assert "estimated together" in capsys.readouterr().out


def test_json_is_the_servers_body(proxy: FakeProxy, run: Run, file: Path, capsys: Capture) -> None:
    proxy.answer(ANSWERED)
    assert run("workload", str(file), "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == ANSWERED


def test_what_cannot_be_asked_is_said(
    proxy: FakeProxy, run: Run, file: Path, tmp_path: Path, capsys: Capture
) -> None:
    empty = tmp_path / "empty.sql"
    empty.write_text(" -- nothing\n")
    assert run("workload", str(empty)) == 2
    assert run("workload", str(tmp_path / "no such file")) == 2
    assert run("workload", str(file), "--format", "csv") == 2
    assert proxy.requests == []
    assert "cannot be read" in capsys.readouterr().err
