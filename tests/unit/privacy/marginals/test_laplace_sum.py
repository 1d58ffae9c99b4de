"""How far sums of Laplace noise reach: against closed forms and simulation, never too short."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from privacy.errors import InvalidParameter
from privacy.marginals.laplace_sum import LaplaceSum


def of(*pairs: tuple[float, float]) -> LaplaceSum:
    return LaplaceSum(np.array([scale for scale, _ in pairs]), np.array([times for _, times in pairs]))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_one_noise_has_its_own_quantile(confidence: float, scale: float) -> None:
    exact = -scale * math.log(1 - confidence)
    assert exact <= of((scale, 1)).reach(confidence) <= exact * 1.001


def test_two_alike_have_a_closed_form() -> None:
    """P(|X| > q) = (1 + q / 2) exp(-q)."""
    exact = brentq(lambda q: (1 + q / 2) * math.exp(-q) - 0.05, 0.1, 20)
    assert exact <= of((1.0, 2)).reach(0.95) <= exact * 1.0001


def test_many_are_nearly_normal() -> None:
    many = of((1.0, 10_000))
    assert many.reach(0.95) == pytest.approx(norm.ppf(0.975) * math.sqrt(many.variance), rel=1e-3)


@pytest.mark.parametrize("pairs", [[(1.0, 3), (0.1, 50)], [(5.0, 1), (1.0, 200)], [(1.0, 1), (1e-4, 10_000)]])
def test_a_mixture_covers_as_it_says(pairs: list[tuple[float, float]]) -> None:
    runs = 200_000
    rng = np.random.default_rng(5)
    total = sum(
        scale * (rng.gamma(times, 1, runs) - rng.gamma(times, 1, runs)) for scale, times in pairs
    )  # Laplace is a difference of exponentials
    covered = float((np.abs(total) <= of(*pairs).reach(0.95)).mean())
    assert covered == pytest.approx(0.95, abs=5 * math.sqrt(0.05 * 0.95 / runs))


def test_no_noise_reaches_nowhere() -> None:
    assert of((0.0, 4), (1.0, 0)).reach(0.95) == 0.0


def test_a_scale_is_finite() -> None:
    with pytest.raises(InvalidParameter):
        of((math.inf, 1))
