"""gem keeps its claim on the worst inputs known, and its mutants do not."""

from __future__ import annotations

import pytest

from privacy.entropy import OpendpEntropy
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.selection import SelectionSettings
from privacy.thresholds import Thresholds
from tests.audit.auditing import FAILURE_PROBABILITY, RUNS, audit, slow
from tests.audit.mutants import UnsplitGem, WeakerNoise
from tests.audit.pairs import crowd_and_one_more, empty_and_full_unit, margin_swing, selection_swing
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

SINGLE_THRESHOLD = Thresholds(0, 0)
SHORT = Thresholds(-3, 4)
LONG = Thresholds(-12, 9)
RELEASE_HEAVY = SelectionSettings(0.02)
"""Next to nothing for selection, so that the release is what is audited."""

SELECTION_HEAVY = 0.9
SWINGS = examples(75_000, 300_000)
"""Runs where values swing by a selection's margins."""


def _moving(selection: SelectionSettings, monotone: bool) -> Gem:
    return Gem(PureBudget(1.0), groups_per_unit=1, thresholds=LONG, selection=selection, monotone=monotone)


@pytest.mark.slow
@pytest.mark.parametrize("split", [0.5, SELECTION_HEAVY])
def test_selection_and_release_together_keep_the_claim_and_come_close(split: float) -> None:
    gem = Gem(PureBudget(1.0), groups_per_unit=1, thresholds=LONG, selection=SelectionSettings(split, rarity=None))
    assert 0.6 < audit(gem, selection_swing(gem, n_groups=RUNS), runs=300_000) <= 1.0


@pytest.mark.parametrize("monotone", [slow(False), True])
@pytest.mark.parametrize("split", [slow(0.5), SELECTION_HEAVY])
def test_selection_by_distance_keeps_the_claim_and_comes_close(split: float, monotone: bool) -> None:
    gem = _moving(SelectionSettings(split), monotone)
    assert 0.5 < audit(gem, margin_swing(gem, RUNS), runs=SWINGS) <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_empty_and_a_crowd_against_a_unit_at_every_bound(epsilon: float) -> None:
    gem = Gem(PureBudget(epsilon), groups_per_unit=1, thresholds=SHORT)
    assert audit(gem, empty_and_full_unit(SHORT)) <= epsilon
    assert audit(gem, crowd_and_one_more(SHORT, people=40, contribution=1.5)) <= epsilon


@pytest.mark.parametrize("gap", [0.0, 0.5])
def test_the_release_spends_what_it_may_and_pays_for_a_solver_gap(gap: float) -> None:
    gem = Gem(PureBudget(1.0), groups_per_unit=1, thresholds=SINGLE_THRESHOLD, selection=RELEASE_HEAVY, gap=gap)
    assert 0.9 < audit(gem, empty_and_full_unit(SINGLE_THRESHOLD, gap), runs=600_000) <= 1.0


def test_a_unit_in_two_groups() -> None:
    gem = Gem(PureBudget(1.0), groups_per_unit=2, thresholds=SINGLE_THRESHOLD, selection=RELEASE_HEAVY)
    assert 0.85 < audit(gem, empty_and_full_unit(SINGLE_THRESHOLD), together=2, runs=300_000) <= 1.0


@pytest.mark.statistical(2 * FAILURE_PROBABILITY)
def test_with_the_noise_of_production() -> None:
    """The upper limit fails as any audit does; the lower one is eight standard deviations away."""
    gem = Gem(PureBudget(1.0), groups_per_unit=1, thresholds=SINGLE_THRESHOLD, selection=RELEASE_HEAVY)
    assert 0.5 < audit(gem, empty_and_full_unit(SINGLE_THRESHOLD), OpendpEntropy(), runs=10_000) <= 1.0


def test_catches_too_little_release_noise() -> None:
    gem = Gem(PureBudget(1.0), groups_per_unit=1, thresholds=SINGLE_THRESHOLD, selection=RELEASE_HEAVY)
    assert audit(gem, empty_and_full_unit(SINGLE_THRESHOLD), WeakerNoise(SimulatedEntropy(1), laplace=0.5)) > 1.0
    # One group per unit where there are two, and noise that forgets the gap.
    assert audit(gem, empty_and_full_unit(SINGLE_THRESHOLD), together=2) > 1.0
    assert audit(gem, empty_and_full_unit(SINGLE_THRESHOLD, gap=0.5)) > 1.0


@pytest.mark.slow
def test_catches_selection_without_the_factor_two() -> None:
    gem = Gem(
        PureBudget(1.0), groups_per_unit=1, thresholds=LONG, selection=SelectionSettings(SELECTION_HEAVY, rarity=None)
    )
    assert audit(gem, selection_swing(gem, n_groups=RUNS), WeakerNoise(SimulatedEntropy(2), geometric=0.5)) > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("monotone", [False, True])
def test_catches_selection_by_distance_without_the_factor_two(monotone: bool) -> None:
    gem = _moving(SelectionSettings(SELECTION_HEAVY), monotone)
    weaker = WeakerNoise(SimulatedEntropy(3), geometric=0.5)
    assert audit(gem, margin_swing(gem, RUNS), weaker, runs=SWINGS) > 1.0


@pytest.mark.slow
def test_catches_an_unsplit_budget() -> None:
    gem = UnsplitGem(
        PureBudget(1.0), groups_per_unit=1, thresholds=LONG, selection=SelectionSettings(0.5, rarity=None)
    )
    assert audit(gem, selection_swing(gem, n_groups=RUNS)) > 1.0


@pytest.mark.slow
def test_catches_an_unsplit_budget_of_a_selection_by_distance() -> None:
    """The pair is made for the honest mechanism, whose costs are twice as high."""
    gem = UnsplitGem(PureBudget(1.0), groups_per_unit=1, thresholds=LONG)
    honest = Gem(PureBudget(2.0), 1, thresholds=LONG, selection=SelectionSettings(0.5))
    assert audit(gem, margin_swing(honest, RUNS), runs=300_000) > 1.0
