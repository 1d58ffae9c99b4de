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
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.benchmarks.rows import Row
from tests.security.pairwise.lockstep import Seen
from tests.security.pairwise.run import GENERATORS, compared

_QUESTIONS, _QUICK_QUESTIONS = 100_000, 500
_SHARES = {"hostile": 0.3, "drawn": 0.2, "spoken": 0.47, "composed": 0.03}
"""Of the questions; those around answers ask several each."""

_PART = 1_000


def pairs(quick: bool) -> list[Row]:
    """Rows of each generator, and of all together."""
    count = _QUICK_QUESTIONS if quick else int(os.environ.get("PAIRS", _QUESTIONS))
    found = {name: Seen() for name in _SHARES}
    folder = Path(".noisegate") / "benchmarks" / "pairs"
    shutil.rmtree(folder, ignore_errors=True)
    for name, made in GENERATORS.items():
        (folder / name).mkdir(parents=True)
        made.files(folder / name)
    parts = list(_parts(count, folder))
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as processes:
        for (name, *_), seen in zip(parts, processes.map(_asked, parts), strict=True):
            found[name].add(seen)
    every = Seen()
    for seen in found.values():
        every.add(seen)
    for difference in every.differences[:5]:
        print(f"{difference.aspect}: {difference.sql}\n  {difference.first}\n  {difference.second}")
    return [row for name, seen in {**found, "all": every}.items() for row in _rows(name, seen)]


def _parts(count: int, folder: Path) -> Iterator[tuple[str, Path, int, int]]:
    for name, share in _SHARES.items():
        wanted = round(count * share)
        for first in range(0, wanted, _PART):
            own = folder / name if name in GENERATORS else folder / f"{name}-{first}"
            own.mkdir(exist_ok=True)
            yield name, own, first, min(_PART, wanted - first)


def _asked(part: tuple[str, Path, int, int]) -> Seen:
    return compared(*part)


def _rows(name: str, seen: Seen) -> Iterator[Row]:
    case = f"questions: {name}"
    yield Row(case, "asked", float(seen.asked), "1")
    yield Row(case, "answered", float(seen.answered), "1", least=1)
    yield Row(case, "refused", float(seen.refused), "1")
    yield Row(case, "charged and not answered", float(seen.failed), "1", most=0)
    yield Row(case, "differences of error text, code or shape", float(len(seen.differences)), "1", most=0)
