"""Truncated answers of different samples, one per threshold, as one answer on a ladder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.truncation.truncated_answer import TruncatedAnswer


@dataclass(frozen=True, eq=False, repr=False)
class SeparateAnswers:
    """A TruncatedAnswer whose thresholds know nothing of each other: values need not grow along the ladder.

    Attributes:
      answers: one per threshold, each on a ladder of that threshold alone, with the same groups and gap.
      ladder: the L thresholds.
    """

    answers: tuple[TruncatedAnswer, ...]
    ladder: Ladder

    def __post_init__(self) -> None:
        base = self.ladder.base
        rungs = [Ladder(exponent, exponent, base) for exponent in range(self.ladder.low, self.ladder.high + 1)]
        if [answer.ladder for answer in self.answers] != rungs:
            raise InvalidParameter("there is one answer per threshold")
        if len({(answer.n_groups, answer.gap) for answer in self.answers}) != 1:
            raise InvalidParameter("the answers of all thresholds have the same groups and gap")

    @property
    def n_groups(self) -> int:
        """Number of public groups."""
        return self.answers[0].n_groups

    @property
    def gap(self) -> float:
        """eta of all answers."""
        return self.answers[0].gap

    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(G, L) bounds, as tight as known so far."""
        lower, upper = zip(*(answer.bounds() for answer in self.answers), strict=True)
        return np.concatenate(lower, axis=1), np.concatenate(upper, axis=1)

    def sharpen(self, group: int, index: int) -> None:
        """Tighten the bounds of one cell: those of the sample that belongs to the threshold."""
        self.answers[index].sharpen(group, 0)

    def solve(self, group: int, index: int) -> int:
        """The value of one cell."""
        return self.answers[index].solve(group, 0)

    def __repr__(self) -> str:
        return "SeparateAnswers(<private>)"
