from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from privacy.accounting.event import PureDP
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.gem import NESTED_SELECTION, SELECTION, Gem
from privacy.mechanisms.selection.scores import Scores
from privacy.mechanisms.selection.settings import SelectionSettings
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.simulated_entropy import SimulatedEntropy

LOADS = np.random.default_rng(0).poisson(15, 10_000)


def answer(ladder: Ladder, groups: int = 1, gap: float = 0.0, people: int = 10_000) -> TabulatedAnswer:
    """Loads around 15, one owner per tuple."""
    table = np.minimum(LOADS[:people, None] * ONE, ladder.units).sum(axis=0)
    return TabulatedAnswer(np.broadcast_to(table, (groups, len(ladder))), ladder, gap)


def test_without_noise_it_takes_the_best_score_and_the_exact_value() -> None:
    released = Gem(1.0).release(answer(Ladder()), ConstantEntropy())
    assert released.tau.tolist() == [32.0]
    assert released.values[0] == LOADS.clip(max=32).sum()
    assert released.low[0] <= released.values[0] <= released.high[0]
    assert (released.mechanism, released.covers, released.epsilon) == ("gem", "truncated_full", 1.0)


def test_selection_noise_comes_before_release_noise_and_is_split_exactly() -> None:
    recorded = RecordedEntropy(SimulatedEntropy(4))
    Gem(1.0, selection=SelectionSettings(0.25), gap=0.01).release(answer(Ladder()), recorded)
    (first, selection_scale, draws), (second, release_scale, _) = recorded.draws
    assert (first, second, len(draws)) == ("geometric", "laplace", len(Ladder()))
    assert selection_scale == 2 * 1025 / 0.25
    assert release_scale == pytest.approx(1.01 * 2**20 / 0.75, rel=1e-6)


@pytest.mark.parametrize(("groups_per_unit", "share"), [(1, 1), (3, 3), (None, 8), (50, 8)])
def test_groups_share_the_budget(groups_per_unit: int | None, share: int) -> None:
    gem = Gem(1.0, groups_per_unit, ladder=Ladder(3, 3))
    released = gem.release(answer(gem.ladder, groups=8), SimulatedEntropy(5))
    assert released.noise_scale == pytest.approx(np.full(8, 8 * share / (1 - SELECTION.split)), rel=1e-6)
    assert gem.event == PureDP(1.0)


def test_the_interval_covers_the_truncated_answer_as_often_as_it_says() -> None:
    """20,000 runs: 5.4 standard deviations either way, so a false alarm has chance below 1e-6 (and a seed)."""
    gem = Gem(1.0, groups_per_unit=1, ladder=Ladder(3, 3), confidence=0.9)
    data = answer(gem.ladder, groups=20_000)
    released = gem.release(data, SimulatedEntropy(6))
    truncated = data.values[:, 0] / ONE
    covered = ((released.low <= truncated) & (truncated <= released.high)).mean()
    assert abs(covered - 0.9) < 5.4 * math.sqrt(0.09 / 20_000)


def test_the_interval_reaches_up_over_the_solvers_gap() -> None:
    gem = Gem(1.0, ladder=Ladder(0, 0), gap=0.25)
    exact = Gem(1.0, ladder=Ladder(0, 0), gap=0.0)
    reach = [m.release(answer(m.ladder, gap=m.gap), ConstantEntropy()).high[0] for m in (gem, exact)]
    low = [m.release(answer(m.ladder, gap=m.gap), ConstantEntropy()).low[0] for m in (gem, exact)]
    assert reach[0] - reach[1] == pytest.approx(low[1] - low[0] + 0.25, abs=1e-5)


def test_expected_noise_is_the_half_width_of_the_interval() -> None:
    gem = Gem(0.7, groups_per_unit=2, ladder=Ladder(-3, 5), gap=0.01)
    released = gem.release(answer(gem.ladder, groups=4), SimulatedEntropy(7))
    expected = dict(gem.expected_noise(n_groups=4))
    assert (released.high - released.low) / 2 == pytest.approx([expected[tau] for tau in released.tau])


def test_a_hundred_thousand_groups_and_none() -> None:
    gem = Gem(1.0, groups_per_unit=1, ladder=Ladder(-2, 10))
    released = gem.release(answer(gem.ladder, groups=100_000, people=500), SimulatedEntropy(8))
    truth = LOADS[:500].sum()
    assert np.median(np.abs(released.values / truth - 1)) < 0.05
    assert gem.release(answer(gem.ladder, groups=0), SimulatedEntropy(8)).values.shape == (0,)


def test_a_typical_count_is_within_a_fifth_of_a_percent() -> None:
    gem = Gem(1.0, groups_per_unit=1)
    released = gem.release(answer(gem.ladder, groups=2_000), SimulatedEntropy(9))
    assert np.quantile(np.abs(released.values / LOADS.sum() - 1), 0.95) < 0.002


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": 0.0},
        {"epsilon": math.nan},
        {"groups_per_unit": 0},
        {"gap": -0.1},
        {"gap": 2.0},
        {"c": -1.0},
        {"c": math.inf},
        {"confidence": 1.0},
    ],
)
def test_refuses_parameters_out_of_range(parameters: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        Gem(**({"epsilon": 1.0} | parameters))  # type: ignore[arg-type]


def test_a_threshold_has_to_beat_smaller_ones_by_how_far_they_are_below() -> None:
    """Thirty units of four tuples are worth two doublings; the published scores want forty for each."""
    ladder = Ladder(0, 10)
    crowd = 3_000 * np.minimum(ladder.units, ONE) + 30 * np.minimum(ladder.units, 4 * ONE)
    table = TabulatedAnswer(crowd[None], ladder)

    def chosen(rarity: float | None) -> float:
        gem = Gem(1.0, 1, ladder=ladder, selection=replace(SELECTION, rarity=rarity))
        return float(gem.release(table, ConstantEntropy()).tau[0])

    assert (chosen(4.0), chosen(None)) == (4.0, 1.0)


def test_by_doublings_few_units_below_do_not_hold_a_threshold_back() -> None:
    """Twenty units of 128 among 1,400 of few: each doubling is worth it, but not what lies between 1 and 128."""
    ladder = Ladder(0, 10)
    loads = np.concatenate((np.ones(1_200), np.full(100, 8.0), np.full(60, 32.0), np.full(20, 128.0)))
    values = np.minimum(loads[:, None], ladder.taus).sum(axis=0).astype(np.int64) * ONE
    table = TabulatedAnswer(values[None], ladder)

    def chosen(selection: SelectionSettings) -> float:
        gem = Gem(1.0, 1, ladder=ladder, selection=selection, monotone=True, nested=True)
        return float(gem.release(table, ConstantEntropy()).tau[0])

    assert chosen(NESTED_SELECTION) == 128.0
    assert chosen(replace(NESTED_SELECTION, by_doublings=False)) < 128.0


def test_by_doublings_each_doubling_beyond_everybody_is_rarer() -> None:
    """Everybody has four tuples; 400,000 runs."""
    ladder = Ladder(0, 10)
    gem = Gem(1.0, 1, ladder=ladder, selection=NESTED_SELECTION, monotone=True, nested=True)
    values = 3_000 * np.minimum(ladder.units, 4 * ONE)
    tau = gem.release(TabulatedAnswer(np.tile(values, (400_000, 1)), ladder), SimulatedEntropy(12)).tau
    share = np.array([(tau >= 4.0 * 2.0**k).mean() for k in range(5)])
    assert share[0] == 1.0
    assert share[1] < 0.15
    assert (share[2:] <= 0.2 * share[1:-1] + 1e-5).all()


@pytest.mark.parametrize("wrong", [{"rarity": None}, {"growth": -1.0}])
def test_doublings_are_worth_what_their_rarity_asks_for(wrong: dict[str, float | None]) -> None:
    with pytest.raises(InvalidParameter):
        replace(NESTED_SELECTION, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        Scores(Ladder(0, 1), 0.0, (0.0, 0.0), by_doublings=True)


def test_each_doubling_too_far_is_rarer() -> None:
    """Everybody has one tuple: larger thresholds only add noise; 400,000 runs."""
    ladder = Ladder(0, 10)
    gem = Gem(1.0, 1, ladder=ladder, selection=replace(SELECTION, rarity=4.0))
    table = np.full((400_000, len(ladder)), 100_000 * ONE)
    tau = gem.release(TabulatedAnswer(table, ladder), SimulatedEntropy(11)).tau
    share = np.array([(tau >= 2.0**k).mean() for k in range(6)])
    assert (share[1:] <= 0.3 * share[:-1] + 1e-5).all()
    assert share[1] < 0.25


def test_the_published_scores_are_there_without_rarity() -> None:
    gem = Gem(1.0, 1, selection=replace(SELECTION, rarity=None))
    released = gem.release(answer(gem.ladder), ConstantEntropy())
    assert released.tau.tolist() == [32.0]
