"""How a threshold is chosen: with what share of a budget, and what it pays in its score for being too large."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.selection.scores import Scores

RARITY = 4.0
"""How many times rarer each further doubling too far is by default, while its noise only doubles. Chosen by
`make benchmark NAME=tuning` and NAME=scalar.

3 errs 3% less on average, and a third more at the 99.9th percentile.
"""

BETA = 0.001
"""The default chance that the score analysis leaves for a threshold that is too large.

At 0.01 one release in 400 had more noise than answer and the 95th percentile of the error was the same: a
dashboard of 25 groups would show such a number every 16th time.
"""


@dataclass(frozen=True)
class SelectionSettings:
    """What may be decided about the choice of a threshold without looking at data.

    Departure from the published scores: t = 2 ln(L / beta) / eps_1 makes the last of a long ladder's thresholds too
    rare to matter, and then asks as much of the next one, whose noise is only twice as large. Here a threshold
    has to beat one that is k doublings smaller by min(k ln(rarity), ln(L G / beta)) 2 / eps_1 in scores: each
    further doubling too far is `rarity` times rarer. Being public handicaps, these change no sensitivity (Scores).

    Attributes:
      split: the share of epsilon, or of rho, that the choice gets and the release does not, in (0, 1).
      beta: in (0, 1), for all G groups together: smaller makes a threshold with far too much noise rarer and the
        usual one smaller. One group whose noise exceeds all answers spoils them all.
      rarity: > 1, how many times rarer each further doubling too far is, up to what beta asks for; None for the
        published scores.
    """

    split: float
    beta: float = BETA
    rarity: float | None = RARITY

    def __post_init__(self) -> None:
        if not (0 < self.split < 1 and 0 < self.beta < 1):
            raise InvalidParameter("split and beta are between 0 and 1")
        if self.rarity is not None and not 1 < self.rarity < math.inf:
            raise InvalidParameter("rarity is finite and above 1")

    def farthest(self, ladder: Ladder, selecting: float, n_groups: int = 1) -> float:
        """t = 2 ln(L G / beta) / eps_1: the price below which no threshold's noise counts, but with probability beta.

        Args:
          ladder: L thresholds.
          selecting: eps_1 of the selection in one group.
          n_groups: G, in each of which a threshold is chosen.
        """
        return 2 * math.log(len(ladder) * max(1, n_groups) / self.beta) / selecting

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
        step = 2 * math.log(self.rarity) / selecting
        return Scores(ladder, gap, noise, tuple(min(doublings * step, far) for doublings in range(len(ladder))))
