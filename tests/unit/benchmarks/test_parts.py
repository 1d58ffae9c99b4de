"""A part that is run alone replaces its own rows, and says by itself when it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks import parts
from tests.benchmarks.blocks import Blocks
from tests.benchmarks.parts import Measured, Parts, store, wanted
from tests.benchmarks.rows import Row

ORDER = ("attacks", "pairs")
PARTS: Parts = dict.fromkeys(ORDER, lambda _quick: Measured([]))


def test_rows_are_put_among_those_of_other_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "security.json"
    for named, part, value in (("first", "pairs", 1.0), ("second", "attacks", 2.0), ("third", "pairs", 3.0)):
        monkeypatch.setattr(parts, "commit", lambda named=named: named)
        store(file, "security", part, Measured([Row(part, "asked", value, "1")]), ORDER)
    document = json.loads(file.read_text())
    assert [(row["part"], row["value"]) for row in document["rows"]] == [("attacks", 2.0), ("pairs", 3.0)]
    assert {part: about["commit"] for part, about in document["parts"].items()} == {
        "attacks": "second",
        "pairs": "third",
    }


def test_of_blocks_it_is_said_how_much_was_measured_at_which_commit(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    lines = [
        {"block": str(one), "units": 2, "commit": f"c{one}", "date": "2024-05-17", "found": {}} for one in (1, 2)
    ]
    kept.write_text("".join(json.dumps(line) + "\n" for line in lines))
    store(tmp_path / "x.json", "security", "pairs", Measured([], (Blocks(kept, 4, "questions"),)), ORDER)
    about = json.loads((tmp_path / "x.json").read_text())["parts"]["pairs"]
    assert about["measured"] == [
        {"commit": "c1", "date": "2024-05-17", "questions": 2},
        {"commit": "c2", "date": "2024-05-17", "questions": 2},
    ]
    assert about["date"] == "2024-05-17" and not kept.exists(), "the next run begins anew"


def test_parts_are_those_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CASES", raising=False)
    assert wanted(PARTS) == list(ORDER)
    monkeypatch.setenv("CASES", "pairs")
    assert wanted(PARTS) == ["pairs"]
    monkeypatch.setenv("CASES", "pears")
    with pytest.raises(AssertionError, match="no part named pears"):
        wanted(PARTS)
