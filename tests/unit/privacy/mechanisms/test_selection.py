"""The private choice of a threshold."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from privacy.errors import EntropyFailed, InvalidParameter
from privacy.mechanisms.scores import GRID, MAX_PRICE, MAX_SCORE, SENSITIVITY, Scores, selection_noise
from privacy.mechanisms.selection import SelectionSettings, choose, exponential_choice
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TabulatedAnswer
from privacy.units import MAX_UNITS, ONE
from tests.support.replay_entropy import ConstantEntropy
from tests.support.revealing_answer import RevealingAnswer
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.refusals import refuses, refuses_calls

THRESHOLDS = Thresholds(-2, 3)


MARGINS = (0.0, 1.5, 2.25, 7.0, 7.0, 7.0)


def reference(
    values: list[int],
    thresholds: Thresholds,
    gap: Fraction,
    price: Fraction,
    margins: tuple[float, ...],
    monotone: bool,
) -> list[int]:
    """The definition, in rational arithmetic."""
    tau = [(1 + gap) * int(unit) for unit in thresholds.units]
    cost = [price * t - v for t, v in zip(tau, values, strict=True)]
    levels = range(len(thresholds))

    def reach(i: int, j: int) -> Fraction:
        plain = int(thresholds.units[i]), int(thresholds.units[j])
        return max(plain) + gap * sum(plain) if monotone else tau[i] + tau[j]

    def handicap(i: int, j: int) -> Fraction:
        return Fraction(margins[abs(i - j)] if margins else 0) * (1 if i > j else -1)

    return [
        math.floor(
            GRID * max(Fraction(0), *((cost[i] - cost[j]) / reach(i, j) + handicap(i, j) for j in levels if j != i))
        )
        for i in levels
    ]


def test_scores_are_the_definition() -> None:
    for monotone in [False, True]:
        for margins in [(), MARGINS]:
            for gap in [0.0, 0.25]:
                generator = np.random.default_rng(1)
                values = np.sort(generator.integers(0, 40 * THRESHOLDS.units[-1], (50, len(THRESHOLDS))), axis=1)
                grid = Scores(THRESHOLDS, gap, (17.5,) * len(THRESHOLDS), margins, monotone)(values, values)
                exact = Fraction(gap), Fraction(35, 2)
                expected = [reference(row, THRESHOLDS, *exact, margins, monotone) for row in values.tolist()]
                assert np.abs(grid - np.array(expected)).max() <= 1, (monotone, margins, gap)
                assert (grid != np.array(expected)).mean() < 0.01, (monotone, margins, gap)


def test_one_threshold_scores_zero_and_scores_saturate_and_stay_finite_at_the_extremes() -> None:
    """It has no rival, itself included: also where its value is known only to lie in a range."""
    scores = Scores(Thresholds(0, 0), 0.0, (3.0,) * len(Thresholds(0, 0)))
    assert scores(np.array([[5 * ONE]]), np.array([[9 * ONE]])).tolist() == [[0]]
    for price in [0.0, MAX_PRICE]:
        values = np.where(np.arange(53) < 1, 0, MAX_UNITS)[None].astype(np.int64)
        grid = Scores(Thresholds(), 1.0, (price,) * len(Thresholds()))(values, values)
        assert grid.min() >= 0, price
        assert grid.max() <= GRID * MAX_SCORE, price
        assert (price > 0) or grid[0, 0] == GRID * MAX_SCORE


def test_groups_do_not_see_each_other() -> None:
    generator = np.random.default_rng(2)
    values = np.sort(generator.integers(0, 1 << 40, (3000, len(THRESHOLDS))), axis=1)
    scores = Scores(THRESHOLDS, 0.0, (9.0,) * len(THRESHOLDS))
    assert scores(values, values)[2500].tolist() == scores(values[2500:2501], values[2500:2501])[0].tolist()


def test_refuses_what_the_proof_does_not_cover() -> None:
    prices = (1.0,) * len(THRESHOLDS)
    for gap in (-0.1, 1.1, math.nan):
        refuses_calls(Scores, (THRESHOLDS, gap, prices))
    for price in (-1.0, 2.0**33):
        refuses_calls(Scores, (THRESHOLDS, 0.0, (price,) * len(THRESHOLDS)))
    for margins in ((0.0,), (0.0, -1.0, 0, 0, 0, 0), (0.0, 2.0**32, 0, 0, 0, 0)):
        refuses_calls(Scores, (THRESHOLDS, 0.0, prices, margins))
    with pytest.raises(InvalidParameter, match="double"):  # the rounding of another base was not analysed
        Scores(Thresholds(0, 2, 3), 0.0, (1.0,) * 3)


def win_probabilities(grid: list[int], scale: float) -> NDArray[np.float64]:
    """P(each index wins) for one-sided geometric noise: exact sums over the winner's noise."""
    a = math.exp(-1 / scale)
    noise = np.arange(round(60 * scale))
    mass = (1 - a) * a**noise
    wins = []
    for i, own in enumerate(grid):
        beaten = np.ones(len(noise))
        for j, other in enumerate(grid):
            if j != i:
                # own - noise must undercut other - noise_j, strictly if j comes first
                room = noise + other - own + (0 if j < i else 1)
                beaten *= np.where(room > 0, 1 - a ** np.maximum(room, 0), 0.0)
        wins.append((mass * beaten).sum())
    return np.array(wins)


def test_no_move_of_the_scores_loses_more_than_epsilon() -> None:
    for epsilon in [0.5, 2.0, 8.0]:
        generator = np.random.default_rng(3)
        scale = 2 * SENSITIVITY / epsilon
        worst = 0.0
        for _ in range(examples(6, 12)):
            grid = generator.integers(0, 3 * SENSITIVITY, 5)
            moved = np.maximum(0, grid + SENSITIVITY * generator.choice([-1, 1], 5))
            before, after = win_probabilities(grid.tolist(), scale), win_probabilities(moved.tolist(), scale)
            assert before.sum() == pytest.approx(1), epsilon
            worst = max(worst, float(np.abs(np.log(before) - np.log(after)).max()))
        assert 0.5 * epsilon < worst <= epsilon


def test_selects_as_often_as_exact_sums_say() -> None:
    """200,000 choices with seeded noise, each index within six standard deviations."""
    grid, runs, epsilon = np.array([900, 0, 1500, 4000]), 200_000, Fraction(2)
    wins = win_probabilities(grid.tolist(), float(2 * SENSITIVITY / epsilon))
    noisy = grid - selection_noise((runs, 4), epsilon, SimulatedEntropy(4))
    chosen = np.bincount(np.argmin(noisy, axis=1), minlength=4) / runs
    assert np.all(np.abs(chosen - wins) < 6 * np.sqrt(wins * (1 - wins) / runs))
    with pytest.raises(EntropyFailed):
        selection_noise((2, 3), Fraction(1), ConstantEntropy(geometric=-1))


TEN = Thresholds(0, 9)
NOISE = (1.5,) * len(TEN)


def test_the_farthest_price_is_for_all_thresholds_of_all_groups() -> None:
    assert SelectionSettings(0.5, beta=0.1).farthest(TEN, 0.5) == pytest.approx(4 * math.log(100))
    assert SelectionSettings(0.5, beta=0.1).farthest(TEN, 0.5, n_groups=3) == pytest.approx(4 * math.log(300))
    # each doubling has its margin up to the farthest price
    settings = SelectionSettings(0.5, beta=0.1, rarity=10.0, growth=0.0)
    scores = settings.scores(TEN, 0.01, NOISE, 0.5)
    step, far = 4 * math.log(10), settings.farthest(TEN, 0.5)
    assert scores.margins == pytest.approx([0.0, step] + [far] * 8)
    assert (scores.prices, scores.gap, scores.monotone) == (NOISE, 0.01, False)


def test_each_further_doubling_is_rarer_by_more() -> None:
    settings = SelectionSettings(0.5, rarity=2.0, growth=0.5)
    margins = settings.scores(TEN, 0.0, NOISE, 0.5).margins
    wanted = [0.0, math.log(2), 2 * math.log(2) + 0.25, 3 * math.log(2) + 1.0, 4 * math.log(2) + 2.25]
    assert margins[:5] == pytest.approx([4 * one for one in wanted])
    assert margins[-1] == settings.farthest(TEN, 0.5), "up to what beta asks for"


def test_the_published_scores_have_one_price_and_no_margins_and_refuses_parameters_out_of_range() -> None:
    settings = SelectionSettings(0.5, beta=0.1, rarity=None)
    scores = settings.scores(TEN, 0.0, NOISE, 0.5)
    assert scores.prices == pytest.approx([1.5 + settings.farthest(TEN, 0.5)] * len(TEN))
    assert scores.margins == ()
    rarities = [1.0, math.inf, math.nan]
    refuses(
        SelectionSettings, {"split": 0.5}, split=[0.0, 1.0], beta=[0.0, 1.0], rarity=rarities, growth=[-0.1, math.inf]
    )


FIVE = Thresholds(-1, 3)
SCORES = Scores(FIVE, 0.0, (2.0,) * len(FIVE))
TABLE = np.array([1, 3, 5, 9, 12]) * ONE


def answer(groups: int) -> TabulatedAnswer:
    return TabulatedAnswer(np.broadcast_to(TABLE, (groups, len(FIVE))), FIVE)


def test_has_the_law_of_the_exponential_mechanism() -> None:
    """Chi-square over 50,000 draws; a false alarm has chance 1e-6, and a seed."""
    epsilon = Fraction(3)
    grid = SCORES(TABLE[None], TABLE[None])[0]
    weights = np.exp(-float(epsilon) * grid / (2 * SENSITIVITY))
    index = exponential_choice(answer(50_000), SCORES, epsilon, SimulatedEntropy(1)).index
    seen = np.bincount(index, minlength=len(FIVE))
    assert stats.chisquare(seen, 50_000 * weights / weights.sum()).pvalue > 1e-6
    assert seen.min() > 20


class Raised(Scores):
    """Scores whose margins make even the smallest one as large as no noise ever is."""

    def __call__(self, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.int64]:
        return super().__call__(lower, upper) + 60 * SENSITIVITY


def test_raised_scores_have_the_same_law_and_end() -> None:
    epsilon, groups = Fraction(3), 20_000
    raised = Raised(FIVE, 0.0, (2.0,) * len(FIVE))
    weights = np.exp(-float(epsilon) * SCORES(TABLE[None], TABLE[None])[0] / (2 * SENSITIVITY))
    index = exponential_choice(answer(groups), raised, epsilon, SimulatedEntropy(2)).index
    seen = np.bincount(index, minlength=len(FIVE))
    assert stats.chisquare(seen, groups * weights / weights.sum()).pvalue > 1e-6


def test_without_noise_the_first_best_threshold_is_taken_when_it_is_proposed() -> None:
    grid = SCORES(TABLE[None], TABLE[None])[0]
    best = int(np.argmin(grid))
    assert grid[best] == 0
    choice = exponential_choice(answer(1), SCORES, Fraction(1), ConstantEntropy(geometric=best))
    assert (choice.index[0], choice.values[0]) == (best, TABLE[best])
    # noise that takes nothing is no noise
    worst = int(np.argmax(SCORES(TABLE[None], TABLE[None])[0]))
    with pytest.raises(EntropyFailed, match="noise source is broken"):
        exponential_choice(answer(1), SCORES, Fraction(1), ConstantEntropy(geometric=worst))
    # refuses an epsilon that is not positive and broken noise
    with pytest.raises(InvalidParameter):
        exponential_choice(answer(1), SCORES, Fraction(0), SimulatedEntropy(1))
    with pytest.raises(EntropyFailed):
        exponential_choice(answer(1), SCORES, Fraction(1), ConstantEntropy(geometric=-1))


LONG = Thresholds(-10, 20)
LOADS = np.random.default_rng(0).poisson(15, 5_000)
VALUES = np.minimum(LOADS[:, None] * ONE, LONG.units).sum(axis=0)[None]
LONG_SCORES = Scores(LONG, 0.0, (30.0,) * len(LONG))
QUIET = np.zeros((1, len(LONG)), np.int64)


def test_known_values_are_not_solved_again_and_equal_scores_go_to_the_lowest_index() -> None:
    answer = RevealingAnswer(VALUES, LONG, VALUES, VALUES)
    assert choose(answer, LONG_SCORES, QUIET).values[0] == VALUES[0, 15]
    assert answer.solved == []
    flat = np.zeros((1, 3), np.int64)
    free = Scores(Thresholds(0, 2), 0.0, (0.0,) * len(Thresholds(0, 2)))
    assert choose(TabulatedAnswer(flat, Thresholds(0, 2)), free, np.array([[4, 9, 9]])).index.tolist() == [1]


def test_simple_bounds_save_most_solves() -> None:
    """What costs nothing to know: v <= sum of min(tau, load), v >= half of it, exact above the largest load."""
    above = LONG.units >= LOADS.max() * ONE
    lower = np.where(above, VALUES, VALUES // 2)
    answer = RevealingAnswer(VALUES, LONG, lower, VALUES)
    chosen = choose(answer, LONG_SCORES, QUIET)
    assert chosen.index[0] == int(np.argmin(LONG_SCORES(VALUES, VALUES)))
    assert len(answer.solved) <= 4


def test_what_might_be_better_is_solved_before_a_certain_front_runner_wins() -> None:
    """The first scores 0 whatever the second is worth; the second scores between 0 and 10, and has 5 as noise."""
    thresholds, scores = Thresholds(0, 1), Scores(Thresholds(0, 1), 0.0, (30.0,) * len(Thresholds(0, 1)))
    upper = np.array([[0, 30 * ONE]])
    for truth, winner in ((30, 1), (0, 0)):
        answer = RevealingAnswer(np.array([[0, truth * ONE]]), thresholds, np.zeros((1, 2), np.int64), upper)
        assert choose(answer, scores, np.array([[0, 5 * 1024]])).index.tolist() == [winner]
        assert answer.solved == [(0, 1)]
    # a choice prints nothing
    assert repr(choose(TabulatedAnswer(VALUES, LONG), LONG_SCORES, QUIET)) == "Choice(<private>)"
