"""The truncated answers of all groups at one threshold, added up: what a threshold for all of them is chosen by."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacy.ladder import Ladder
from privacy.mechanisms.selection.lazy_choice import settled_values
from privacy.truncation.truncated_answer import CountedAnswer, TruncatedAnswer
from privacy.units import saturating_sums


class SummedAnswer:
    """floor(sum_f v(f, tau) / L0): a TruncatedAnswer of one group.

    Sensitivity: at most (1 + gap) tau rounded up to a unit, as that of one group: at most L0 groups move by
    (1 + gap) tau each, saturation at MAX_UNITS is 1-Lipschitz, and a whole number that moves by at most L0 k moves,
    divided and rounded down, by at most k.

    Differences: a unit that comes adds to every group's answer at every threshold, or nothing, so the sums at two
    thresholds do not part by more than the larger one (and the gap of both): `Scores.monotone` asks no more.

    Private: no repr.
    """

    def __init__(self, answer: TruncatedAnswer, groups_per_unit: int) -> None:
        """Add up.

        Args:
          answer: of G groups; sharpened and solved as this one is.
          groups_per_unit: L0 >= 1, at most G.
        """
        self._answer, self._reached = answer, groups_per_unit

    @property
    def n_groups(self) -> int:
        """The number of groups: 1, the sum of all."""
        return 1

    @property
    def ladder(self) -> Ladder:
        """The thresholds of the answer whose groups are summed."""
        return self._answer.ladder

    @property
    def gap(self) -> float:
        """eta of the groups' answers."""
        return self._answer.gap

    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(1, L) lower and upper bounds of the sum. Cost: G L."""
        lower, upper = self._answer.bounds()
        return self._sum(lower), self._sum(upper)

    @property
    def exceedances(self) -> NDArray[np.int64] | None:
        """(1, L) of all groups together; a unit counts in each of the L0 that it reaches."""
        counted = self._answer.exceedances if isinstance(self._answer, CountedAnswer) else None
        return None if counted is None else self._added(counted)

    def sharpen(self, group: int, index: int) -> None:
        """Sharpen the fewest groups that hold half of what is unknown of the sum at the threshold.

        Most groups know their values nearly, and whoever chooses seldom needs the sum itself.
        """
        lower, upper = self._answer.bounds()
        unknown = (upper[:, index] - lower[:, index]).astype(np.float64)
        widest = np.argsort(-unknown, kind="stable")
        covered = np.cumsum(unknown[widest])
        for own in widest[: int(np.searchsorted(covered, covered[-1] / 2)) + 1]:
            self._answer.sharpen(int(own), index)

    def solve(self, group: int, index: int) -> int:
        """The sum at a threshold."""
        values = settled_values(self._answer, np.full(self._answer.n_groups, index, np.intp))
        return int(self._sum(values[:, None])[0, 0])

    def _sum(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """(1, L) sums over the groups of (G, L), saturating, divided by L0."""
        return self._added(values) // self._reached

    def _added(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        columns = np.broadcast_to(np.arange(values.shape[1]), values.shape)
        return np.asarray(saturating_sums(columns.ravel(), values.ravel(), values.shape[1])[None])

    def __repr__(self) -> str:
        return "SummedAnswer(<private>)"
