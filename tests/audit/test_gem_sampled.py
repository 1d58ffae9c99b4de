"""gem keeps its claim when it spends what a sample amplifies, and mistakes about the sample are caught."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.selection import SelectionSettings
from privacy.sampling.design import SampleDesign
from privacy.sampling.draws import bernoulli_places
from privacy.sampling.join_tree import JoinTree, TreePart
from privacy.thresholds import Thresholds
from tests.audit.auditing import RUNS, slow
from tests.audit.mutants import WeakerNoise
from tests.audit.tuple_samples import UnitAtTheBound, sampled_audit
from tests.support.seeded_draws import SeededDraws
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

RELEASE_HEAVY = SelectionSettings(0.02)
"""Next to nothing for selection, so that the release is what is audited."""

DELTA, RATE, EPSILON = 16, 0.1, 2.0
UNIT = UnitAtTheBound(DELTA, RATE)
SINGLE_THRESHOLD = Thresholds(2, 2)
FEW = examples(50_000, RUNS)
"""Runs that show a mistake, which more do not show better."""

DESIGN = SampleDesign(RATE, DELTA, EPSILON)


def sampled(
    design: SampleDesign = DESIGN, groups: int = 1, gap: float = 0.0, thresholds: Thresholds = SINGLE_THRESHOLD
) -> Gem:
    return Gem(
        PureBudget(EPSILON),
        groups_per_unit=groups,
        gap=gap,
        thresholds=thresholds,
        selection=RELEASE_HEAVY,
        sample=design,
    )


@pytest.mark.parametrize(
    ("tuples", "rate", "epsilon", "exponent"),
    [
        slow(1, 0.1, 1.0, 0),
        slow(16, 0.1, 0.5, 2),
        (16, 0.1, 2.0, 0),
        slow(16, 0.5, 2.0, 4),
        slow(1024, 0.01, 1.0, 3),
        slow(4, 1.0, 1.0, 1),
    ],
)
def test_the_release_spends_nearly_all_that_the_sample_affords(
    tuples: int, rate: float, epsilon: float, exponent: int
) -> None:
    thresholds, design = Thresholds(exponent, exponent), SampleDesign(rate, tuples, epsilon)
    gem = Gem(PureBudget(epsilon), groups_per_unit=1, thresholds=thresholds, selection=RELEASE_HEAVY, sample=design)
    assert 0.75 * epsilon < sampled_audit(gem, UnitAtTheBound(tuples, rate), runs=300_000) <= epsilon


@pytest.mark.parametrize("split", [slow(0.2), 0.6])
def test_selection_and_release_from_one_sample(split: float) -> None:
    gem = Gem(
        PureBudget(EPSILON),
        groups_per_unit=1,
        thresholds=Thresholds(-3, 4),
        selection=SelectionSettings(split),
        sample=DESIGN,
    )
    assert sampled_audit(gem, UNIT, runs=examples(75_000, RUNS)) <= EPSILON


def test_a_solver_gap_is_paid_for_in_every_sample() -> None:
    """Also at a threshold of all tuples, where a loss without the gap would be too small."""
    assert 0.75 * EPSILON < sampled_audit(sampled(gap=0.5), UNIT) <= EPSILON
    assert 0.5 * EPSILON < sampled_audit(sampled(gap=0.5, thresholds=Thresholds(4, 4)), UNIT) <= EPSILON


@pytest.mark.parametrize("together", [2, slow(3)])
def test_releases_that_share_a_sample_share_its_budget(together: int) -> None:
    """Hoelder's shares: each release is calibrated alone, against all of epsilon at its share."""
    assert 0.7 * EPSILON < sampled_audit(sampled(groups=together), UNIT, together=together) <= EPSILON


def test_a_unit_beyond_the_promised_bound_loses_what_is_announced() -> None:
    gem = sampled()
    assert EPSILON < sampled_audit(gem, UnitAtTheBound(1000, 1.0)) <= gem.epsilon_if_bound_fails()


def test_catches_mistakes() -> None:
    """Half the release's noise, one release where there are two, units of one tuple, a rate that is applied twice."""
    assert sampled_audit(sampled(), UNIT, WeakerNoise(SimulatedEntropy(1), laplace=0.5), runs=FEW) > EPSILON
    assert sampled_audit(sampled(), UNIT, together=2, runs=FEW) > EPSILON
    assert sampled_audit(sampled(SampleDesign(RATE, 1, EPSILON)), UNIT, runs=FEW) > EPSILON
    assert sampled_audit(sampled(SampleDesign(RATE**2, DELTA, EPSILON)), UNIT, runs=FEW) > EPSILON


def test_catches_budgets_that_are_amplified_one_by_one() -> None:
    """Each of two releases costs half of epsilon on its own sample; both see the same one."""
    alone = Gem(
        PureBudget(1.0), 1, thresholds=Thresholds(0, 0), selection=RELEASE_HEAVY, sample=SampleDesign(RATE, 4, 1.0)
    )
    unit = UnitAtTheBound(4, RATE)
    assert sampled_audit(alone, unit) <= 1.0
    assert sampled_audit(alone, unit, together=2) > 2.0


ALONG_A_TREE = sampled(thresholds=Thresholds(4, 4))
"""For a unit all of whose tuples hold one row: its loss is that of single draws."""


@dataclass(frozen=True)
class UnitAlongATree(UnitAtTheBound):
    """The tuples of each run are those of one row of the first table, which meets `tuples` rows of the second."""

    def drawn(self, runs: int, generator: np.random.Generator) -> NDArray[np.int64]:
        runs_of = np.arange(runs)
        tree = JoinTree(
            [TreePart(runs), TreePart(runs * self.tuples, 0, [np.repeat(runs_of, self.tuples)], [runs_of])]
        )
        assert tree.tuples == runs * self.tuples
        drawn = np.zeros(runs, np.int64)
        for places in bernoulli_places(tree.tuples, self.rate, SeededDraws(int(generator.integers(1 << 32)))):
            drawn += np.bincount(tree.rows(places)[0], minlength=runs)
        return drawn


@dataclass(frozen=True)
class SamplesRows(UnitAtTheBound):
    """The mutant draws rows of the first table, and with each all tuples that it is in."""

    def drawn(self, runs: int, generator: np.random.Generator) -> NDArray[np.int64]:
        return np.where(generator.random(runs) < self.rate, self.tuples, 0)


def test_tuples_of_one_row_are_drawn_one_by_one() -> None:
    assert 0.75 * EPSILON < sampled_audit(ALONG_A_TREE, UnitAlongATree(DELTA, RATE)) <= EPSILON


def test_catches_a_sample_of_rows() -> None:
    assert sampled_audit(ALONG_A_TREE, SamplesRows(DELTA, RATE)) > EPSILON
