"""The exponential mechanism over thresholds, with as few solves as its noise allows: the choice for zCDP."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy, checked_geometric
from privacy.errors import EntropyFailed, InvalidParameter
from privacy.exact import float_at_least
from privacy.mechanisms.selection.exceedances import ExceedanceScores
from privacy.mechanisms.selection.lazy_choice import Choice, settled_values
from privacy.mechanisms.selection.scores import SENSITIVITY, Scores
from privacy.truncation.truncated_answer import TruncatedAnswer

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
      scores: integer scores from values.
      epsilon: of the selection in one group, > 0.
      entropy: where the noise comes from.
    Raises: InvalidParameter for an epsilon too small for the noise source; EntropyFailed; SolverFailed.
    Cost: some twenty draws per group, and G L^2 operations.
    Source: McSherry and Talwar (FOCS 2007); the race: Dughmi, Hartline, Kleinberg, Niazadeh (STOC 2017); the
      range: Durfee and Rogers (NeurIPS 2019); zCDP: Cesar and Rogers (ALT 2021); privacy.md section 4.
    """
    if epsilon <= 0:
        raise InvalidParameter("epsilon must be positive")
    n_groups, length = answer.n_groups, len(answer.ladder)
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


def _from_the_smallest(
    answer: TruncatedAnswer, scores: Scores | ExceedanceScores, groups: NDArray[np.intp]
) -> NDArray[np.int64]:
    """(n, L) the scores of some groups, every value solved, less each group's smallest."""
    for group in groups.tolist():
        for index in range(len(answer.ladder)):
            answer.solve(group, index)
    found = scores.bounds(answer)[0][groups]
    smallest: NDArray[np.int64] = found - found.min(axis=1, keepdims=True)
    return smallest


def _proposals(
    entropy: Entropy, scale: float, n_groups: int, length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n, _AT_ONCE) noise N, and the threshold that it is for."""
    size = n_groups * _AT_ONCE
    draws = checked_geometric(entropy.geometric(scale, size), size)
    noise, proposal = np.divmod(draws.reshape(n_groups, _AT_ONCE), length)
    return noise, proposal


def _first_taken(
    answer: TruncatedAnswer,
    scores: Scores | ExceedanceScores,
    best: NDArray[np.int64],
    worst: NDArray[np.int64],
    groups: NDArray[np.intp],
    noise: NDArray[np.int64],
    proposal: NDArray[np.int64],
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
