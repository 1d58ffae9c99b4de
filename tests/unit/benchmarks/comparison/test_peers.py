"""What programs print, and how they choose among bounds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.comparison.peers import PEERS, parsed, settings

FOLDER = Path(__file__).parents[3] / "benchmarks" / "peers" / "comparison"
PROGRAM = """
from asked import question, run

@question("count", rows=(1, 5, 9))
def count(*, rows):
    if rows == 9:
        raise ValueError("nine is too many")
    return rows

@question("groups", rows=(2,))
def groups(*, rows):
    return {"a": rows, 3: 1}

@question("never", rows=(1, 2))
def never(*, rows):
    raise BaseException("a panic")

run()
"""


def said(tmp_path: Path, **more: object) -> str:
    """What the program prints of questions whose truth is 4."""
    (tmp_path / "program.py").write_text(PROGRAM)
    truths = {name: {"": 4.0} for name in ("count", "groups", "never", "other")}
    told = json.dumps(settings(1.0, 3, truths, truths, **more))
    done = subprocess.run(
        [sys.executable, "-B", tmp_path / "program.py", tmp_path, told],
        env={"PYTHONPATH": str(FOLDER)},
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    return done.stdout


def test_the_bounds_that_come_nearest_are_asked_at_length(tmp_path: Path) -> None:
    found = parsed(said(tmp_path))
    (count,) = found.answered["count"]
    assert (count.bounds, count.answers) == ("rows 5", ({"": 5.0},) * 41), "more than 3, as they take no time"
    assert len(count.seconds) == 41


def test_keys_are_texts_and_what_cannot_be_asked_is_said(tmp_path: Path) -> None:
    found = parsed(said(tmp_path))
    assert found.answered["groups"][0].answers[0] == {"a": 2.0, "3": 1.0}
    assert found.refused == {"never": "a panic", "other": "the comparison has no program for it"}


def test_bounds_may_be_told(tmp_path: Path) -> None:
    found = parsed(said(tmp_path, bounds={"count": "rows 1"}))
    assert found.answered["count"][0].bounds == "rows 1"


def test_a_line_that_was_cut_off_is_left_out() -> None:
    whole = json.dumps({"question": "q", "bounds": "", "answers": [{"": 1.0}], "seconds": [0.5]})
    found = parsed(f"a warning\n{whole}\n{whole[:20]}", "late")
    assert len(found.answered["q"]) == 1
    assert found.failed == "late"


def test_versions_are_pinned() -> None:
    assert all("==" in requirement for peer in PEERS for requirement in peer.requirements)
    assert len({peer.folder for peer in PEERS}) == len(PEERS)
