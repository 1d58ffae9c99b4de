"""What within 5% means, by what an analyst is told: of a typical cell, and not of the smallest one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from server.answers.proposals.accuracy import Accuracy
from server.query import QueryResponse

TARGET = 0.05


def typical_error(answer: QueryResponse) -> float:
    """The half-width of a typical interval, as a part of a typical value; of the worst column.

    Of each column with intervals: the median over its rows of the farther end's distance from the value, divided by
    the median of the values' sizes. Rows that are marked `cut` are passed over, as a proposal does.
    Returns: infinite where more than half of the rows are cut, an interval is open, no column has one, or the typical
      value is 0.
    """
    sound = [place for place, cut in enumerate(answer.clipped) if not cut]
    return math.inf if is_clipped(answer) else _of_rows(answer, sound)


def is_clipped(answer: QueryResponse) -> bool:
    """Is more than half of the rows marked `cut`: may more be missing than the intervals say?"""
    return sum(answer.clipped) * 2 > len(answer.clipped)


def noise_alone(answer: QueryResponse) -> float:
    """The same of all rows, whatever was cut away: how wide the intervals are."""
    return _of_rows(answer, list(range(len(answer.clipped))))


def _of_rows(answer: QueryResponse, sound: list[int]) -> float:
    rows = list(answer.as_released())
    errors = []
    for column in range(len(answer.columns)):
        if not answer.has_intervals(column):
            continue
        halves, sizes = [], []
        for place in sound:
            row, intervals = rows[place]
            value, interval = row[column], intervals[column]
            if interval is None or not isinstance(value, int | float):
                continue  # NULL, of a quotient of nothing
            halves.append(max(_apart(interval.low, value), _apart(interval.high, value)))
            sizes.append(abs(value))
        typical = median(sizes) if sizes else 0.0
        errors.append(median(halves) / typical if typical else math.inf)
    return max(errors, default=math.inf)


def _apart(end: float | None, value: float) -> float:
    """How far an end of an interval is from its value; infinite where it is open."""
    return math.inf if end is None else abs(end - value)


@dataclass(frozen=True)
class TypicalCell(Accuracy):
    """An accuracy that `propose` finds an epsilon for: `max_relative_error` of the typical cell."""

    def reached(self, answer: QueryResponse) -> float:
        """The typical error of this answer."""
        return typical_error(answer)


WANTED = TypicalCell(max_relative_error=TARGET)
