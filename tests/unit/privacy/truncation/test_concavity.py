import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.ladder import Ladder
from privacy.truncation.concavity import tighten
from privacy.units import MAX_UNITS, ONE

TAUS = Ladder(-20, 32).units
OTHERS = Ladder(-12, 20, 3).units


def _concave(taus: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    return (1000 * ONE * (1 - np.exp(-taus / (scale * ONE)))).astype(np.int64)


@pytest.mark.parametrize("taus", [TAUS, OTHERS])
def test_what_is_known_bounds_the_rest_and_the_truth_stays_inside(taus: NDArray[np.int64]) -> None:
    for scale in (0.01, 1.0, 300.0):
        truth = _concave(taus, scale)
        lower, upper = np.zeros_like(truth), np.full_like(truth, 1000 * ONE)
        for known in (22, 24, 30):
            before = int((upper - lower).astype(np.float64).sum())
            lower[known] = upper[known] = truth[known]
            tighten(lower, upper, taus)
            assert np.all((lower <= truth + 2) & (truth <= upper + 2))
            assert int((upper - lower).astype(np.float64).sum()) <= before


def test_a_chord_runs_through_the_origin_and_between_solved_thresholds() -> None:
    taus = Ladder(0, 3).units
    lower, upper = np.array([0, 60, 0, 120]) * ONE, np.array([500, 60, 500, 120]) * ONE
    tighten(lower, upper, taus)
    assert np.allclose(lower / ONE, [30, 60, 80, 120], atol=1e-3)
    assert np.allclose(upper / ONE, [50, 60, 120, 120], atol=1e-3)


def test_saturated_bounds_stay_in_range() -> None:
    lower, upper = np.zeros(len(TAUS), np.int64), np.full(len(TAUS), MAX_UNITS)
    lower[-1] = MAX_UNITS
    tighten(lower, upper, TAUS)
    assert np.all((lower >= 0) & (lower <= upper) & (upper <= MAX_UNITS))
