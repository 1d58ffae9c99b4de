"""The choice of a threshold: its share of a budget, by noisy scores, or by the exponential mechanism.

A truncated answer and its scores enter; a threshold of every group leaves, which may be published, with the value
there, which may not. Both choices solve as few cells as their noise allows: what is chosen does not depend on it.
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
from privacy.noisy_answer import CUT_SHARE
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import Ints

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

    def farthest(self, thresholds: Thresholds, selecting: float, n_groups: int = 1) -> float:
        """t = 2 ln(L G / beta) / eps_1: the price below which no threshold's noise counts, but with probability beta.

        Args:
          selecting: eps_1 of the selection in one group.
          n_groups: G, in each of which a threshold is chosen.
        """
        return 2 * math.log(len(thresholds) * max(1, n_groups) / self.beta) / selecting

    def doubt(self, price: float, selecting: float) -> float:
        """The people that a choice overlooks at most, over `CUT_SHARE`, but for one choice in twenty.

        The noise of the choice lets it overlook 2 ln(20) / eps_1 of them, beside those whom it accepts.

        Args:
          price: what the noise of a threshold is charged at, in people: so many may well have more than it.
          selecting: eps_1 of the selection in one group.
        """
        return (price + 2 * math.log(1 / _OVERLOOKED) / selecting) / CUT_SHARE

    def scores(
        self, thresholds: Thresholds, gap: float, noise: tuple[float, ...], selecting: float, n_groups: int = 1
    ) -> Scores:
        """Scores that charge a threshold for its noise, and for how far it lies above its rivals.

        Args:
          ladder, selecting, n_groups: as in `farthest`.
          noise: (L,) what the release noise at each threshold is charged at, in multiples of (1 + gap) tau.
        """
        far = self.farthest(thresholds, selecting, n_groups)
        if self.rarity is None:
            return Scores(thresholds, gap, tuple(price + far for price in noise))
        margins = (2 * self._log_rarity(self.rarity, doublings) / selecting for doublings in range(len(thresholds)))
        return Scores(thresholds, gap, noise, tuple(min(margin, far) for margin in margins))

    def exceedance_scores(
        self, thresholds: Thresholds, price: float, selecting: float, reached: int = 1
    ) -> ExceedanceScores:
        """Scores by how many units have more, for tuples of one owner.

        Args:
          ladder, selecting: as in `scores`; the ladder may be a fine one.
          price: what noise is charged at, in units: the mean of all groups' together, in multiples of tau.
          reached: L0, where the counts are those of several groups together.
        Raises: InvalidParameter without a rarity, or for an epsilon that is too small.
        """
        if self.rarity is None:
            raise InvalidParameter("steps up are worth what their rarity asks for")
        far = math.log(len(thresholds) / self.beta)
        made = min(price, MOST_NOISE), selecting, self.rarity, self.first, self.growth, far, reached
        return ExceedanceScores(thresholds, *made)

    def _log_rarity(self, rarity: float, doublings: int) -> float:
        """How rare it is to be so many doublings too far: the logarithm."""
        return doublings * math.log(rarity) + self.growth * max(0, doublings - 1) ** 2 / 2


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Private):
    """The threshold of each group and the value there. Private until noise is added to the values.

    Attributes:
      index: (G,) the chosen rung, safe to publish.
      values: (G,) int64 units, private.
    """

    index: NDArray[np.intp]
    values: Ints


def settled_values(answer: TruncatedAnswer, index: NDArray[np.intp] | int) -> Ints:
    """(G,) the value of every group at its threshold, solved where the bounds do not know it.

    Args:
      index: (G,) a rung per group, or one of all.
    """
    rows, levels = np.arange(answer.n_groups), np.broadcast_to(index, answer.n_groups)
    lower, upper = answer.bounds()
    values: Ints = lower[rows, levels].copy()
    for group in np.flatnonzero(values != upper[rows, levels]):
        values[group] = answer.solve(int(group), int(levels[group]))
    return values


def choose(answer: TruncatedAnswer, scores: Scores | ExceedanceScores, noise: Ints) -> Choice:
    """The argmin of score - noise in every group, the lowest index among equals.

    The noise is drawn before anything is solved, so the outcome is a function of (data, noise) alone:
    the same as if the whole ladder had been solved (docs/mathematics.md, section 6.6).

    Args:
      answer: the truncated answer; solved only where its bounds leave the choice open.
      noise: (G, L) int64 grid steps.
    Cost: G L^2 operations, and at most L solves per group; each solve is followed by L^2 operations.
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
      answer: of G groups on L thresholds.
      epsilon: of the selection in one group, > 0.
    Raises: EntropyFailed; SolverFailed from the answer.
    Cost: G L draws, and that of `choose`.
    """
    return choose(answer, scores, selection_noise((answer.n_groups, len(answer.thresholds)), epsilon, entropy))


def _choose_one(answer: TruncatedAnswer, scores: Scores, noise: Ints, group: int) -> tuple[int, int]:
    """Solve cells of one group until the front runner cannot be overtaken; at most one solve per cell.

    The front runner has the smallest best case. Once its own score is certain, nobody's best case is below
    it, and everybody's true score is at least their best case: it has won.
    """
    while True:
        lower, upper = (bound[group] for bound in answer.bounds())
        best = scores(upper[None], lower[None])[0]
        front = int(np.argmin(best - noise))
        if lower[front] != upper[front]:
            answer.sharpen(group, front)
            continue
        worst = scores(lower[None], upper[None])[0]
        if best[front] == worst[front]:
            return front, int(lower[front])
        threats = scores.terms(int(lower[front]), front, upper)
        threats[lower == upper] = -np.inf
        answer.sharpen(group, int(np.argmax(threats)))


_AT_ONCE = 8
"""Proposals of one group that are drawn in one go; some 10 to 20 are needed."""

_PATIENCE = 64
"""Rounds after which a group's scores are counted from the smallest one; few groups ever come so far."""

_MOST_ROUNDS = 1 << 16
"""With scores counted from the smallest, one proposal in 53 e at the least is taken, for the longest ladder: the
chance of so many failures is below exp(-3000), so that is not noise."""


def proposal_scale(epsilon: Fraction, length: int) -> float:
    """The scale of the draws of `exponential_choice` among so many thresholds, rounded up. Public."""
    return float_at_least(2 * SENSITIVITY * length / epsilon)


def exponential_choice(
    answer: TruncatedAnswer, scores: Scores | ExceedanceScores, epsilon: Fraction, entropy: Entropy
) -> Choice:
    """Draw a threshold for every group with probability proportional to exp(-epsilon score / (2 D)).

    Scores move by at most D = SENSITIVITY between neighbours, so the log density ratio of what is drawn lies in an
    interval of length epsilon: it has `BoundedRange(epsilon)`, hence epsilon^2 / 8 of zCDP. The law is that of
    noisy-max with Gumbel noise, but it is drawn in whole numbers, without that noise: thresholds are proposed one
    after the other and one of score s is taken with probability a^s, a = exp(-1 / scale), until one is. With
    X geometric of scale `scale * L`, the threshold X mod L and N = X div L are independent, N is at least s
    with probability a^s exactly, and the proposal has a law that no data enters (uniform but for a factor
    a). Such a prior belongs to the mechanism: it cancels in every ratio, so nothing here is approximate.

    The law does not change when a group's scores all fall by the same amount. So where margins make even the smallest
    score large, and proposals are rarely taken, they are counted from the smallest one after a while: what is drawn
    then has the same law as what would have been drawn before.

    A score that its bounds leave open is compared with N alone, so most thresholds are never solved. What is
    drawn does not depend on it: the outcome is a function of (data, noise).

    Args:
      answer: the truncated answer; solved only where its bounds leave a comparison open, and where it was chosen.
      epsilon: of the selection in one group, > 0.
    Raises: InvalidParameter for an epsilon too small for the noise source; EntropyFailed; SolverFailed.
    Cost: some twenty draws per group, and G L^2 operations.
    Source: McSherry and Talwar (FOCS 2007); the race: Dughmi, Hartline, Kleinberg, Niazadeh (STOC 2017); the
      range: Durfee and Rogers (NeurIPS 2019); zCDP: Cesar and Rogers (ALT 2021); docs/mathematics.md, section 6.4.
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
    raise EntropyFailed("the noise source lets no threshold be chosen")


def _from_the_smallest(answer: TruncatedAnswer, scores: Scores | ExceedanceScores, groups: NDArray[np.intp]) -> Ints:
    """(n, L) the scores of some groups, every value solved, less each group's smallest."""
    for group in groups.tolist():
        for index in range(len(answer.thresholds)):
            answer.solve(group, index)
    found = scores.bounds(answer)[0][groups]
    smallest: Ints = found - found.min(axis=1, keepdims=True)
    return smallest


def _proposals(entropy: Entropy, scale: float, n_groups: int, length: int) -> tuple[Ints, Ints]:
    """(n, _AT_ONCE) noise N, and the threshold that it is for."""
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
    """(n,) the first proposed threshold of each group whose score is at most its noise, -1 if there is none."""
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
    """Whether the score of a threshold is at most the noise: sharpen its value, then its strongest rivals."""
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
