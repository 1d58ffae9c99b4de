from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from privacy.errors import EntropyFailed, InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.selection.exponential_choice import exponential_choice
from privacy.mechanisms.selection.scores import SENSITIVITY, Scores
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy
from tests.support.simulated_entropy import SimulatedEntropy

LADDER = Ladder(-1, 3)
SCORES = Scores(LADDER, 0.0, (2.0,) * len(LADDER))
TABLE = np.array([1, 3, 5, 9, 12]) * ONE


def answer(groups: int) -> TabulatedAnswer:
    return TabulatedAnswer(np.broadcast_to(TABLE, (groups, len(LADDER))), LADDER)


def test_has_the_law_of_the_exponential_mechanism() -> None:
    """Chi-square over 200,000 draws; a false alarm has chance 1e-6, and a seed."""
    epsilon = Fraction(3)
    grid = SCORES(TABLE[None], TABLE[None])[0]
    weights = np.exp(-float(epsilon) * grid / (2 * SENSITIVITY))
    index = exponential_choice(answer(200_000), SCORES, epsilon, SimulatedEntropy(1)).index
    seen = np.bincount(index, minlength=len(LADDER))
    assert stats.chisquare(seen, 200_000 * weights / weights.sum()).pvalue > 1e-6
    assert seen.min() > 100


class Raised(Scores):
    """Scores whose margins make even the smallest one as large as no noise ever is."""

    def __call__(self, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.int64]:
        return super().__call__(lower, upper) + 60 * SENSITIVITY


def test_raised_scores_have_the_same_law_and_end() -> None:
    epsilon, groups = Fraction(3), 20_000
    raised = Raised(LADDER, 0.0, (2.0,) * len(LADDER))
    weights = np.exp(-float(epsilon) * SCORES(TABLE[None], TABLE[None])[0] / (2 * SENSITIVITY))
    index = exponential_choice(answer(groups), raised, epsilon, SimulatedEntropy(2)).index
    seen = np.bincount(index, minlength=len(LADDER))
    assert stats.chisquare(seen, groups * weights / weights.sum()).pvalue > 1e-6


def test_without_noise_the_first_best_threshold_is_taken_when_it_is_proposed() -> None:
    grid = SCORES(TABLE[None], TABLE[None])[0]
    best = int(np.argmin(grid))
    assert grid[best] == 0
    choice = exponential_choice(answer(1), SCORES, Fraction(1), ConstantEntropy(geometric=best))
    assert (choice.index[0], choice.values[0]) == (best, TABLE[best])


def test_noise_that_takes_nothing_is_no_noise() -> None:
    worst = int(np.argmax(SCORES(TABLE[None], TABLE[None])[0]))
    with pytest.raises(EntropyFailed, match="lets no threshold"):
        exponential_choice(answer(1), SCORES, Fraction(1), ConstantEntropy(geometric=worst))


def test_refuses_an_epsilon_that_is_not_positive_and_broken_noise() -> None:
    with pytest.raises(InvalidParameter):
        exponential_choice(answer(1), SCORES, Fraction(0), SimulatedEntropy(1))
    with pytest.raises(EntropyFailed):
        exponential_choice(answer(1), SCORES, Fraction(1), ConstantEntropy(geometric=-1))
