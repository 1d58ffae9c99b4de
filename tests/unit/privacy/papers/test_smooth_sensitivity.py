"""Gaussian noise for a bound that moves: smooth, ramped, and as published."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from privacy.accounting.renyi import divergence_budget
from privacy.errors import InvalidParameter
from privacy.papers.smooth_sensitivity import (
    GaussianRamp,
    SmoothGaussian,
    least_noise_order,
    log_x_at,
    shrinking_divergence,
    smooth_bound,
)
from tests.support.papers.vectors_as_published import PublishedSmoothGaussian
from tests.support.vector_study.smooth_noise import NissimGaussian, smooth_gaussian
from tests.unit.privacy.mechanisms.gaussian_divergence import divergence, integrated
from tests.unit.privacy.refusals import refuses_calls

MADE = [
    SmoothGaussian(1, 2.0, 0.5, 0.5),
    SmoothGaussian(10, 7.7, 1.2, 0.89),
    SmoothGaussian(3, 40.0, 0.05, 0.1),
    SmoothGaussian(1, 1.1, 30.0, 0.01),
    SmoothGaussian(100_000, 26.0, 0.4, 0.5),
]


def test_the_formula_is_the_integral() -> None:
    for distance, sigma, other, alpha in [(1.0, 2.0, 3.0, 2.5), (0.5, 1.2, 1.0, 3.0)]:
        assert divergence(distance, sigma, other, alpha, 1) == pytest.approx(
            integrated(distance, sigma, other, alpha)
        )


def test_phi_is_what_the_variances_cost() -> None:
    for alpha in [1.01, 2.0, 8.0, 200.0]:
        for x in [1e-6, 0.3, 0.999, 1.001, 50.0]:
            ratio = (x + alpha - 1) / alpha
            exact = divergence(0.0, 1.0, math.sqrt(ratio), alpha, 7)
            assert shrinking_divergence(math.log(x), alpha, 7) == pytest.approx(exact, rel=1e-6, abs=1e-10)


def test_less_noise_on_the_other_side_costs_more_than_more() -> None:
    for alpha in [1.001, 1.5, 8.0, 1000.0]:
        for x in np.geomspace(1e-6, 0.9999, 50):
            shrunk = (x + alpha - 1) / alpha
            grown = math.log(alpha / shrunk + 1 - alpha)
            assert shrinking_divergence(grown, alpha, 1) <= shrinking_divergence(math.log(x), alpha, 1) * (1 + 1e-6)
    # the root is found from anywhere
    for mean in [0.0, 0.001, 0.9]:
        for start in [-1e-6, -1.0, -15.0]:
            found = log_x_at(8.0, 10, 1.0, mean, start)
            assert mean / math.exp(found) + shrinking_divergence(found, 8.0, 10) == pytest.approx(1.0, rel=1e-9)
    # a root too deep is not used
    assert log_x_at(1.1, 1, 100.0) == -16.0


def test_no_two_neighbours_are_further_apart_than_rho() -> None:
    """All ratios of G that smoothness allows, in both directions, means as far apart as the smaller G."""
    for made in MADE:
        worst = 0.0
        for log_ratio in np.linspace(-made.gamma, made.gamma, 201):
            ratio = math.exp(float(log_ratio))
            sigma, other = made.factor, made.factor * ratio
            worst = max(worst, divergence(min(1.0, ratio), sigma, other, made.alpha, made.dimension))
        assert worst <= made.rho
        assert worst == pytest.approx(made.rho, rel=1e-3)  # nothing is wasted


def test_other_orders_are_bounded_as_well() -> None:
    for order in [1.5, 4.0, 7.0, 8.0]:
        made = MADE[1]
        bound = made.divergence(order)
        for log_ratio in np.linspace(-made.gamma, made.gamma, 101):
            ratio = math.exp(float(log_ratio))
            assert divergence(min(1.0, ratio), made.factor, made.factor * ratio, order, 10) <= bound
        assert made.divergence(made.alpha) <= made.rho, order
        assert made.divergence(1e6) == math.inf, order


def test_g_is_the_largest_of_all_distances() -> None:
    for growth in [1.0, 1.3]:
        for bound in [1.0, 2.7, 29.5, 31.0, 400.0]:
            gamma = 0.034
            brute = max((bound + growth * k) * math.exp(-gamma * k) for k in range(5000))
            assert smooth_bound(bound, gamma, growth) == brute
            assert smooth_bound(bound + growth, gamma, growth) <= math.exp(gamma) * brute * (1 + 1e-12)
    # one public pair reaches both bars and as published it is many times as much
    made = smooth_gaussian(3.2, 1e-7, 10)
    assert made.sigma(1.0) < 29.0
    assert made.sigma(31.0) < 80.0
    assert pytest.approx(divergence_budget(3.2, 1e-7, made.alpha)) == made.rho
    assert PublishedSmoothGaussian(3.2, 1e-7, 10).sigma(31.0) == pytest.approx(284.8, abs=0.05)
    tuned = min(PublishedSmoothGaussian(3.2, 1e-7, 10, 6.2 + 0.05 * i).sigma(1.0) for i in range(60))
    assert tuned == pytest.approx(80.2, abs=0.05)


def test_the_published_h_has_its_roots_there() -> None:
    made = PublishedSmoothGaussian(3.2, 1e-7, 10)
    t, a = math.exp(-2 * made.gamma), math.exp((made.alpha - 1) * made.rho / 10)
    assert t**made.alpha - made.alpha * a * t + (made.alpha - 1) * a == pytest.approx(0.0, abs=1e-9)


def test_ss_g_is_lemma_e_1() -> None:
    made = NissimGaussian(1.0, 1e-7, 8)
    assert made.gamma == pytest.approx(1 / (4 * (8 + math.log(2e7))))
    assert made.sigma(1e6) == pytest.approx(5 * math.sqrt(2 * math.log(2e7)) * 1e6)
    # ours is below both in every dimension
    for dimension in [1, 8, 4096, 100_000]:
        ours = smooth_gaussian(1.0, 1e-7, dimension)
        for bound in (1.0, 100.0):
            assert ours.sigma(bound) < PublishedSmoothGaussian(1.0, 1e-7, dimension).sigma(bound)
            assert ours.sigma(bound) < NissimGaussian(1.0, 1e-7, dimension).sigma(bound)
    # parameters out of range and an order that is worth nothing are refused
    refuses_calls(SmoothGaussian, (0, 2.0, 1.0, 0.5), (1, 1.0, 1.0, 0.5), (1, 2.0, 0.0, 0.5), (1, 2.0, 1.0, 1.0))
    refuses_calls(PublishedSmoothGaussian, (1.0, 1e-7, 10, 2.0))
    refuses_calls(smooth_gaussian, (1e-9, 1e-300, 1))


@cache
def ramps() -> list[GaussianRamp]:
    return [
        GaussianRamp(1, 2.0, 0.5),
        GaussianRamp(10, 8.0, 1.27),
        GaussianRamp(10, 8.0, 1.27, growth=1.3),
        GaussianRamp(3, 40.0, 0.05),
        GaussianRamp(1, 1.25, 40.0),
        GaussianRamp(4096, 25.0, 0.3),
    ]


def test_no_two_neighbours_are_further_apart_than_rho_of_smooth_sensitivity_ramp() -> None:
    """Bounds at most one growth apart, means as far apart as the smaller bound, in both directions."""
    for ramp in ramps():
        rng = np.random.default_rng(5)
        worst = 0.0
        for bound in (*(1 + rng.exponential(ramp.top / 2, 8)), 1.0, ramp.top, 3 * ramp.top):
            for share in (0.0, 0.4, 1.0):
                near, far = ramp.sigma(bound), ramp.sigma(bound + share * ramp.growth)
                worst = max(worst, divergence(bound, near, far, ramp.alpha, ramp.dimension))
                worst = max(worst, divergence(bound, far, near, ramp.alpha, ramp.dimension))
        assert worst <= ramp.rho
        assert worst >= 0.99 * ramp.rho


def test_noise_rises_with_the_bound() -> None:
    for ramp in ramps():
        noises = [ramp.sigma(bound) for bound in np.geomspace(1, 4 * ramp.top, 20)]
        assert all(low < high for low, high in pairwise(noises)), ramp
        assert noises[-1] == pytest.approx(ramp.slope * 4 * ramp.top)


def test_it_is_below_the_exponential_of_the_same_order_everywhere() -> None:
    for dimension in [1, 10, 1000]:
        smooth = smooth_gaussian(3.2, 1e-7, dimension)
        ramp = GaussianRamp(dimension, smooth.alpha, smooth.rho)
        assert all(ramp.sigma(bound) < 0.95 * smooth.sigma(bound) for bound in (1.0, 5.0, 12.0, 31.0)), dimension


def test_noise_in_proportion_to_the_bound_alone_is_not_enough() -> None:
    ramp = ramps()[1]
    near, far = ramp.slope * 1.0, ramp.slope * 2.0
    assert divergence(1.0, far, near, ramp.alpha, ramp.dimension) == math.inf
    # parameters out of range are refused
    refuses_calls(GaussianRamp, (0, 2.0, 1.0, 1.0), (1, 1.0, 1.0, 1.0), (1, 2.0, 0.0, 1.0), (1, 2.0, 1.0, 0.5))


def test_no_order_is_taken_where_none_has_a_budget() -> None:
    with pytest.raises(InvalidParameter, match="any Renyi order"):
        least_noise_order([2.0, 8.0], lambda alpha: 0.0, dimension=3)
