"""Everyday questions of five generated tables, beside the best thresholds in hindsight.

Counts, sums, averages, quantiles and people; plain, by 5, 50 and 500 groups, by month, and by bucket. Nothing is
declared of how much one person adds. The error of a cell is the median, over its releases, of the mean absolute error
over groups, as a share of the mean absolute true value. CASES="sessions;grades" asks of those tables alone;
RELEASES=10 releases each answer ten times.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from planner.errors import PlannerError
from tests.benchmarks.everyday.asking import Asking
from tests.benchmarks.everyday.oracle import Entries, average_of_best, best_average, best_sum
from tests.benchmarks.everyday.tables import TABLES
from tests.benchmarks.rows import Row

EPSILONS = (0.1, 0.5, 1.0)
_RELEASES, _QUICK_RELEASES = 20, 5
_RANK_RELEASES = 6
"""Quantiles by groups are released so often: one release of 500 groups takes seconds."""
_FOLDER = Path(".noisegate") / "benchmarks"
_SUM_BAR, _AVERAGE_BAR, _CELL_BAR = 1.6, 2.0, 4.0
_NEGLIGIBLE = 1e-4
"""An oracle's error below which a cell has no bar."""

_LEAST = 0.1
"""What a cell counts as in means that errs by less than this share of the oracle's error, as rounded counts may."""

_QUICK = ("grades",)
_PROCESSES = 2


@dataclass(frozen=True)
class Cell:
    """One question of one table, by one grouping, at one epsilon.

    Attributes:
      kind: count, sum, average, people, histogram, median or p90.
      grouping: as `Everyday.groupings` names it, or buckets.
      key: what is grouped by; empty: nothing.
      aggregate: as the question spells it.
    """

    asking: Asking
    kind: str
    grouping: str
    key: str
    aggregate: str
    epsilon: float

    @property
    def name(self) -> str:
        return f"{self.asking.table.name}: {self.kind}, {self.grouping}, epsilon {self.epsilon:g}"

    @property
    def is_rank(self) -> bool:
        return self.kind in ("median", "p90")

    @cached_property
    def truth(self) -> dict[str, float]:
        return self.asking.truth(self.aggregate, self.key)

    def best(self) -> tuple[float, float] | None:
        """(tau, absolute error) of the oracle; None where there is none."""
        if self.is_rank:
            return None
        table, groups = self.asking.table, tuple(self.truth)
        if self.kind == "average":
            return best_average(*self._parts(), self.epsilon, table.low, table.high)
        own = "1" if self.kind == "people" else self.aggregate
        return best_sum(self.asking.entries(own, self.key, groups), self.epsilon)

    def best_apart(self) -> float | None:
        """The error of an average whose sum and count have the thresholds that are best for each by itself."""
        if self.kind != "average":
            return None
        table = self.asking.table
        return average_of_best(*self._parts(), self.epsilon, table.low, table.high)

    def _parts(self) -> tuple[Entries, Entries]:
        groups = tuple(self.truth)
        return (
            self.asking.entries(f"sum({self.asking.table.value})", self.key, groups),
            self.asking.entries("count(*)", self.key, groups),
        )


@dataclass(frozen=True)
class Measured:
    """The rows of a cell, and what its error is of the oracle's, where there is one."""

    kind: str
    grouping: str
    rows: tuple[Row, ...]
    over: float | None = None


def run(quick: bool) -> list[Row]:
    """All cells, then their geometric means; a quick run asks one table, too rarely for bars."""
    names = [name for name in os.environ.get("CASES", "").split(";") if name] or [table.name for table in TABLES]
    assert set(names) <= {table.name for table in TABLES}, "CASES names some of the tables"
    if quick and not os.environ.get("CASES"):
        names = list(_QUICK)
    releases = int(os.environ.get("RELEASES", _QUICK_RELEASES if quick else _RELEASES))
    with ProcessPoolExecutor(_PROCESSES) as pool:
        found = [one for part in pool.map(partial(_of_table, releases=releases), names) for one in part]
    rows = [*_summary(found), *(row for one in found for row in one.rows)]
    return [replace(row, most=None) for row in rows] if quick else rows


def _of_table(name: str, releases: int) -> list[Measured]:
    (table,) = (one for one in TABLES if one.name == name)
    return [measured(cell, releases) for cell in cells(Asking(table, _FOLDER))]


def cells(asking: Asking) -> Iterator[Cell]:
    """What is asked of a table."""
    table = asking.table
    x = table.value
    kinds = {
        "count": "count(*)",
        "sum": f"sum({x})",
        "average": f"avg({x})",
        "people": "count(DISTINCT owner)",
        "median": f"median({x})",
        "p90": f"percentile_cont(0.9) WITHIN GROUP (ORDER BY {x})",
    }
    for grouping, key in table.groupings.items():
        for kind, aggregate in kinds.items():
            for epsilon in EPSILONS:
                yield Cell(asking, kind, grouping, key, aggregate, epsilon)
    for epsilon in EPSILONS:
        yield Cell(asking, "histogram", "buckets", f"floor({x} * {table.shrunk})", "count(*)", epsilon)


def measured(cell: Cell, releases: int) -> Measured:
    """Ask so often, and compare with the oracle; what is refused is a row that says why."""
    groups, truth = list(cell.truth), np.array(list(cell.truth.values()))
    if cell.is_rank and cell.key:
        releases = min(releases, _RANK_RELEASES)
    try:
        released = cell.asking.released(cell.aggregate, cell.key, groups, cell.epsilon, releases)
    except PlannerError as refusal:
        return Measured(cell.kind, cell.grouping, (Row(cell.name, f"refused: {refusal}", 1, "refused"),))
    usual = np.abs(truth).mean()
    middle = (cell.asking.table.low + cell.asking.table.high) / 2
    values = np.nan_to_num(released.values, nan=middle if cell.kind not in ("count", "sum", "people") else 0.0)
    error = float(np.median(np.abs(values - truth).mean(axis=1)))
    rows = [
        Row(cell.name, f"error, median of {releases}", 100 * error / usual, "%"),
        Row(cell.name, "one release", 1_000 * released.seconds, "ms"),
    ]
    best = cell.best()
    if best is None:
        return Measured(cell.kind, cell.grouping, tuple(rows))
    tau, least = best
    over = error / least
    bar = _CELL_BAR if least > _NEGLIGIBLE * usual else None
    if (apart := cell.best_apart()) is not None:
        rows.append(Row(cell.name, "error of the best sum over the best count", 100 * apart / usual, "%"))
    rows += [
        Row(cell.name, "error of the oracle", 100 * least / usual, "%"),
        Row(cell.name, "of the oracle", over, "1", most=bar),
    ]
    if cell.kind != "average":  # which has several thresholds
        rows += [
            Row(cell.name, "threshold, median", released.tau, "1"),
            Row(cell.name, "threshold of the oracle", tau, "1"),
        ]
    return Measured(cell.kind, cell.grouping, tuple(rows), over)


def _summary(found: Sequence[Measured]) -> Iterator[Row]:
    """Geometric means of the errors over the oracle's."""
    over = [one for one in found if one.over is not None]
    together = [one for one in over if one.kind != "average"]
    averages = [one for one in over if one.kind == "average"]
    yield _mean("all tables: counts, sums and people", together, _SUM_BAR)
    yield _mean("all tables: averages", averages, _AVERAGE_BAR)
    for kind in dict.fromkeys(one.kind for one in over):
        yield _mean(f"all tables: {kind}", [one for one in over if one.kind == kind])
    for grouping in dict.fromkeys(one.grouping for one in over):
        yield _mean(
            f"all tables, counts, sums and people: {grouping}", [one for one in together if one.grouping == grouping]
        )
        if there := [one for one in averages if one.grouping == grouping]:
            yield _mean(f"all tables, averages: {grouping}", there)


def _mean(case: str, found: Iterable[Measured], most: float | None = None) -> Row:
    logs = [math.log(max(one.over, _LEAST)) for one in found if one.over is not None]
    return Row(
        case, "of the oracle, geometric mean", math.exp(sum(logs) / len(logs)) if logs else math.nan, "1", most=most
    )
