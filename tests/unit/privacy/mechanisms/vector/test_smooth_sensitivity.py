from __future__ import annotations

import math

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.mechanisms.vector.smooth_sensitivity import (
    SmoothGaussian,
    log_x_at,
    shrinking_divergence,
    smooth_bound,
)
from privacy.mechanisms.vector.smooth_sensitivity_design import smooth_gaussian
from privacy.published.smooth_sensitivity_published import (
    NissimGaussian,
    PublishedSmoothGaussian,
    nissim_cauchy,
    nissim_laplace,
)
from privacy.sampling.renyi_order import divergence_budget
from tests.unit.privacy.mechanisms.vector.gaussian_divergence import divergence, integrated

ONE_PAIR = smooth_gaussian(3.2, 1e-7, 10)
MADE = [
    SmoothGaussian(1, 2.0, 0.5, 0.5),
    SmoothGaussian(10, 7.7, 1.2, 0.89),
    SmoothGaussian(3, 40.0, 0.05, 0.1),
    SmoothGaussian(1, 1.1, 30.0, 0.01),
    SmoothGaussian(100_000, 26.0, 0.4, 0.5),
]


@pytest.mark.parametrize(("distance", "sigma", "other", "alpha"), [(1.0, 2.0, 3.0, 2.5), (0.5, 1.2, 1.0, 3.0)])
def test_the_formula_is_the_integral(distance: float, sigma: float, other: float, alpha: float) -> None:
    assert divergence(distance, sigma, other, alpha, 1) == pytest.approx(integrated(distance, sigma, other, alpha))


@pytest.mark.parametrize("alpha", [1.01, 2.0, 8.0, 200.0])
@pytest.mark.parametrize("x", [1e-6, 0.3, 0.999, 1.001, 50.0])
def test_phi_is_what_the_variances_cost(alpha: float, x: float) -> None:
    ratio = (x + alpha - 1) / alpha
    exact = divergence(0.0, 1.0, math.sqrt(ratio), alpha, 7)
    assert shrinking_divergence(math.log(x), alpha, 7) == pytest.approx(exact, rel=1e-6, abs=1e-10)


@pytest.mark.parametrize("alpha", [1.001, 1.5, 8.0, 1000.0])
def test_less_noise_on_the_other_side_costs_more_than_more(alpha: float) -> None:
    for x in np.geomspace(1e-6, 0.9999, 50):
        shrunk = (x + alpha - 1) / alpha
        grown = math.log(alpha / shrunk + 1 - alpha)
        assert shrinking_divergence(grown, alpha, 1) <= shrinking_divergence(math.log(x), alpha, 1) * (1 + 1e-6)


@pytest.mark.parametrize("mean", [0.0, 0.001, 0.9])
@pytest.mark.parametrize("start", [-1e-6, -1.0, -15.0])
def test_the_root_is_found_from_anywhere(mean: float, start: float) -> None:
    found = log_x_at(8.0, 10, 1.0, mean, start)
    assert mean / math.exp(found) + shrinking_divergence(found, 8.0, 10) == pytest.approx(1.0, rel=1e-9)


def test_a_root_too_deep_is_not_used() -> None:
    assert log_x_at(1.1, 1, 100.0) == -16.0


@pytest.mark.parametrize("made", MADE, ids=str)
def test_no_two_neighbours_are_further_apart_than_rho(made: SmoothGaussian) -> None:
    """All ratios of G that smoothness allows, in both directions, means as far apart as the smaller G."""
    worst = 0.0
    for log_ratio in np.linspace(-made.gamma, made.gamma, 201):
        ratio = math.exp(float(log_ratio))
        sigma, other = made.factor, made.factor * ratio
        worst = max(worst, divergence(min(1.0, ratio), sigma, other, made.alpha, made.dimension))
    assert worst <= made.rho
    assert worst == pytest.approx(made.rho, rel=1e-3)  # nothing is wasted


@pytest.mark.parametrize("order", [1.5, 4.0, 7.0, 8.0])
def test_other_orders_are_bounded_as_well(order: float) -> None:
    made = MADE[1]
    bound = made.divergence(order)
    for log_ratio in np.linspace(-made.gamma, made.gamma, 101):
        ratio = math.exp(float(log_ratio))
        assert divergence(min(1.0, ratio), made.factor, made.factor * ratio, order, 10) <= bound
    assert made.divergence(made.alpha) <= made.rho
    assert made.divergence(1e6) == math.inf


@pytest.mark.parametrize("growth", [1.0, 1.3])
@pytest.mark.parametrize("bound", [1.0, 2.7, 29.5, 31.0, 400.0])
def test_g_is_the_largest_of_all_distances(bound: float, growth: float) -> None:
    gamma = 0.034
    brute = max((bound + growth * k) * math.exp(-gamma * k) for k in range(5000))
    assert smooth_bound(bound, gamma, growth) == brute
    assert smooth_bound(bound + growth, gamma, growth) <= math.exp(gamma) * brute * (1 + 1e-12)


def test_one_public_pair_reaches_both_bars() -> None:
    assert ONE_PAIR.sigma(1.0) < 29.0
    assert ONE_PAIR.sigma(31.0) < 80.0
    assert pytest.approx(divergence_budget(3.2, 1e-7, ONE_PAIR.alpha)) == ONE_PAIR.rho


def test_as_published_it_is_many_times_as_much() -> None:
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


@pytest.mark.parametrize("dimension", [1, 8, 4096, 100_000])
def test_ours_is_below_both_in_every_dimension(dimension: int) -> None:
    ours = smooth_gaussian(1.0, 1e-7, dimension)
    for bound in (1.0, 100.0):
        assert ours.sigma(bound) < PublishedSmoothGaussian(1.0, 1e-7, dimension).sigma(bound)
        assert ours.sigma(bound) < NissimGaussian(1.0, 1e-7, dimension).sigma(bound)


@pytest.mark.parametrize("wrong", [(0, 2.0, 1.0, 0.5), (1, 1.0, 1.0, 0.5), (1, 2.0, 0.0, 0.5), (1, 2.0, 1.0, 1.0)])
def test_parameters_out_of_range_are_refused(wrong: tuple[int, float, float, float]) -> None:
    with pytest.raises(InvalidParameter):
        SmoothGaussian(*wrong)


def test_an_order_that_is_worth_nothing_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        PublishedSmoothGaussian(1.0, 1e-7, 10, order=2.0)
    with pytest.raises(InvalidParameter):
        smooth_gaussian(1e-9, 1e-300, 1)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_cauchy_noise_of_the_published_scale_is_pure(epsilon: float) -> None:
    """All ratios of densities at neighbours: bounds a factor of e^gamma apart, answers the smaller of them."""
    noise = nissim_cauchy(epsilon, 1)
    z = np.concatenate([-np.geomspace(1e-6, 1e9, 4000)[::-1], np.geomspace(1e-6, 1e9, 4000)])

    def density(x: np.ndarray, at: float, bound: float) -> np.ndarray:
        scale = noise.factor * bound
        return np.log(scale / (scale**2 + (x - at) ** 2))

    for bound in (1.0, math.exp(noise.gamma), math.exp(-noise.gamma)):
        moved = density(z, 0.0, 1.0) - density(z, min(1.0, bound), bound)
        assert np.abs(moved).max() <= epsilon


def test_laplace_noise_of_the_published_scale_keeps_epsilon_but_for_delta() -> None:
    noise, delta = nissim_laplace(1.0, 1e-3, 1), 1e-3
    wide, narrow = noise.factor * math.exp(noise.gamma), noise.factor
    z = np.linspace(-400, 400, 2_000_001)
    for (one, at), (other, to) in (((narrow, 0.0), (wide, 1.0)), ((wide, 0.0), (narrow, 1.0))):
        first = np.exp(-np.abs(z - at) / one) / (2 * one)
        second = np.exp(-np.abs(z - to) / other) / (2 * other)
        assert np.maximum(first - math.e * second, 0).sum() * (z[1] - z[0]) <= delta
