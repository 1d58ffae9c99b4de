from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

from privacy.entropy import OpendpEntropy
from privacy.errors import EntropyFailed, InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.selection.scores import GRID, MAX_PRICE, MAX_SCORE, SENSITIVITY, Scores, selection_noise
from privacy.units import MAX_UNITS, ONE
from tests.support.replay_entropy import ConstantEntropy

LADDER = Ladder(-2, 3)


MARGINS = (0.0, 1.5, 2.25, 7.0, 7.0, 7.0)


def reference(
    values: list[int],
    ladder: Ladder,
    gap: Fraction,
    price: Fraction,
    margins: tuple[float, ...],
    monotone: bool,
) -> list[int]:
    """The definition, in rational arithmetic."""
    tau = [(1 + gap) * int(unit) for unit in ladder.units]
    cost = [price * t - v for t, v in zip(tau, values, strict=True)]
    rungs = range(len(ladder))

    def reach(i: int, j: int) -> Fraction:
        plain = int(ladder.units[i]), int(ladder.units[j])
        return max(plain) + gap * sum(plain) if monotone else tau[i] + tau[j]

    def handicap(i: int, j: int) -> Fraction:
        return Fraction(margins[abs(i - j)] if margins else 0) * (1 if i > j else -1)

    return [
        math.floor(
            GRID
            * max(
                Fraction(0),
                *((cost[i] - cost[j]) / reach(i, j) + handicap(i, j) for j in rungs if j != i),
            )
        )
        for i in rungs
    ]


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("margins", [(), MARGINS])
@pytest.mark.parametrize("gap", [0.0, 0.25])
def test_scores_are_the_definition(gap: float, margins: tuple[float, ...], monotone: bool) -> None:
    generator = np.random.default_rng(1)
    values = np.sort(generator.integers(0, 40 * LADDER.units[-1], (50, len(LADDER))), axis=1)
    grid = Scores(LADDER, gap, (17.5,) * len(LADDER), margins, monotone)(values, values)
    exact = Fraction(gap), Fraction(35, 2)
    expected = [reference(row, LADDER, *exact, margins, monotone) for row in values.tolist()]
    assert np.abs(grid - np.array(expected)).max() <= 1
    assert (grid != np.array(expected)).mean() < 0.01


def test_one_threshold_scores_zero() -> None:
    """It has no rival, itself included: also where its value is known only to lie in a range."""
    scores = Scores(Ladder(0, 0), 0.0, (3.0,) * len(Ladder(0, 0)))
    assert scores(np.array([[5 * ONE]]), np.array([[9 * ONE]])).tolist() == [[0]]


@pytest.mark.parametrize("price", [0.0, MAX_PRICE])
def test_scores_saturate_and_stay_finite_at_the_extremes(price: float) -> None:
    values = np.where(np.arange(53) < 1, 0, MAX_UNITS)[None].astype(np.int64)
    grid = Scores(Ladder(), 1.0, (price,) * len(Ladder()))(values, values)
    assert grid.min() >= 0
    assert grid.max() <= GRID * MAX_SCORE
    assert (price > 0) or grid[0, 0] == GRID * MAX_SCORE


def test_groups_do_not_see_each_other() -> None:
    generator = np.random.default_rng(2)
    values = np.sort(generator.integers(0, 1 << 40, (3000, len(LADDER))), axis=1)
    scores = Scores(LADDER, 0.0, (9.0,) * len(LADDER))
    assert scores(values, values)[2500].tolist() == scores(values[2500:2501], values[2500:2501])[0].tolist()


@pytest.mark.parametrize(("gap", "price"), [(-0.1, 1.0), (1.1, 1.0), (math.nan, 1.0), (0.0, -1.0), (0.0, 2.0**33)])
def test_refuses_what_the_proof_does_not_cover(gap: float, price: float) -> None:
    with pytest.raises(InvalidParameter):
        Scores(LADDER, gap, (price,) * len(LADDER))


def test_refuses_thresholds_of_another_base_whose_rounding_was_not_analysed() -> None:
    with pytest.raises(InvalidParameter, match="double"):
        Scores(Ladder(0, 2, 3), 0.0, (1.0,) * 3)


@pytest.mark.parametrize("margins", [(0.0,), (0.0, -1.0, 0, 0, 0, 0), (0.0, 2.0**32, 0, 0, 0, 0)])
def test_refuses_margins_that_the_proof_does_not_cover(margins: tuple[float, ...]) -> None:
    with pytest.raises(InvalidParameter):
        Scores(LADDER, 0.0, (1.0,) * len(LADDER), margins)


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


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_no_move_of_the_scores_loses_more_than_epsilon(epsilon: float) -> None:
    generator = np.random.default_rng(3)
    scale = 2 * SENSITIVITY / epsilon
    worst = 0.0
    for _ in range(12):
        grid = generator.integers(0, 3 * SENSITIVITY, 5)
        moved = np.maximum(0, grid + SENSITIVITY * generator.choice([-1, 1], 5))
        before, after = win_probabilities(grid.tolist(), scale), win_probabilities(moved.tolist(), scale)
        assert before.sum() == pytest.approx(1)
        worst = max(worst, float(np.abs(np.log(before) - np.log(after)).max()))
    assert 0.5 * epsilon < worst <= epsilon


def test_selects_as_often_as_the_oracle() -> None:
    """Two samples of one distribution: the chi-square test fails by chance once in 10^7."""
    dp.enable_features("contrib")
    grid, runs, epsilon = np.array([900, 0, 1500, 4000]), 8_000, Fraction(2)
    scale = float(2 * SENSITIVITY / epsilon)
    oracle = dp.m.make_noisy_max(
        dp.vector_domain(dp.atom_domain(T="i64")),
        dp.linf_distance(T="i64"),
        dp.max_divergence(),
        scale=scale,
        negate=True,
    )
    theirs = np.bincount([oracle(grid.tolist()) for _ in range(runs)], minlength=4)
    ours = np.bincount(np.argmin(grid - selection_noise((runs, 4), epsilon, OpendpEntropy()), axis=1), minlength=4)
    assert chi2_contingency([theirs, ours]).pvalue > 1e-7
    assert ours / runs == pytest.approx(win_probabilities(grid.tolist(), scale), abs=0.05)


def test_negative_noise_is_refused() -> None:
    with pytest.raises(EntropyFailed):
        selection_noise((2, 3), Fraction(1), ConstantEntropy(geometric=-1))
