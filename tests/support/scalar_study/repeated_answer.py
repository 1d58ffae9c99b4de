"""One truncated answer, many independent releases of it at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.ladder import Ladder
from privacy.truncation.truncated_answer import TruncatedAnswer


@dataclass(frozen=True, eq=False, repr=False)
class RepeatedAnswer:
    """A TruncatedAnswer whose groups are all the one group of `answer`, on part of its ladder.

    A mechanism with groups_per_unit = 1 gives every group the whole budget, so one release of it is `times`
    independent releases. What is solved for one of them is known to the others.

    Attributes:
      answer: one group, on powers of two.
      ladder: within that of `answer`.
      times: how many groups to show.
    """

    answer: TruncatedAnswer
    ladder: Ladder
    times: int

    def __post_init__(self) -> None:
        whole = self.answer.ladder
        assert self.answer.n_groups == 1
        assert whole.low <= self.ladder.low <= self.ladder.high <= whole.high

    @property
    def n_groups(self) -> int:
        return self.times

    @property
    def gap(self) -> float:
        return self.answer.gap

    @property
    def _first(self) -> int:
        return self.ladder.low - self.answer.ladder.low

    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        part = slice(self._first, self._first + len(self.ladder))
        low, high = (bound[:, part] for bound in self.answer.bounds())
        shape = (self.times, len(self.ladder))
        return np.broadcast_to(low, shape), np.broadcast_to(high, shape)

    def sharpen(self, group: int, index: int) -> None:
        self.answer.sharpen(0, self._first + index)

    def solve(self, group: int, index: int) -> int:
        return self.answer.solve(0, self._first + index)

    def __repr__(self) -> str:
        return "RepeatedAnswer(<private>)"
