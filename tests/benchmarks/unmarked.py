"""Of rows without a mark: how many intervals hold the truth, how many are far from it; how many near rows are marked.

Every everyday question of five generated tables but ranks, with no bound declared: what a reader takes for the truth.
With a delta, those by many groups have Gaussian noise and are clipped in another norm.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.everyday import cells
from tests.benchmarks.everyday.asking import Asking
from tests.benchmarks.everyday.tables import TABLES
from tests.benchmarks.rows import Row

_EPSILONS = (0.1, 0.5, 1.0, 4.0)
_DELTA, _WITH_DELTA = 1e-6, (1.0, 4.0)
_GROUPED = ("50 groups", "500 groups")
_RELEASES, _QUICK_RELEASES = 4, 1
_FOLDER = Path(".noisegate") / "benchmarks"
_PROCESSES = 2
_QUICK = ("grades",)
_HOLD, _FAR, _MARKED = 0.93, 0.001, 0.25
_FAR_OFF, _NEAR = 3.0, 0.05
"""Half-widths beyond which a row is far off, and the relative error below which it is near."""


def run(quick: bool) -> list[Row]:
    """By table and epsilon, over all rows of all questions; bars are of a whole run."""
    names = _QUICK if quick else [table.name for table in TABLES]
    with ProcessPoolExecutor(_PROCESSES) as pool:
        parts = pool.map(partial(_of_table, releases=_QUICK_RELEASES if quick else _RELEASES), names)
        rows = [row for part in parts for row in part]
    return [row if not quick else Row(row.case, row.metric, row.value, row.unit) for row in rows]


def _of_table(name: str, releases: int) -> list[Row]:
    (table,) = (one for one in TABLES if one.name == name)
    asking = Asking(table, _FOLDER)
    questions = {(cell.kind, cell.grouping): cell for cell in cells(asking) if not cell.is_rank}
    grouped = [cell for (kind, by), cell in questions.items() if by in _GROUPED and kind in ("count", "sum")]
    with_delta = Asking(replace(table, delta=_DELTA), _FOLDER)
    found: list[Row] = []
    for what, asked, each, epsilons in (
        ("", asking, list(questions.values()), _EPSILONS),
        (", with a delta", with_delta, grouped, _WITH_DELTA),
    ):
        for epsilon in epsilons:
            read = [asked.rows_as_read(cell.aggregate, cell.key, cell.truth, epsilon, releases) for cell in each]
            found += _judged(f"{name}, epsilon {epsilon:g}{what}", np.concatenate(read, axis=1))
    return found


def _judged(case: str, read: NDArray[np.float64]) -> Iterator[Row]:
    value, low, high, truth, cut = read
    marked = cut > 0
    holds = (low <= truth) & (truth <= high)
    with np.errstate(invalid="ignore"):
        far = np.abs(value - truth) > _FAR_OFF * (high - low) / 2
    near = np.abs(value - truth) <= _NEAR * np.abs(truth)
    yield Row(case, "rows without a mark", float((~marked).mean()), "1")
    yield Row(case, "of these, hold the truth", _share(holds, ~marked), "1", _HOLD)
    yield Row(case, "of these, further off than three half-widths", _share(far, ~marked), "1", most=_FAR)
    yield Row(case, "of rows within 5%, marked", _share(marked, near), "1", most=_MARKED)


def _share(what: NDArray[np.bool_], of: NDArray[np.bool_]) -> float:
    return float(what[of].mean()) if of.any() else float("nan")
