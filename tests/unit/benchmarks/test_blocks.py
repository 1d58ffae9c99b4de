"""What is measured in blocks goes on where it stopped, and says of each block at which commit it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks import blocks
from tests.benchmarks.blocks import Blocks, Found, spans

EACH = spans(5, 2)
UNITS = {name: count for name, (_, count) in EACH.items()}


def squares(block: tuple[int, int]) -> Found:
    """The sum of some squares; of a module, as other processes call it."""
    first, count = block
    return {"sum": sum(number**2 for number in range(first, first + count))}


def test_spans_cover_every_unit_once() -> None:
    assert EACH == {"0-2": (0, 2), "2-4": (2, 2), "4-5": (4, 1)}
    assert list(spans(4, 10, first=6)) == ["6-10"]


def test_what_is_kept_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kept.jsonl"
    monkeypatch.setattr(blocks, "commit", lambda: "first")
    begun = Blocks(file, 5, "numbers")
    begun.keep("2-4", {"sum": -1}, 2)
    with file.open("a") as cut:
        cut.write('{"block": "4-5", "uni')  # its process ended here
    monkeypatch.setattr(blocks, "commit", lambda: "second")
    later = Blocks(file, 5, "numbers")
    assert later.done == 2 and [name for name, _ in later.missing(EACH)] == ["0-2", "4-5"]
    later.in_processes(squares, EACH, UNITS)
    assert later.kept == {"0-2": {"sum": 1}, "2-4": {"sum": -1}, "4-5": {"sum": 16}}
    assert {named: units for (named, _), units in later.measured_at.items()} == {"first": 2, "second": 3}
    assert Blocks(file, 5, "numbers").kept == later.kept


def test_a_whole_run_is_forgotten_and_a_part_of_one_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    made = Blocks(file, 5, "numbers")
    made.keep("0-2", {}, 2)
    made.forget()
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == 1
    made.keep("2-5", {}, 3)
    made.forget()
    assert not file.exists()


def test_no_block_is_begun_when_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTES", "0")
    made = Blocks(None, 5, "numbers")
    made.in_processes(squares, EACH, UNITS)
    assert not made.kept and made.done == 0


def test_how_far_it_is_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Blocks(None, 4, "numbers").keep("0-1", {}, 1)
    assert capsys.readouterr().out.startswith("1 of 4 numbers; ")
