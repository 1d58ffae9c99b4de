"""A unit all of whose tuples hold one row: its loss is that of single draws, and a sample of rows is caught."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacy.ladder import Ladder
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.selection.settings import SelectionSettings
from privacy.sampling.bernoulli import bernoulli_places
from privacy.sampling.design import SampleDesign
from privacy.sampling.join_tree import JoinTree, TreePart
from tests.audit.tuple_samples import UnitAtTheBound, sampled_audit
from tests.support.seeded_draws import SeededDraws

TUPLES, RATE, EPSILON = 16, 0.1, 2.0
GEM = Gem(
    EPSILON,
    groups_per_unit=1,
    ladder=Ladder(4, 4),
    selection=SelectionSettings(0.02),
    sample=SampleDesign(RATE, TUPLES, EPSILON),
)


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
    assert 0.75 * EPSILON < sampled_audit(GEM, UnitAlongATree(TUPLES, RATE)) <= EPSILON


def test_catches_a_sample_of_rows() -> None:
    assert sampled_audit(GEM, SamplesRows(TUPLES, RATE)) > EPSILON
