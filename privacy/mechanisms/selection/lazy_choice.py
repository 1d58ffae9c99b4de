"""The choice of a threshold with as few solves as the noise allows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.mechanisms.selection.exceedances import ExceedanceScores
from privacy.mechanisms.selection.scores import Scores, selection_noise
from privacy.truncation.truncated_answer import TruncatedAnswer


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    """The threshold of each group and the value there. Private until noise is added to the values.

    Attributes:
      index: (G,) the chosen rung, safe to publish.
      values: (G,) int64 units, private.
    """

    index: NDArray[np.intp]
    values: NDArray[np.int64]

    def __repr__(self) -> str:
        return "Choice(<private>)"


def settled_values(answer: TruncatedAnswer, index: NDArray[np.intp]) -> NDArray[np.int64]:
    """(G,) the value of every group at its threshold, solved where the bounds do not know it.

    Args:
      index: (G,) a rung per group.
    """
    rows = np.arange(answer.n_groups)
    lower, upper = (bound[rows, index].copy() for bound in answer.bounds())
    for group in np.flatnonzero(lower != upper):
        lower[group] = answer.solve(int(group), int(index[group]))
    return lower


def choose(answer: TruncatedAnswer, scores: Scores | ExceedanceScores, noise: NDArray[np.int64]) -> Choice:
    """The argmin of score - noise in every group, the lowest index among equals.

    The noise is drawn before anything is solved, so the outcome is a function of (data, noise) alone:
    the same as if the whole ladder had been solved (privacy.md section 4, "Lazy evaluation is free").

    Args:
      answer: the truncated answer; solved only where its bounds leave the choice open.
      scores: integer scores from values.
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
      scores: integer scores from values.
      epsilon: of the selection in one group, > 0.
      entropy: where the noise comes from.
    Raises: EntropyFailed; SolverFailed from the answer.
    Cost: G L draws, and that of `choose`.
    """
    return choose(answer, scores, selection_noise((answer.n_groups, len(answer.ladder)), epsilon, entropy))


def _choose_one(answer: TruncatedAnswer, scores: Scores, noise: NDArray[np.int64], group: int) -> tuple[int, int]:
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
