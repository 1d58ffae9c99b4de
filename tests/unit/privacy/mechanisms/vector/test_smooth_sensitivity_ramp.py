from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.mechanisms.vector.smooth_sensitivity_design import smooth_gaussian
from privacy.mechanisms.vector.smooth_sensitivity_ramp import GaussianRamp
from tests.unit.privacy.mechanisms.vector.gaussian_divergence import divergence

RAMPS = [
    GaussianRamp(1, 2.0, 0.5),
    GaussianRamp(10, 8.0, 1.27),
    GaussianRamp(10, 8.0, 1.27, growth=1.3),
    GaussianRamp(3, 40.0, 0.05),
    GaussianRamp(1, 1.25, 40.0),
    GaussianRamp(4096, 25.0, 0.3),
]


@pytest.mark.parametrize("ramp", RAMPS, ids=str)
def test_no_two_neighbours_are_further_apart_than_rho(ramp: GaussianRamp) -> None:
    """Bounds at most one growth apart, means as far apart as the smaller bound, in both directions."""
    rng = np.random.default_rng(5)
    worst = 0.0
    for bound in (*(1 + rng.exponential(ramp.top / 2, 8)), 1.0, ramp.top, 3 * ramp.top):
        for share in (0.0, 0.4, 1.0):
            near, far = ramp.sigma(bound), ramp.sigma(bound + share * ramp.growth)
            worst = max(worst, divergence(bound, near, far, ramp.alpha, ramp.dimension))
            worst = max(worst, divergence(bound, far, near, ramp.alpha, ramp.dimension))
    assert worst <= ramp.rho
    assert worst >= 0.99 * ramp.rho


@pytest.mark.parametrize("ramp", RAMPS, ids=str)
def test_noise_rises_with_the_bound(ramp: GaussianRamp) -> None:
    noises = [ramp.sigma(bound) for bound in np.geomspace(1, 4 * ramp.top, 20)]
    assert all(low < high for low, high in pairwise(noises))
    assert noises[-1] == pytest.approx(ramp.slope * 4 * ramp.top)


@pytest.mark.parametrize("dimension", [1, 10, 1000])
def test_it_is_below_the_exponential_of_the_same_order_everywhere(dimension: int) -> None:
    smooth = smooth_gaussian(3.2, 1e-7, dimension)
    ramp = GaussianRamp(dimension, smooth.alpha, smooth.rho)
    assert all(ramp.sigma(bound) < 0.95 * smooth.sigma(bound) for bound in (1.0, 5.0, 12.0, 31.0))


def test_noise_in_proportion_to_the_bound_alone_is_not_enough() -> None:
    ramp = RAMPS[1]
    near, far = ramp.slope * 1.0, ramp.slope * 2.0
    assert divergence(1.0, far, near, ramp.alpha, ramp.dimension) == math.inf


@pytest.mark.parametrize("wrong", [(0, 2.0, 1.0, 1.0), (1, 1.0, 1.0, 1.0), (1, 2.0, 0.0, 1.0), (1, 2.0, 1.0, 0.5)])
def test_parameters_out_of_range_are_refused(wrong: tuple[int, float, float, float]) -> None:
    with pytest.raises(InvalidParameter):
        GaussianRamp(*wrong)
