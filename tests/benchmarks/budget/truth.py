"""How far answers were from the truth, which the benchmark alone reads: a typical cell of each, and each interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from statistics import median

import duckdb

from tests.benchmarks.budget.growing_data import opened
from tests.benchmarks.budget.viewer import Answered

_DAY = len("2017-08-01")


@dataclass(frozen=True)
class TrueError:
    """How far an answer was from the truth.

    Attributes:
      typical: the median distance of its cells from the truth, by their median size; of the worst column.
      unmarked: its cells with an interval that are not marked `cut`.
      held: how many of these intervals hold the truth. What was cut is outside of an interval, and where it could be
        any part of the value there is a mark: that most intervals without one hold the truth nothing else promises.
    """

    typical: float
    unmarked: int
    held: int


def true_errors(file: Path, answered: Sequence[Answered]) -> list[TrueError]:
    """Of each answer. A cell that the truth does not have is 0 there."""
    with opened(file) as connection:
        return [error for one in answered if (error := _error(connection, one)) is not None]


def _error(connection: duckdb.DuckDBPyConnection, one: Answered) -> TrueError | None:
    answer = one.answer
    measured = [place for place in range(len(answer.columns)) if answer.has_intervals(place)]
    keys = [place for place in range(len(answer.columns)) if answer.columns[place].name in _key_names(one)]
    unlimited = one.asked.sql.partition(" LIMIT ")[0]
    truth = {tuple(_key(row[place]) for place in keys): row for row in connection.execute(unlimited).fetchall()}
    errors, holds = [], []
    for place in measured:
        apart, sizes = [], []
        for row, intervals, cut in zip(answer.rows, answer.intervals, answer.clipped, strict=True):
            cell, around = row[place], intervals[place]
            if not isinstance(cell, int | float):
                continue
            true_row = truth.get(tuple(_key(row[key]) for key in keys))
            true = 0.0 if true_row is None or true_row[place] is None else float(true_row[place])
            apart.append(abs(float(cell) - true))
            sizes.append(abs(true))
            if around is not None and not cut:
                holds.append(
                    (around.low is None or around.low <= true) and (around.high is None or true <= around.high)
                )
        if sizes and median(sizes):
            errors.append(median(apart) / median(sizes))
    return TrueError(max(errors), len(holds), sum(holds)) if errors else None


def _key_names(one: Answered) -> set[str]:
    return {*one.asked.chart.keys, "time"}


def _key(value: object) -> object:
    """A group key as both sides spell it."""
    if isinstance(value, datetime | date):
        return value.isoformat()[:_DAY]
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float | Decimal):
        return float(value)
    text = str(value).strip()
    return text[:_DAY] if len(text) > _DAY and text[:_DAY].count("-") == 2 and text[:4].isdigit() else text
