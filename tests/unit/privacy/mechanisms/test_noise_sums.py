"""Quantiles of sums of noises, beside those that have a closed form."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, special

from privacy.mechanisms.noise import ThresholdNoise
from privacy.mechanisms.noise_sums import NoiseSum, step_at_most, sum_interval
from privacy.units import ONE
from tests.unit.privacy.refusals import refuses_calls, refuses_each

TAIL = 0.025


def two_laplace(x: float) -> float:
    """P(S > x) of two Laplace noises of scale 1."""
    return math.exp(-x) * (2 + x) / 4


def laplace_and_gaussian(x: float, sigma: float) -> float:
    """P(S > x) of a Laplace noise of scale 1 and a Gaussian one."""
    shift = sigma**2 / 2
    up = math.exp(shift - x) * special.ndtr(x / sigma - sigma)
    down = math.exp(shift + x) * special.ndtr(-x / sigma - sigma)
    return float(special.ndtr(-x / sigma) + (up - down) / 2)


def of_different_scales(x: float, small: float) -> float:
    """P(S > x) of Laplace noises of the scales 1 and `small`, by integration."""

    def above(y: float) -> float:
        density = math.exp(-abs(y) / small) / (2 * small)
        tail = 0.5 * math.exp(-(x - y)) if y <= x else 1 - 0.5 * math.exp(x - y)
        return density * tail

    return float(integrate.quad(above, -60, 60, points=[0.0, x], limit=400, epsabs=1e-13)[0])


def test_quantiles_with_a_closed_form() -> None:
    for scale in [1e-6, 1.0, 3.5e5]:
        cases = [
            (NoiseSum.of([scale], []), -math.log(2 * TAIL)),
            (NoiseSum.of([], [3 * scale, 4 * scale]), -5 * special.ndtri(TAIL)),
            (NoiseSum.of([scale, -scale], []), optimize.brentq(lambda x: two_laplace(x) - TAIL, 0, 20)),
            (
                NoiseSum.of([scale], [0.7 * scale]),
                optimize.brentq(lambda x: laplace_and_gaussian(x, 0.7) - TAIL, 0, 20),
            ),
            (
                NoiseSum.of([scale, 0.3 * scale], []),
                optimize.brentq(lambda x: of_different_scales(x, 0.3) - TAIL, 0, 20),
            ),
        ]
        for noise, exact in cases:
            found = noise.upper_quantile(TAIL) / scale
            assert exact <= found <= exact * 1.0001, noise


def test_many_terms_are_nearly_gaussian_and_none_are_nothing() -> None:
    assert NoiseSum.of([], []).upper_quantile(TAIL) == NoiseSum.of([0.0], [0.0]).upper_quantile(TAIL) == 0.0
    noise = NoiseSum.of([1.0] * 2000, [])
    assert noise.upper_quantile(TAIL) == pytest.approx(1.96 * noise.deviation, rel=2e-3)


def test_a_mixture_covers_as_it_says() -> None:
    for pairs in [[(1.0, 3), (0.1, 50)], [(5.0, 1), (1.0, 200)], [(1.0, 1), (1e-4, 10_000)]]:
        runs = 200_000
        rng = np.random.default_rng(5)
        total = sum(
            scale * (rng.gamma(times, 1, runs) - rng.gamma(times, 1, runs)) for scale, times in pairs
        )  # Laplace is a difference of exponentials
        scales, times = np.array(pairs).T
        covered = float((np.abs(total) <= NoiseSum.counted(scales, times).upper_quantile(TAIL)).mean())
        assert covered == pytest.approx(0.95, abs=5 * math.sqrt(0.05 * 0.95 / runs)), pairs


def test_noises_are_counted_as_if_each_were_named() -> None:
    named = NoiseSum.of([2.0, 1.0, -1.0, 1.0, 0.0], [])
    assert NoiseSum.counted(np.array([-1.0, 2.0, 1.0, 7.0]), np.array([2.0, 1.0, 1.0, 0.0])) == named
    assert named.variance == 2 * (4.0 + 3 * 1.0)
    # a scale that hardly counts
    alone, beside = NoiseSum.of([1.0], []), NoiseSum.of([1.0, 1e-9], [])
    assert alone.upper_quantile(TAIL) <= beside.upper_quantile(TAIL) <= alone.upper_quantile(TAIL) * 1.001
    # many scales are rounded up
    scales = np.geomspace(0.01, 1.0, 200)
    noise = NoiseSum.of(scales, [])
    assert len(noise.laplace) < 200 and sum(count for _, count in noise.laplace) == 200
    few = NoiseSum(tuple((scale, 1) for scale in sorted(scales.tolist())))
    assert few.upper_quantile(TAIL) <= noise.upper_quantile(TAIL) <= few.upper_quantile(TAIL) * 1.05


def test_chernoff_bounds_what_is_exact() -> None:
    for laplace in [[1.0], [1.0] * 3, [1.0, 0.2, 5.0]]:
        noise = NoiseSum.of(laplace, [0.5])
        for tail in (0.1, 1e-3):
            exact = noise.upper_quantile(tail)
            assert noise.reach(tail) >= exact, laplace
    # refuses what is out of range and a step is bounded whatever the threshold
    refuses_each(NoiseSum.of([1.0], []).upper_quantile, [0.0, 1e-9, 0.5, 1.0])
    one = np.ones(1)
    refuses_calls(NoiseSum.counted, (math.inf * one, one), (math.nan * one, one), (one, -one))
    taus = np.array([2.0**power for power in range(-29, 33)])
    steps = [ThresholdNoise(int(tau * ONE), 0.0, Fraction(1)).step_weight for tau in taus]
    assert np.all(step_at_most(taus) >= steps)
    assert np.all(step_at_most(taus) >= taus / (1 << 24))


def one(values: list[float], below: float, above: float, weights: list[float]) -> tuple[float, float]:
    numbers = np.array(values)
    n = len(values)
    return sum_interval(
        numbers - below,
        numbers + above,
        numbers,
        np.ones(n),
        np.ones(n),
        np.zeros(n, np.bool_),
        np.array(weights),
        0.95,
    )


def test_an_interval_of_one_release_is_its_own() -> None:
    assert one([5.0], 3.0, 3.5, [1.0]) == (3.0, 3.5)
    # what flooring hides lies above and of what is taken off below
    reach = NoiseSum.of([1.0, 1.0], []).upper_quantile(0.025)
    below, above = one([5.0, 2.0], 3.0, 3.5, [1.0, 1.0])
    assert below == pytest.approx(reach, abs=1e-5) and above == pytest.approx(reach + 1.0, abs=1e-5)
    below, above = one([5.0, 2.0], 3.0, 3.5, [1.0, -1.0])
    assert below == pytest.approx(reach + 0.5, abs=1e-5) and above == pytest.approx(reach + 0.5, abs=1e-5)
