"""The tuning simulation is of the mechanism that is shipped, on data that are what they say."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.gem import COST, SELECTION, Gem
from privacy.mechanisms.selection import BETA, GROWTH, RARITY
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.benchmarks.tuning import DEFAULT, held, regrets
from tests.support.gem_tuning.degree_distributions import DISTRIBUTIONS, truncated
from tests.support.gem_tuning.simulated_gem import GRID, Divisor, Knobs, Noise, errors, thresholds
from tests.support.scalar_study.contenders import released
from tests.support.scalar_study.spread import trimmed_mean
from tests.support.simulated_entropy import SimulatedEntropy

LOADS = DISTRIBUTIONS["Pareto 2, 30,000 units"]()


def test_the_default_is_on_the_grid() -> None:
    assert Knobs(SELECTION.split, BETA, RARITY, COST, growth=GROWTH) == DEFAULT
    assert DEFAULT in GRID
    assert len(set(GRID)) == len(GRID)


@pytest.mark.parametrize("divisor", get_args(Divisor))
@pytest.mark.parametrize("rarity", [None, RARITY])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_simulation_errs_as_the_mechanism_does(epsilon: float, rarity: float | None, divisor: Divisor) -> None:
    """20,000 runs each: the trimmed means have standard errors below 1%."""
    levels = Thresholds(0, 12)
    values = truncated(LOADS, levels.taus)
    selection = replace(SELECTION, rarity=rarity)
    gem = Gem(PureBudget(epsilon), 1, thresholds=levels, selection=selection, monotone=divisor == "larger")
    answer = TabulatedAnswer(np.round(values * ONE).astype(np.int64)[None], levels)
    values_released = released(gem, answer, 20_000, 1.0, SimulatedEntropy(1))
    ours = trimmed_mean(np.abs(values_released - LOADS.sum()) / LOADS.sum())
    knobs = Knobs(SELECTION.split, BETA, rarity, COST, divisor=divisor, growth=GROWTH)
    simulated = errors(values, levels.taus, float(LOADS.sum()), epsilon, knobs, Noise.drawn(20_000, len(levels)))
    assert trimmed_mean(simulated) == pytest.approx(ours, rel=0.05)


def test_our_scores_err_less_than_the_published_ones() -> None:
    noise = Noise.drawn(2_000, 33)
    ratios = []
    for make in DISTRIBUTIONS.values():
        loads, taus = make(), thresholds(2.0)
        ours, published = (
            trimmed_mean(errors(truncated(loads, taus), taus, float(loads.sum()), 1.0, knobs, noise))
            for knobs in (DEFAULT, Knobs(0.6, 1e-3, None, divisor="sum"))
        )
        ratios.append(ours / published)
    assert np.exp(np.mean(np.log(ratios))) < 0.9
    assert max(ratios) < 1.1


def test_truncation_is_a_minimum() -> None:
    taus = thresholds(2.0, 0, 10)
    assert truncated(LOADS, taus) == pytest.approx([np.minimum(LOADS, tau).sum() for tau in taus])
    assert thresholds(2**0.5, 0, 2) == pytest.approx([1, 2**0.5, 2, 2**1.5, 4])


def test_regret_is_held_against_the_best_of_each_task() -> None:
    assert regrets(np.array([[2.0, 4.0], [9.0, 3.0]])).tolist() == [[1.0, 2.0], [3.0, 1.0]]


def test_the_bar_is_held_against_all_settings_and_against_those_of_each_base() -> None:
    """Two tasks, in each of which another base is three times better; the default is in the middle."""
    trimmed = np.array([[3.0 if knobs.base == base else 1.0 for knobs in GRID] for base in (2.0, 4.0)])
    found = {row.case: row.value for row in held(trimmed) if row.unit == "settings"}
    alone = sum(knobs.base == DEFAULT.base for knobs in GRID)
    assert found == {
        "all settings of the grid": alone,
        "base 1.41 only": alone,
        "base 2 only": alone,
        "base 4 only": alone,
    }
    assert [row.value for row in held(trimmed) if row.metric == "default, worst task"] == [3.0, 1.0]


def test_distributions_are_the_same_every_time() -> None:
    for make in DISTRIBUTIONS.values():
        first = make()
        assert np.array_equal(first, make())
        assert (first >= 0).all()
        assert 1e3 <= len(first) <= 1e6
