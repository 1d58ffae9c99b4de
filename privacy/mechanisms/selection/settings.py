"""How a threshold is chosen: with what share of a budget, and what it pays in its score for being too large."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.selection.exceedances import ExceedanceScores
from privacy.mechanisms.selection.scores import Scores

RARITY = 3.5
"""How many times rarer a first doubling too far is by default, while its noise only doubles. Chosen by
`make benchmark NAME=tuning`, NAME=scalar and NAME=trust, with GROWTH and BETA."""

GROWTH = 0.5
"""By how much the logarithm of that rarity grows with each further doubling. The fifth too far, with 32 times the
noise of the right one, is then 29,000 times rarer than the right one.

More would keep the far tail nearer still, and take away from loads with heavy tails: a threshold also has to beat
those far below it by as much. From 0.7 on the usual error of the worst of them is half again as large (`tuning`:
heavy tails).
"""

BETA = 1e-6
"""The default chance that the score analysis leaves for a threshold that is too large.

At 0.001 one release in a thousand had a threshold from anywhere above the right one, with up to millions of times
its noise.
"""

MOST_NOISE = 2.0**30
"""What noise is charged at at most, in multiples of tau: below `MAX_PRICE` with the largest margins. Where it is more
no value is worth a doubling, and there is no need to refuse the question for its scores."""

_OVERLOOKED = 0.05
"""The chance at which intervals and marks say what a choice may have overlooked."""


@dataclass(frozen=True)
class SelectionSettings:
    """What may be decided about the choice of a threshold without looking at data.

    Departure from the published scores: t = 2 ln(L / beta) / eps_1 makes the last of a long ladder's thresholds too
    rare to matter, and then asks as much of the next one, whose noise is only twice as large. Here a threshold
    has to beat one that is k doublings smaller by min(k ln(rarity) + growth (k - 1)^2 / 2, ln(L G / beta)) 2 / eps_1
    in scores: each further doubling too far is rarer by `rarity` and more. Being public handicaps, these change no
    sensitivity (Scores).

    Attributes:
      split: the share of epsilon, or of rho, that the choice gets and the release does not, in (0, 1).
      beta: in (0, 1), for all G groups together: smaller makes a threshold with far too much noise rarer and the
        usual one smaller. One group whose noise exceeds all answers spoils them all.
      rarity: > 1, how many times rarer a doubling too far is, up to what beta asks for; None for the published
        scores.
      growth: >= 0, by how much the logarithm of the rarity grows with each further doubling.
      first: of `exceedance_scores`: how much of a doubling even the next threshold counts for, however near.
    """

    split: float
    beta: float = BETA
    rarity: float | None = RARITY
    growth: float = GROWTH
    first: float = 0.15

    def __post_init__(self) -> None:
        if not (0 < self.split < 1 and 0 < self.beta < 1):
            raise InvalidParameter("split and beta are between 0 and 1")
        if self.rarity is not None and not 1 < self.rarity < math.inf:
            raise InvalidParameter("rarity is finite and above 1")
        if not 0 <= self.growth < math.inf:
            raise InvalidParameter("growth is finite and not negative")
        if not 0 <= self.first < math.inf:
            raise InvalidParameter("what the next threshold counts for is finite and not negative")

    def farthest(self, ladder: Ladder, selecting: float, n_groups: int = 1) -> float:
        """t = 2 ln(L G / beta) / eps_1: the price below which no threshold's noise counts, but with probability beta.

        Args:
          ladder: L thresholds.
          selecting: eps_1 of the selection in one group.
          n_groups: G, in each of which a threshold is chosen.
        """
        return 2 * math.log(len(ladder) * max(1, n_groups) / self.beta) / selecting

    def doubt(self, price: float, selecting: float) -> float:
        """Four times the people that a choice overlooks at most, but for one choice in twenty.

        The noise of the choice lets it overlook 2 ln(20) / eps_1 of them, beside those whom it accepts.

        Args:
          price: what the noise of a threshold is charged at, in people: so many may well have more than it.
          selecting: eps_1 of the selection in one group.
        """
        return 4 * (price + 2 * math.log(1 / _OVERLOOKED) / selecting)

    def scores(
        self, ladder: Ladder, gap: float, noise: tuple[float, ...], selecting: float, n_groups: int = 1
    ) -> Scores:
        """Scores that charge a threshold for its noise, and for how far it lies above its rivals.

        Args:
          ladder, selecting, n_groups: as in `farthest`.
          gap: eta of the solver.
          noise: (L,) what the release noise at each threshold is charged at, in multiples of (1 + gap) tau.
        """
        far = self.farthest(ladder, selecting, n_groups)
        if self.rarity is None:
            return Scores(ladder, gap, tuple(price + far for price in noise))
        margins = (2 * self._log_rarity(self.rarity, doublings) / selecting for doublings in range(len(ladder)))
        return Scores(ladder, gap, noise, tuple(min(margin, far) for margin in margins))

    def exceedance_scores(self, ladder: Ladder, price: float, selecting: float, reached: int = 1) -> ExceedanceScores:
        """Scores by how many units have more, for tuples of one owner.

        Args:
          ladder, selecting: as in `scores`; the ladder may be a fine one.
          price: what noise is charged at, in units: the mean of all groups' together, in multiples of tau.
          reached: L0, where the counts are those of several groups together.
        Raises: InvalidParameter without a rarity, or for an epsilon that is too small.
        """
        if self.rarity is None:
            raise InvalidParameter("steps up are worth what their rarity asks for")
        far = math.log(len(ladder) / self.beta)
        made = min(price, MOST_NOISE), selecting, self.rarity, self.first, self.growth, far, reached
        return ExceedanceScores(ladder, *made)

    def _log_rarity(self, rarity: float, doublings: int) -> float:
        """How rare it is to be so many doublings too far: the logarithm."""
        return doublings * math.log(rarity) + self.growth * max(0, doublings - 1) ** 2 / 2
