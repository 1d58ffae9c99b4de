"""Generated questions to two neighbouring databases: what an analyst is told differs in the released numbers alone.

Each question is read, truncated and released from both; then the first one's numbers go on in both, and every byte
that an analyst is sent is compared, and every word of an error (`tests.security.pairwise.lockstep`). So the rows
that HAVING and LIMIT leave are compared, too. Questions whose group keys are found among the rows are not asked
here: which of those are shown is a release with a delta, and is played as an attack
(`tests/security/attacks/lone_groups.py`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from tests.benchmarks.blocks import Found, spans
from tests.benchmarks.parts import Measured
from tests.benchmarks.rows import Row
from tests.benchmarks.security.kept import FOLDER, blocks
from tests.security.pairwise.lockstep import Difference, Seen
from tests.security.pairwise.run import GENERATORS, compared

_QUESTIONS, _QUICK_QUESTIONS = 100_000, 500
_SHARES = {"hostile": 0.3, "drawn": 0.2, "spoken": 0.47, "composed": 0.03}
"""Of the questions; those around answers ask several each."""

_BLOCK = 250


def pairs(quick: bool) -> Measured:
    """Rows of each generator, and of all together."""
    count = _QUICK_QUESTIONS if quick else int(os.environ.get("PAIRS", _QUESTIONS))
    asked = blocks("pairs", count, "questions", whole=count == _QUESTIONS)
    parts = dict(_blocks(count, _made(FOLDER / "pairs")))
    asked.in_processes(_asked, parts, {name: size for name, (*_, size) in parts.items()})
    found = {name: Seen() for name in _SHARES}
    every = Seen()
    for name, one in asked.kept.items():
        seen = Seen(
            one["answered"], one["refused"], one["failed"], [Difference(**told) for told in one["differences"]]
        )
        found[name.partition(" ")[0]].add(seen)
        every.add(seen)
    for difference in every.differences[:5]:
        print(f"{difference.aspect}: {difference.sql}\n  {difference.first}\n  {difference.second}")
    rows = [row for name, seen in found.items() for row in _rows(name, seen)]
    rows += _rows("all", every, least=None if quick else _QUESTIONS)
    return Measured(rows, (asked,))


def _made(folder: Path) -> Path:
    """The databases, made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, made in GENERATORS.items():
        (folder / name).mkdir(parents=True)
        made.files(folder / name)
    return folder


def _blocks(count: int, folder: Path) -> Iterator[tuple[str, tuple[str, Path, int, int]]]:
    """Of every generator a few at a time, so that a run that is cut short has asked all kinds."""
    each = {name: spans(round(count * share), _BLOCK) for name, share in _SHARES.items()}
    places = [(place / len(those), name, block) for name, those in each.items() for place, block in enumerate(those)]
    for _, name, block in sorted(places):
        own = folder / name if name in GENERATORS else folder / f"{name}-{block}"
        own.mkdir(exist_ok=True)
        yield f"{name} {block}", (name, own, *each[name][block])


def _asked(part: tuple[str, Path, int, int]) -> Found:
    return asdict(compared(*part))


def _rows(name: str, seen: Seen, least: float | None = None) -> Iterator[Row]:
    case = f"questions: {name}"
    yield Row(case, "asked", float(seen.asked), "1", least)
    yield Row(case, "answered", float(seen.answered), "1", least=1)
    yield Row(case, "refused", float(seen.refused), "1")
    yield Row(case, "charged and not answered", float(seen.failed), "1", most=0)
    yield Row(case, "differences of error text, code or shape", float(len(seen.differences)), "1", most=0)
