"""Removing anybody from programs that are swept moves a value by at most its noise's sensitivity."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.mechanisms.noise import ThresholdNoise
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.programs.coordinate_solver import CoordinateSolver
from privacy.truncation.programs.presolve import presolve
from privacy.truncation.programs.solver_routes import routes
from privacy.truncation.programs_by_threshold import programs_by_threshold
from privacy.truncation.truncate import truncate
from tests.support.dense_graphs import dense_triangles
from tests.support.graph_joins import counted
from tests.support.seeds import sampled

THRESHOLDS = Thresholds(2, 9)
GAP = 0.01


def _removed(columns: NDArray[np.int64], person: int, share: float, seed: int) -> NDArray[np.int64]:
    """The triangles without this share of the person's: all of them, or some."""
    own = (columns == person).any(axis=0)
    leaves = own & (np.random.default_rng(seed).random(len(own)) < share)
    return columns[:, ~leaves]


def _values(columns: NDArray[np.int64], gap: float = GAP) -> list[int]:
    answer = truncate(encode(counted(tuple(columns))), 0, THRESHOLDS, gap)
    return [answer.solve(0, index) for index in range(len(THRESHOLDS))]


@pytest.mark.parametrize("seed", sampled(range(4), 1))
def test_a_person_who_leaves_moves_swept_values_by_at_most_their_sensitivity(seed: int) -> None:
    columns = dense_triangles(200, 6, 30, 12, seed)
    everybody = _values(columns)
    busiest = np.argsort(-np.bincount(columns.ravel()))
    for person, share in ((busiest[0], 1.0), (busiest[0], 0.5), (busiest[40], 1.0), (busiest[150], 1.0)):
        without = _values(_removed(columns, int(person), share, seed))
        for tau, more, less in zip(THRESHOLDS.units.tolist(), everybody, without, strict=True):
            noise = ThresholdNoise(tau, GAP, Fraction(1))
            assert abs(more - less) <= (1 + Fraction(GAP)) * tau
            assert abs(more // noise.step - less // noise.step) <= noise.sensitivity


def test_these_programs_are_swept() -> None:
    instance = programs_by_threshold(encode(counted(tuple(dense_triangles(200, 6, 30, 12, 0)))), 0, THRESHOLDS)
    swept = 0
    for index in range(len(THRESHOLDS)):
        reduced = instance.reduced(0, index)
        core = None if reduced.core is None else presolve(reduced.core).core
        swept += core is not None and isinstance(routes(core)[0], CoordinateSolver)
    assert swept >= 4


@pytest.mark.parametrize("seed", sampled(range(4), 1))
def test_values_are_within_their_gap_and_do_not_depend_on_the_order_of_rows(seed: int) -> None:
    columns = dense_triangles(200, 6, 30, 12, seed)
    shuffled = columns[:, np.random.default_rng(seed).permutation(columns.shape[1])]
    assert _values(columns) == _values(shuffled)
    for tau, rough, fine in zip(THRESHOLDS.units.tolist(), _values(columns), _values(columns, 0.0005), strict=True):
        assert -GAP * tau <= rough - fine <= 0.0005 * tau
