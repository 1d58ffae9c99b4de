from __future__ import annotations

import numpy as np

from privacy.ladder import Ladder
from privacy.mechanisms.selection.lazy_choice import choose
from privacy.mechanisms.selection.scores import Scores
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.support.revealing_answer import RevealingAnswer

LADDER = Ladder(-10, 20)
LOADS = np.random.default_rng(0).poisson(15, 5_000)
VALUES = np.minimum(LOADS[:, None] * ONE, LADDER.units).sum(axis=0)[None]
SCORES = Scores(LADDER, 0.0, (30.0,) * len(LADDER))
QUIET = np.zeros((1, len(LADDER)), np.int64)


def test_known_values_are_not_solved_again() -> None:
    answer = RevealingAnswer(VALUES, LADDER, VALUES, VALUES)
    assert choose(answer, SCORES, QUIET).values[0] == VALUES[0, 15]
    assert answer.solved == []


def test_equal_scores_go_to_the_lowest_index() -> None:
    flat = np.zeros((1, 3), np.int64)
    free = Scores(Ladder(0, 2), 0.0, (0.0,) * len(Ladder(0, 2)))
    assert choose(TabulatedAnswer(flat, Ladder(0, 2)), free, np.array([[4, 9, 9]])).index.tolist() == [1]


def test_simple_bounds_save_most_solves() -> None:
    """What costs nothing to know: v <= sum of min(tau, load), v >= half of it, exact above the largest load."""
    above = LADDER.units >= LOADS.max() * ONE
    lower = np.where(above, VALUES, VALUES // 2)
    answer = RevealingAnswer(VALUES, LADDER, lower, VALUES)
    chosen = choose(answer, SCORES, QUIET)
    assert chosen.index[0] == int(np.argmin(SCORES(VALUES, VALUES)))
    assert len(answer.solved) <= 4


def test_what_might_be_better_is_solved_before_a_certain_front_runner_wins() -> None:
    """The first scores 0 whatever the second is worth; the second scores between 0 and 10, and has 5 as noise."""
    ladder, scores = Ladder(0, 1), Scores(Ladder(0, 1), 0.0, (30.0,) * len(Ladder(0, 1)))
    upper = np.array([[0, 30 * ONE]])
    for truth, winner in ((30, 1), (0, 0)):
        answer = RevealingAnswer(np.array([[0, truth * ONE]]), ladder, np.zeros((1, 2), np.int64), upper)
        assert choose(answer, scores, np.array([[0, 5 * 1024]])).index.tolist() == [winner]
        assert answer.solved == [(0, 1)]


def test_a_choice_prints_nothing() -> None:
    assert repr(choose(TabulatedAnswer(VALUES, LADDER), SCORES, QUIET)) == "Choice(<private>)"
