"""The choice of a clipping threshold: its share of a budget, and the two ways to draw it.

In: a truncated answer and its scores. Out: a threshold of every group, which may be published, and the value there,
  which may not. Both ways solve as few cells as their noise allows, and the choice does not depend on that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy, checked_geometric
from privacy.errors import EntropyFailed, InvalidParameter
from privacy.exact import float_at_least
from privacy.join_tuples import Private
from privacy.mechanisms.scores import SENSITIVITY, ExceedanceScores, Scores, selection_noise
from privacy.noisy_answer import CLIPPED_SHARE
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import MAX_UNITS, Ints

RARITY = 3.5
"""How many times rarer each doubling too far is by default, while its noise only doubles. `make benchmark
NAME=tuning`, NAME=scalar and NAME=trust chose it, with GROWTH and BETA."""

GROWTH = 0.5
"""By how much the logarithm of the rarity grows with each further doubling. The fifth doubling too far has 32 times
the noise of the right threshold, and is 29,000 times rarer.

More would shorten the far tail, and take from heavy-tailed contributions: a threshold also has to beat those far
below it by as much. From 0.7 on the usual error of the worst of them grows by half (`tuning`: heavy tails)."""

BETA = 1e-6
"""The default chance that the score analysis leaves for a threshold that is too large. At 0.001 one release in a
thousand had up to millions of times the right noise."""

MOST_NOISE = 2.0**30
"""The most that a score charges for noise, in multiples of tau: below `MAX_PRICE` with the largest margins. With more
noise no value is worth a doubling."""

_OVERLOOKED = 0.05
"""The chance at which intervals and marks state what a choice may have overlooked."""


@dataclass(frozen=True)
class SelectionSettings:
    """Public settings of the choice of a threshold.

    The published scores use t = 2 ln(L / beta) / eps_1. That makes the last of many thresholds rare enough, and asks
    as much of the next one, whose noise only doubles. Here a threshold has to beat one that is k doublings smaller by
    min(k ln(rarity) + growth (k - 1)^2 / 2, ln(L G / beta)) 2 / eps_1 in scores. These are public handicaps, so they
    move no sensitivity (`Scores`).

    Attributes:
      split: the choice's share of epsilon, or of rho, in (0, 1).
      beta: in (0, 1), for all G groups together. A smaller one makes far too much noise rarer, and the usual
        threshold smaller.
      rarity: > 1, how many times rarer each doubling too far is, up to what beta asks; None for the published scores.
      growth: >= 0, by how much the logarithm of the rarity grows with each further doubling.
      first: of `exceedance_scores`: the least part of a doubling that the next threshold counts for.
    """

    split: float
    beta: float = BETA
    rarity: float | None = RARITY
    growth: float = GROWTH
    first: float = 0.15

    def __post_init__(self) -> None:
        if not (0 < self.split < 1 and 0 < self.beta < 1):
            raise InvalidParameter("split and beta must be between 0 and 1")
        if self.rarity is not None and not 1 < self.rarity < math.inf:
            raise InvalidParameter("rarity must be a finite number above 1")
        if not 0 <= self.growth < math.inf:
            raise InvalidParameter("growth must be finite and not negative")
        if not 0 <= self.first < math.inf:
            raise InvalidParameter("first must be finite and not negative")

    def farthest(self, thresholds: Thresholds, selecting: float, n_groups: int = 1) -> float:
        """t = 2 ln(L G / beta) / eps_1: with probability 1 - beta no threshold's noise exceeds it.

        Args:
          selecting: eps_1 of the choice in one group.
          n_groups: G, in each of which a threshold is chosen.
        """
        return 2 * math.log(len(thresholds) * max(1, n_groups) / self.beta) / selecting

    def doubt(self, price: float, selecting: float) -> float:
        """How many people a choice may overlook, divided by `CLIPPED_SHARE`. One choice in twenty overlooks more.

        The noise of the choice hides 2 ln(20) / eps_1 of them, beside those that it accepts.

        Args:
          price: what the noise of a threshold is charged, in people: so many may exceed it.
          selecting: eps_1 of the choice in one group.
        """
        return (price + 2 * math.log(1 / _OVERLOOKED) / selecting) / CLIPPED_SHARE

    def doubt_by_distance(self, price: float, selecting: float, thresholds: Thresholds, n_groups: int = 1) -> float:
        """How many people a choice by `scores` may overlook if they have far more than the threshold.

        With t the largest margin, let n people exceed all thresholds. The far one that they deserve scores t - n. One
        far below scores n (1 - 2^-k) less the margin M_k of k doublings, for any k. So the low one wins up to n =
        (t + M_k) / (2 - 2^-k), but for noise. A value of so many people at tau may lack anything.

        Args:
          price, selecting: as of `doubt`.
          thresholds, n_groups: as in `farthest`.
        """
        farthest = self.farthest(thresholds, selecting, n_groups)
        noise = 2 * math.log(len(thresholds) / _OVERLOOKED) / selecting
        if self.rarity is None:
            return price + farthest + noise
        margins = (2 * self._log_rarity(self.rarity, doublings) / selecting for doublings in range(1, 9))
        steps = enumerate(margins, 1)
        return price + min((farthest + margin + noise) / (2 - 2.0**-doublings) for doublings, margin in steps)

    def scores(
        self, thresholds: Thresholds, gap: float, noise: tuple[float, ...], selecting: float, n_groups: int = 1
    ) -> Scores:
        """Scores that charge a threshold for its noise, and for its distance above its rivals.

        Args:
          thresholds, selecting, n_groups: as in `farthest`.
          noise: (L,) what the release noise at each threshold is charged, in multiples of (1 + gap) tau.
        """
        far = self.farthest(thresholds, selecting, n_groups)
        if self.rarity is None:
            return Scores(thresholds, gap, tuple(price + far for price in noise))
        margins = (2 * self._log_rarity(self.rarity, doublings) / selecting for doublings in range(len(thresholds)))
        return Scores(thresholds, gap, noise, tuple(min(margin, far) for margin in margins))

    def exceedance_scores(
        self, thresholds: Thresholds, price: float, selecting: float, reached: int = 1
    ) -> ExceedanceScores:
        """Scores by how many units exceed each threshold, for tuples with one owner.

        Args:
          thresholds, selecting: as in `scores`, at any distances.
          price: what noise is charged, in units: the mean of all groups' together, in multiples of tau.
          reached: L0, if the counts are of several groups together.
        Raises: InvalidParameter without a rarity, or for an epsilon that is too small.
        """
        if self.rarity is None:
            raise InvalidParameter("margins between thresholds need the parameter rarity")
        far = math.log(len(thresholds) / self.beta)
        made = min(price, MOST_NOISE), selecting, self.rarity, self.first, self.growth, far, reached
        return ExceedanceScores(thresholds, *made)

    def _log_rarity(self, rarity: float, doublings: int) -> float:
        """The logarithm of how rare it is to be so many doublings too far."""
        return doublings * math.log(rarity) + self.growth * max(0, doublings - 1) ** 2 / 2


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Private):
    """The threshold of each group and the value there. Private until noise is added to the values.

    Attributes:
      index: (G,) the chosen level, safe to publish.
      values: (G,) int64 units, private.
    """

    index: NDArray[np.intp]
    values: Ints


def settled_values(answer: TruncatedAnswer, index: NDArray[np.intp] | int) -> Ints:
    """(G,) the exact value of each group at its threshold, which is solved if its bounds differ.

    Args:
      index: (G,) a level per group, or one for all.
    """
    rows, levels = np.arange(answer.n_groups), np.broadcast_to(index, answer.n_groups)
    lower, upper = answer.bounds()
    values: Ints = lower[rows, levels].copy()
    for group in np.flatnonzero(values != upper[rows, levels]):
        values[group] = answer.solve(int(group), int(levels[group]))
    return values


def choose(answer: TruncatedAnswer, scores: Scores | ExceedanceScores, noise: Ints) -> Choice:
    """Choose the threshold with the least score - noise in every group; of equals the first.

    The noise is drawn before anything is solved. So the outcome is the same as if every threshold had been solved
    (docs/mathematics.md, section 6.6).

    Args:
      noise: (G, L) int64 grid steps.
    Cost: G L^2 operations, and at most L solves per group, each followed by L^2 operations.
    """
    best, worst = (bound - noise for bound in scores.bounds(answer))
    index = np.argmin(best, axis=1)
    rows = np.arange(answer.n_groups)
    if isinstance(scores, ExceedanceScores):
        return Choice(index, settled_values(answer, index))
    lower, upper = answer.bounds()
    open_groups = (best[rows, index] != worst[rows, index]) | (lower[rows, index] != upper[rows, index])
    values = lower[rows, index].copy()
    for group in np.flatnonzero(open_groups):
        index[group], values[group] = _choose_one(answer, scores, noise[group], int(group))
    return Choice(index, values)


def noisy_choice(
    answer: TruncatedAnswer, scores: Scores | ExceedanceScores, epsilon: Fraction, entropy: Entropy
) -> Choice:
    """`choose` with one-sided geometric noise: epsilon-DP in every group (`selection_noise`).

    Args:
      epsilon: of the choice in one group, > 0.
    Raises: EntropyFailed; SolverFailed.
    Cost: G L draws, and that of `choose`.
    """
    return choose(answer, scores, selection_noise((answer.n_groups, len(answer.thresholds)), epsilon, entropy))


def _choose_one(answer: TruncatedAnswer, scores: Scores, noise: Ints, group: int) -> tuple[int, int]:
    """Sharpen cells of one group until the front runner cannot be overtaken, and solve it alone.

    The front runner has the smallest best case. Once its worst case is no larger than the best case of any other, it
    has won, since every true score lies between the two. Until then the cell that is known worst, in multiples of its
    threshold, is sharpened: its own, or that of its strongest open rival.
    """
    taus = answer.thresholds.taus
    while True:
        lower, upper = (bound[group] for bound in answer.bounds())
        best = scores(upper[None], lower[None])[0] - noise
        front = int(np.argmin(best))
        worst = scores(lower[None], upper[None])[0, front] - noise[front]
        if worst < best[:front].min(initial=MAX_UNITS) and worst <= best[front + 1 :].min(initial=MAX_UNITS):
            return front, int(lower[front]) if lower[front] == upper[front] else answer.solve(group, front)
        threats = scores.terms(int(lower[front]), front, upper)
        threats[lower == upper] = -np.inf
        rival = int(np.argmax(threats))
        doubt = (upper - lower) / taus
        answer.sharpen(group, front if doubt[front] >= doubt[rival] else rival)


_AT_ONCE = 8
"""Proposals of one group that are drawn at once; some 10 to 20 are needed."""

_PATIENCE = 64
"""Rounds after which a group's scores count from its smallest one; few groups get there."""

_MOST_ROUNDS = 1 << 16
"""With scores counted from the smallest, at least one proposal in 53 e is accepted, for the most thresholds. So many
failures have a chance below exp(-3000), so the source is broken."""


def proposal_scale(epsilon: Fraction, length: int) -> float:
    """The scale of the draws of `exponential_choice` among `length` thresholds, rounded up. Public."""
    return float_at_least(2 * SENSITIVITY * length / epsilon)


def exponential_choice(
    answer: TruncatedAnswer, scores: Scores | ExceedanceScores, epsilon: Fraction, entropy: Entropy
) -> Choice:
    """Draw a threshold for every group with probability proportional to exp(-epsilon score / (2 D)).

    Scores move by at most D = SENSITIVITY between neighbours. So the log density ratio lies in an interval of length
    epsilon, which is `BoundedRange(epsilon)` and (epsilon^2 / 8)-zCDP. The law is that of noisy-max with Gumbel
    noise, drawn in whole numbers. Thresholds are proposed one after the other, and one of score s is accepted with
    probability a^s, a = exp(-1 / scale). With X geometric of scale `scale * L`, the threshold X mod L and N = X div L
    are independent. N is at least s with probability a^s exactly. The law of the proposal depends on no data, so it
    cancels in every ratio and nothing is approximate.

    The law does not change if all scores of a group fall by the same amount. So after a while they are counted from
    the smallest one, in case margins make even that one large.

    A score that its bounds leave open is compared with N alone, so most thresholds are never solved. The outcome is a
    function of (data, noise).

    Args:
      epsilon: of the choice in one group, > 0.
    Raises: InvalidParameter for an epsilon too small for the noise source; EntropyFailed; SolverFailed.
    Cost: some twenty draws per group, and G L^2 operations.
    Source: McSherry and Talwar (FOCS 2007); the race: Dughmi, Hartline, Kleinberg, Niazadeh (STOC 2017); the range:
      Durfee and Rogers (NeurIPS 2019); zCDP: Cesar and Rogers (ALT 2021); docs/mathematics.md, section 6.4.
    """
    if epsilon <= 0:
        raise InvalidParameter("epsilon must be positive")
    n_groups, length = answer.n_groups, len(answer.thresholds)
    scale = proposal_scale(epsilon, length)
    best, worst = scores.bounds(answer)
    index = np.zeros(n_groups, np.intp)
    racing = np.arange(n_groups)
    for rounds in range(_MOST_ROUNDS):
        if not len(racing):
            return Choice(index, settled_values(answer, index))
        if rounds == _PATIENCE:
            best[racing] = worst[racing] = _from_the_smallest(answer, scores, racing)
        taken, proposal = _proposals(entropy, scale, len(racing), length)
        winner = _first_taken(answer, scores, best[racing], worst[racing], racing, taken, proposal)
        decided = winner >= 0
        index[racing[decided]] = winner[decided]
        racing = racing[~decided]
    raise EntropyFailed("no threshold was chosen in any round: the noise source is broken")


def _from_the_smallest(answer: TruncatedAnswer, scores: Scores | ExceedanceScores, groups: NDArray[np.intp]) -> Ints:
    """(n, L) the scores of some groups, every value solved, less each group's smallest."""
    for group in groups.tolist():
        for index in range(len(answer.thresholds)):
            answer.solve(group, index)
    found = scores.bounds(answer)[0][groups]
    smallest: Ints = found - found.min(axis=1, keepdims=True)
    return smallest


def _proposals(entropy: Entropy, scale: float, n_groups: int, length: int) -> tuple[Ints, Ints]:
    """(n, _AT_ONCE) noise N, and the threshold that each proposes."""
    size = n_groups * _AT_ONCE
    draws = checked_geometric(entropy.geometric(scale, size), size)
    noise, proposal = np.divmod(draws.reshape(n_groups, _AT_ONCE), length)
    return noise, proposal


def _first_taken(
    answer: TruncatedAnswer,
    scores: Scores | ExceedanceScores,
    best: Ints,
    worst: Ints,
    groups: NDArray[np.intp],
    noise: Ints,
    proposal: Ints,
) -> NDArray[np.intp]:
    """(n,) the first proposed threshold of each group whose score is at most its noise; -1 without one."""
    surely = np.take_along_axis(worst, proposal, axis=1) <= noise
    perhaps = np.take_along_axis(best, proposal, axis=1) <= noise
    first = np.argmax(perhaps, axis=1)
    rows = np.arange(len(groups))
    winner = np.where(perhaps[rows, first], proposal[rows, first], -1).astype(np.intp)
    for row in np.flatnonzero(perhaps[rows, first] & ~surely[rows, first]):
        winner[row] = -1
        assert isinstance(scores, Scores), "counts leave nothing open"
        for turn in np.flatnonzero(perhaps[row]):
            threshold = int(proposal[row, turn])
            if _is_taken(answer, scores, int(groups[row]), threshold, int(noise[row, turn])):
                winner[row] = threshold
                break
    return winner


def _is_taken(answer: TruncatedAnswer, scores: Scores, group: int, index: int, noise: int) -> bool:
    """Is the score of a threshold at most the noise? Sharpens its value, then its strongest rivals."""
    while True:
        lower, upper = (bound[group] for bound in answer.bounds())
        if scores(lower[None], upper[None])[0, index] <= noise:
            return True
        if scores(upper[None], lower[None])[0, index] > noise:
            return False
        if lower[index] != upper[index]:
            answer.sharpen(group, index)
            continue
        threats = scores.terms(int(lower[index]), index, upper)
        threats[lower == upper] = -np.inf
        answer.sharpen(group, int(np.argmax(threats)))
