"""Clipped sums and the number of units that have more keep their claim together; two whole budgets do not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privacy.exact import exact_epsilon
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.clip import Clip, CountedClip
from privacy.mechanisms.noise import IntegerNoise
from privacy.thresholds import Thresholds
from tests.audit.auditing import loss_bound, plain
from tests.audit.auditor import Outputs
from tests.audit.clipped import BIG, Vector, side_by_side
from tests.audit.mutants import WeakerNoise
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

RUNS = examples(150_000, 400_000)

COUNTED = CountedClip(1.0, Thresholds(0, 0), Fraction(8))
NOBODY = (0.0, 0.0)
UNITS: list[Vector] = [(BIG, 0), (BIG, BIG), (1, 0)]
"""Far longer than tau in one group and in two, and just as long, who is not counted."""


class Unsplit(CountedClip):
    """The sums and the number spend all of epsilon each."""

    def __post_init__(self) -> None:
        """Nothing is checked."""

    @property
    def clip(self) -> Clip:
        return Clip(PureBudget(self.epsilon), self.thresholds)

    @property
    def noise(self) -> IntegerNoise:
        return IntegerNoise(1, exact_epsilon(self.epsilon))


def together(counted: CountedClip, unit: Vector, weaker: float = 1.0, times: int = 1) -> float:
    """A lower bound on epsilon, by how much more likely the sums and the number are where the unit is there.

    Every run is a unit in groups of its own, and has a number of its own: that of all runs together would be one.

    Args:
      counted: what is audited.
      unit: that comes.
      weaker: of which scale the noise is.
      times: how often the number counts a unit.
    """
    source = WeakerNoise(SimulatedEntropy(seed=20261129), laplace=weaker)
    kept = np.array(unit) / max(1.0, sum(unit))
    sums, number = float(counted.clip.epsilon), float(counted.noise.epsilon)

    def run(vector: Vector, size: int) -> Outputs:
        tuples = side_by_side(vector, size)
        seen = counted.clip.release(tuples, 0, source).values.reshape(size, -1)
        longer = np.full(size, times * (sum(vector) > counted.thresholds.taus[0]), np.int64)
        people = counted.noise.released(longer, source)
        moved = (np.abs(seen) - np.abs(seen - kept)).sum(axis=1)
        return plain(np.round(sums * moved + number * (np.abs(people) - np.abs(people - times)), 6))

    return loss_bound(run, (unit, NOBODY), RUNS)


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_comes(unit: Vector) -> None:
    assert together(COUNTED, unit) <= COUNTED.epsilon


def test_they_spend_what_they_may() -> None:
    assert together(COUNTED, UNITS[0]) > 0.8 * COUNTED.epsilon


def test_catches_budgets_that_are_not_split() -> None:
    assert together(Unsplit(1.0, Thresholds(0, 0), Fraction(8)), UNITS[0]) > 1.0


def test_catches_noise_of_half_the_scale() -> None:
    assert together(COUNTED, UNITS[0], weaker=0.5) > 1.0


def test_catches_a_number_of_rows_instead_of_units() -> None:
    assert together(COUNTED, UNITS[1], times=8) > 1.0
