"""What a threshold pays in its score for being too large."""

from __future__ import annotations

import math

from privacy.ladder import Ladder
from privacy.mechanisms.selection import Scores


def farthest(ladder: Ladder, selecting: float, beta: float, n_groups: int = 1) -> float:
    """t = 2 ln(L G / beta) / eps_1: the price below which no threshold's noise counts, but with probability beta.

    Args:
      ladder: L thresholds.
      selecting: eps_1 of the selection in one group.
      beta: in (0, 1), for all groups together: one group whose noise exceeds all answers spoils them all.
      n_groups: G.
    """
    return 2 * math.log(len(ladder) * max(1, n_groups) / beta) / selecting


def priced_scores(
    ladder: Ladder,
    gap: float,
    noise: tuple[float, ...],
    selecting: float,
    beta: float,
    rarity: float | None,
    n_groups: int = 1,
) -> Scores:
    """Scores that charge a threshold for its noise, and for how far it lies above its rivals.

    A threshold has to beat one that is k doublings smaller by min(k ln(rarity), ln(L G / beta)) 2 / eps_1 in scores:
    each further doubling too far is `rarity` times rarer, while its noise only doubles.

    Args:
      ladder: L thresholds.
      gap: eta of the solver.
      noise: (L,) what the release noise at each threshold is charged at, in multiples of (1 + gap) tau.
      selecting: eps_1.
      beta: in (0, 1), the chance that is left for a threshold far too large.
      rarity: > 1, or None for the published scores, whose price is t everywhere.
      n_groups: G, in each of which a threshold is chosen.
    """
    far = farthest(ladder, selecting, beta, n_groups)
    if rarity is None:
        return Scores(ladder, gap, tuple(price + far for price in noise))
    step = 2 * math.log(rarity) / selecting
    return Scores(ladder, gap, noise, tuple(min(doublings * step, far) for doublings in range(len(ladder))))
