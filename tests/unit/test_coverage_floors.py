"""Coverage is compared folder by folder; what stays below its floor, and what has none, is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import coverage_floors
from tests.coverage_floors import Part, floors_of, main, reached, shortfalls


def file(lines: tuple[int, int], branches: tuple[int, int]) -> dict[str, Any]:
    names = ("covered_lines", "num_statements", "covered_branches", "num_branches")
    return {"summary": dict(zip(names, (*lines, *branches), strict=True))}


REPORT = {
    "files": {
        "planner/sql/trees.py": file((90, 100), (30, 40)),
        "planner/sql/literals.py": file((100, 100), (0, 0)),
        "planner/plan.py": file((10, 10), (2, 2)),
        "planner/__init__.py": file((0, 0), (0, 0)),
        "privacy/published/__init__.py": file((0, 0), (0, 0)),
    }
}


def test_a_folder_is_the_sum_of_its_own_files() -> None:
    folders = reached(REPORT)
    assert list(folders) == ["planner", "planner/sql"], "one without code is none"
    assert folders["planner/sql"] == {"lines": Part(190, 200), "branches": Part(30, 40)}
    assert folders["planner"] == {"lines": Part(10, 10), "branches": Part(2, 2)}


def test_what_a_run_reached_is_enough_for_it() -> None:
    folders = reached(REPORT)
    assert floors_of(folders)["planner/sql"] == {"lines": 95, "branches": 75}
    assert shortfalls(folders, floors_of(folders)) == []


def test_one_branch_fewer_is_forgiven_and_two_are_not() -> None:
    for ran, faults in [(30, 0), (29, 0), (28, 1)]:
        folders = {"planner": {"lines": Part(1, 1), "branches": Part(ran, 40)}}
        assert len(shortfalls(folders, {"planner": {"lines": 100, "branches": 75}})) == faults, ran  # type: ignore[arg-type]


def test_a_folder_without_a_floor_and_a_floor_without_a_folder_are_faults() -> None:
    folders = reached(REPORT)
    floors = floors_of(folders)
    floors["planner/gone"] = floors.pop("planner/sql")
    assert [fault.split(":")[0] for fault in shortfalls(folders, floors)] == ["planner/gone", "planner/sql"]


def test_it_fails_until_it_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(coverage_floors, "FLOORS", tmp_path / "floors.json")
    report = tmp_path / "report.json"
    report.write_text(json.dumps(REPORT))
    assert main([str(report)]) == 1
    assert "planner/sql: has no floor" in capsys.readouterr().out
    assert main([str(report), "--record"]) == 0
    assert main([str(report)]) == 0
    assert "30/40" in capsys.readouterr().out
