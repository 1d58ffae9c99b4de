"""What the vector mechanisms' proofs rest on: how far removed people and sums of two neighbours can be apart."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privacy.papers.vector_program.certificate import WHOLE
from privacy.papers.vector_program.search import DEFAULT_GAP, VectorInstance
from privacy.papers.vector_release import VectorGrid, rounding
from privacy.thresholds import Thresholds
from tests.property.truncation_strategies import weights
from tests.unit.privacy.papers.vector_program.vectors import Grouped, compacted

THRESHOLDS = Thresholds(-3, 4)
GROUPS = 3


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[list[Grouped], list[Grouped]]:
    """Tuples, and the same without some or all of those that person 0 owns."""
    owners = st.frozensets(st.integers(0, 6), min_size=1, max_size=3)
    tuples = draw(st.lists(st.tuples(owners, weights, st.integers(0, GROUPS - 1)), max_size=16))
    gone = draw(st.lists(st.booleans(), min_size=len(tuples), max_size=len(tuples)))
    kept = [one for one, away in zip(tuples, gone, strict=True) if not (away and 0 in one[0])]
    return tuples, kept


@given(neighbours(), st.sampled_from(THRESHOLDS.units.tolist()))
def test_bounds_and_sums_move_as_far_as_their_noise_pays_for(
    pair: tuple[list[Grouped], list[Grouped]], tau: int
) -> None:
    instances = [VectorInstance(compacted(tuples, GROUPS)) for tuples in pair]
    removed = [instance.removal(tau).removed for instance in instances]
    assert -DEFAULT_GAP <= removed[0] - removed[1] <= WHOLE + DEFAULT_GAP
    grid = VectorGrid(tau, GROUPS)
    steps = [np.array([total // grid.step for total in instance.sums(tau)], dtype=object) for instance in instances]
    apart = math.sqrt(sum(int(x) ** 2 for x in steps[0] - steps[1])) * grid.step_weight / (2 * grid.tau)
    bound = min(removed) / WHOLE + 1 + DEFAULT_GAP / WHOLE + rounding(GROUPS)
    assert apart <= bound * (1 + 1e-12)
