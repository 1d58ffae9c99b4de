"""Scores of thresholds by how many privacy units have more: the choice for sums over tuples of one owner.

From tau_j to tau_i such a sum grows by what the n_j units that have more than tau_j have up to tau_i, so n_j says
what the step up from tau_j is worth, beside noise that grows with tau. The best threshold is about that which 1 /
epsilon units exceed. With a public price C for noise and public margins M,

    s_i = max(0, max_{j < i} (M(tau_i / tau_j) + C - n_j), n_i - C),   small is good.

A threshold among people pays nothing where every step up to it is worth it; one that is k doublings above the last
that anybody exceeds pays the margin of k doublings; and one that cuts pays for all whom it cuts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.selection.scores import GRID, MAX_PRICE, MAX_SCORE
from privacy.truncation.truncated_answer import CountedAnswer, TruncatedAnswer

_MOST = int(MAX_SCORE)
"""Counts saturate here, above the number of privacy units that there can be."""


@dataclass(frozen=True)
class ExceedanceScores:
    """Integer scores of all thresholds, of many groups at once, in steps of 1 / GRID of a unit.

    Sensitivity: GRID, exactly. A unit that comes or goes moves every n_j by 0 or 1, in one direction; everything else
    is public, and maxima, differences with constants and saturation are 1-Lipschitz. All is counted in integers. Of
    several groups together n_j is the sum over the groups, in which a unit is in L0 at most, divided by L0 and
    rounded down to a step: it moves by GRID at most, too.

    M of k doublings is (ln(rarity) (k + first) + growth max(0, k - 1)^2 / 2) 2 / eps_1, and 2 farthest / eps_1 at
    most: with the noise of eps_1, a threshold k doublings too far is as rare as that.

    Attributes:
      ladder: the L thresholds, in any ratio.
      price: C >= 0, what noise is charged at, in units.
      selecting: eps_1 of the selection.
      rarity, first, growth, farthest: of the margins (`SelectionSettings`).
      reached: L0 >= 1, of counts that are those of several groups together.
    """

    ladder: Ladder
    price: float
    selecting: float
    rarity: float
    first: float
    growth: float
    farthest: float
    reached: int = 1

    def __post_init__(self) -> None:
        if not self.price + 2 * self.farthest / self.selecting <= MAX_PRICE:
            raise InvalidParameter("epsilon is too small to choose a threshold with")

    @cached_property
    def _margins(self) -> NDArray[np.int64]:
        """(L, L) M(tau_i / tau_j) + C in steps, of i against every j below it."""
        height = np.log2(self.ladder.taus)
        apart = np.maximum(0.0, height[:, None] - height[None, :])
        rare = math.log(self.rarity) * (apart + self.first) + self.growth * np.maximum(0.0, apart - 1) ** 2 / 2
        margins = np.minimum(rare, self.farthest) * 2 / self.selecting
        steps: NDArray[np.int64] = np.ceil((margins + self.price) * GRID).astype(np.int64)
        return steps

    def bounds(self, answer: TruncatedAnswer) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(G, L) every threshold's score, twice, as nothing is unknown. Raises: InvalidParameter without counts."""
        counts = answer.exceedances if isinstance(answer, CountedAnswer) else None
        if counts is None:
            raise InvalidParameter("thresholds are scored by how many units exceed them, where tuples have one owner")
        found = self(counts)
        return found, found

    def __call__(self, exceedances: NDArray[np.int64]) -> NDArray[np.int64]:
        """Score every threshold.

        Args:
          exceedances: (G, L) int64 >= 0, how many units have more than each threshold.
        Returns: (G, L) int64 in [0, GRID * MAX_SCORE].
        Cost: G L^2 integer operations.
        """
        counts = np.minimum(exceedances, _MOST * self.reached) * GRID // self.reached
        scores = np.maximum(counts - math.ceil(self.price * GRID), 0)
        for below in range(len(self.ladder) - 1):
            above = scores[:, below + 1 :]
            np.maximum(above, self._margins[None, below + 1 :, below] - counts[:, below, None], out=above)
        return np.asarray(np.minimum(scores, GRID * _MOST))
