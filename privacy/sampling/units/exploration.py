"""Amplification by sample-and-explore: k privacy units are drawn, and everything that comes with them is seen."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.errors import InvalidParameter
from privacy.sampling.units.unit_sampling import MOST

_EXPLORATION_MARGIN = 1e-9
"""Relative, more than sums of a million rounded terms err."""

_MOST_TERMS = 1 << 22
"""Beyond as many possible hits no amplification is claimed."""


@dataclass(frozen=True)
class Exploration:
    """k of n privacy units drawn without replacement; each brings the tuples whose first owner it is. Public.

    An epsilon-DP mechanism that sees only what the drawn units bring is epsilon'-DP with

        epsilon' = ln(E[exp(epsilon H)] / E[exp(epsilon max(0, H - 1))]),   H ~ Hypergeometric(n, A, k),

    where A is the most units that bring a tuple of one unit, itself included; for k = 1 that is
    ln(1 + A / n (exp(epsilon) - 1)). It is required that exchanging one drawn unit for another costs the mechanism
    epsilon as well, not 2 epsilon. That holds for noise scaled to truncated answers: with a the answer of
    what stays, both answers lie in [a, a + tau].

    Proof: let the larger instance have the unit u, and let H be how many of the drawn units bring tuples of u, u
    included. Couple both instances by the same draw; if u's own row is gone, another unit that was not drawn is
    drawn in its place, as both are then first owners of what differs from the rest. Let x and y be the
    mean densities at an output over draws with H = h, without u's tuples and with them, and z that for H = 0,
    which is the same for both. By the coupling y <= exp(epsilon) x; exchanging the h units one by one for
    others, y <= exp(h epsilon) z and x <= exp(h epsilon) z. The ratio of the two sums over h grows with each y
    while x = exp(-epsilon) y, so it is largest at y = exp(h epsilon) z. Likewise the other way round. It
    falls with n and rises with A (likelihood ratios of hypergeometric counts do), so a lower bound on n and
    an upper bound on A serve.

    Theorem 5.4 of the paper is the case k = 1. Corollary D.2 of DP-S4S claims ln(1 + (1 - P)(exp(epsilon) - 1)) for
    all k, with P = C(n - kC, k) / C(n, k). That treats k exchanged units like one: with k = 2, C = 10, n = 10^6
    and epsilon = 12.6 it claims 2.55 for what loses 2.69 (pinned in the tests). And its P, where a
    draw misses the removed unit and its collaborators with probability C(n - C - 1, k) / C(n, k), is needlessly
    small for many units. Both papers count the neighbours of the drawn unit; what matters are the units whose
    neighbour the removed one is, and it itself.

    Source: Fang and Yi (SIGMOD 2024), section 5; DP-S4S (SIGMOD 2026), appendix D.

    Attributes:
      drawn: k >= 1.
      collaborators: C >= 0, a public bound on how many other units share a tuple with a unit; A = C + 1.
    """

    drawn: int
    collaborators: int

    def __post_init__(self) -> None:
        if self.drawn < 1 or self.collaborators < 0:
            raise InvalidParameter("at least one unit is drawn, and a unit has no negative number of collaborators")

    def loss(self, epsilon: float, units: int) -> float:
        """epsilon' in (0, epsilon], rounded up.

        Args:
          epsilon: of the mechanism on what the drawn units bring, in (0, 600].
          units: a lower bound on n, >= 1; a false one costs at most epsilon.
        Raises: InvalidParameter.
        Cost: min(k, A) exponentials.
        """
        if not 0 < epsilon <= MOST or units < 1:
            raise InvalidParameter("epsilon lies in (0, 600], and there is at least one unit")
        return _loss(epsilon, _log_odds(units, self.collaborators + 1, self.drawn))

    def budget(self, target: float, units: int) -> float:
        """The epsilon that the mechanism on what is explored may spend for `target` in all, rounded down.

        Returns: at least `target`, at most 600.
        Raises: InvalidParameter unless 0 < target <= 600.
        Cost: some sixty evaluations of `loss`.
        """
        if not 0 < target <= MOST or units < 1:
            raise InvalidParameter("epsilon lies in (0, 600], and there is at least one unit")
        odds = _log_odds(units, self.collaborators + 1, self.drawn)
        low, high = target, MOST
        while high - low > _EXPLORATION_MARGIN * low:
            middle = (low + high) / 2
            low, high = (middle, high) if _loss(middle, odds) <= target else (low, middle)
        return low


def _log_odds(units: int, affected: int, drawn: int) -> NDArray[np.float64] | None:
    """ln(P(H = h) / P(H = 0)) for h = 1 to the most hits; None where P(H = 0) is zero or hits are too many."""
    most = min(drawn, affected)
    if drawn + affected > units or most > _MOST_TERMS:
        return None
    h = np.arange(most, dtype=np.float64)
    grown = (affected - h) * (drawn - h) / ((h + 1) * (units - affected - drawn + h + 1))
    odds: NDArray[np.float64] = np.cumsum(np.log(grown))
    return odds


def _loss(epsilon: float, odds: NDArray[np.float64] | None) -> float:
    """-ln(exp(-epsilon) + (1 - exp(-epsilon)) / (1 + E)), E = sum_h exp(odds_h + h epsilon), small or large."""
    if odds is None:
        return epsilon
    terms = odds + epsilon * np.arange(1, len(odds) + 1)
    top = float(terms.max())
    log_excess = top + float(np.log(np.exp(terms - top).sum()))
    if log_excess < 0:
        excess = math.exp(log_excess)
        claimed = -math.log1p(math.expm1(-epsilon) * excess / (1 + excess))
    else:
        missing = math.log(-math.expm1(-epsilon)) - float(np.logaddexp(0.0, log_excess))
        claimed = -float(np.logaddexp(-epsilon, missing))
    return min(epsilon, claimed * (1 + _EXPLORATION_MARGIN))
