"""One truncated answer, many independent releases of it at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import CountedAnswer, TruncatedAnswer
from privacy.units import ONE

_BLUR = 0.02
"""The share of a release's half-width below which nobody sees a difference."""


@dataclass(frozen=True, eq=False, repr=False)
class RepeatedAnswer:
    """A TruncatedAnswer whose groups are all the one group of `answer`, on part of its ladder.

    A mechanism with groups_per_unit = 1 gives every group the whole budget, so one release of it is `times`
    independent releases. What is solved for one of them is known to the others.

    A study of errors need not know a value any better than its noise shows: bounds that are within a fiftieth of the
    half-width of what is released there count as their middle. The last tenth of a percent of a program with three
    owners takes most of its time.

    Attributes:
      answer: one group, on powers of two; or on a finer ladder.
      ladder: within that of `answer`; the same one, where it is finer.
      times: how many groups to show.
      widths: the half-width of a release at each threshold, in normalised weight; none for exact values.
    """

    answer: TruncatedAnswer
    thresholds: Thresholds
    times: int
    widths: Sequence[float] = ()

    def __post_init__(self) -> None:
        whole = self.answer.thresholds
        assert self.answer.n_groups == 1
        assert whole.low <= self.thresholds.low <= self.thresholds.high <= whole.high
        assert self.thresholds == whole or whole.parts == 1

    @property
    def n_groups(self) -> int:
        return self.times

    @property
    def gap(self) -> float:
        return self.answer.gap

    @property
    def _first(self) -> int:
        return self.thresholds.low - self.answer.thresholds.low

    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        part = slice(self._first, self._first + len(self.thresholds))
        low, high = (bound[:, part] for bound in self.answer.bounds())
        if self.widths:
            middle = low + (high - low) // 2
            close = high - low <= _BLUR * ONE * np.array(self.widths)
            low, high = np.where(close, middle, low), np.where(close, middle, high)
        shape = (self.times, len(self.thresholds))
        return np.broadcast_to(low, shape), np.broadcast_to(high, shape)

    @property
    def exceedances(self) -> NDArray[np.int64] | None:
        """How many units have more than each threshold, in every group alike; None where nobody counted."""
        counts = self.answer.exceedances if isinstance(self.answer, CountedAnswer) else None
        if counts is None:
            return None
        part = counts[:, self._first : self._first + len(self.thresholds)]
        return np.broadcast_to(part, (self.times, len(self.thresholds)))

    def sharpen(self, group: int, index: int) -> None:
        self.answer.sharpen(0, self._first + index)

    def solve(self, group: int, index: int) -> int:
        return self.answer.solve(0, self._first + index)

    def __repr__(self) -> str:
        return "RepeatedAnswer(<private>)"
