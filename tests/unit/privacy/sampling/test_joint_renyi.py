from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy import integrate, stats

from privacy.accounting.conversion import epsilon_at
from privacy.errors import InvalidParameter
from privacy.sampling.joint_renyi import joint_renyi
from privacy.sampling.renyi_calibrate import affordable_factor, least_noise
from privacy.sampling.renyi_order import divergence_budget, least_epsilon
from privacy.sampling.square_loss import SquareLoss, gaussian_loss

LOSSES = st.lists(
    st.builds(SquareLoss, st.floats(0, 0.1), st.floats(0, 0.5), st.floats(0.001, 0.1), st.floats(0.25, 40)),
    min_size=1,
    max_size=4,
)


def concentrated(rho: float) -> SquareLoss:
    """Any release that is rho-zCDP: rho as soon as one tuple comes."""
    return SquareLoss(rho, 0.0, 0.0, 1.0)


def brute_force(losses: list[SquareLoss], n: int, rate: float, alpha: float) -> float:
    """Term by term, with exact binomial probabilities and sixty digits."""
    q, total = Fraction(rate), mpf(0)
    with mp.workdps(60):
        for k in range(1, n + 1):
            g = sum(mpf(x.rho) + (mpf(x.step) + mpf(x.slope) * min(mpf(x.cap), k)) ** 2 / 2 for x in losses)
            p = math.comb(n, k) * q**k * (1 - q) ** (n - k)
            total += mpf(p.numerator) / p.denominator * mp.expm1((mpf(alpha) - 1) * alpha * g)
        return float(mp.log1p(total) / (mpf(alpha) - 1))


@given(LOSSES, st.integers(1, 60), st.floats(1e-9, 1.0), st.floats(1.01, 20))
@settings(deadline=None)
def test_is_the_sum_over_all_counts(losses: list[SquareLoss], n: int, rate: float, alpha: float) -> None:
    assert joint_renyi(losses, n, rate, alpha) == pytest.approx(brute_force(losses, n, rate, alpha), rel=1e-9)


@given(LOSSES, st.integers(1, 10**12), st.floats(1e-9, 1.0), st.floats(1.001, 1000))
def test_sampling_never_costs(losses: list[SquareLoss], n: int, rate: float, alpha: float) -> None:
    value = joint_renyi(losses, n, rate, alpha)
    unsampled = joint_renyi(losses, None, rate, alpha)
    assert 0 <= value <= unsampled == pytest.approx(alpha * sum(loss.most for loss in losses))


def mixture_divergence(alpha: float, tau: int, sigma: float, n: int, rate: float) -> tuple[float, float]:
    """The divergences of a mixture over k from its part at k = 0, both ways, by quadrature."""
    k = np.arange(n + 1)
    masses, means = stats.binom.pmf(k, n, rate), np.minimum(k, tau)

    def density(z: float, ratio_power: float) -> float:
        base = math.exp(-0.5 * (z / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))
        mixed = float(np.dot(masses, np.exp((z * means - means**2 / 2) / sigma**2)))
        return float(base * mixed**ratio_power)

    limits = (-12 * sigma - tau, 12 * sigma + alpha * tau)
    there, back = (
        integrate.quad(density, *limits, args=(power,), limit=400, epsabs=0, epsrel=1e-9)[0]
        for power in (alpha, 1 - alpha)
    )
    return math.log(there) / (alpha - 1), math.log(back) / (alpha - 1)


@pytest.mark.parametrize(("alpha", "tau", "sigma"), [(2.0, 4, 3.0), (8.0, 4, 9.0), (1.5, 1, 1.0), (32.0, 6, 30.0)])
@pytest.mark.parametrize("rate", [0.02, 0.5])
def test_bounds_both_divergences_of_the_worst_neighbours(alpha: float, tau: int, sigma: float, rate: float) -> None:
    """An empty instance beside one unit with n tuples: the mixture itself, integrated."""
    bound = joint_renyi([gaussian_loss(tau, sigma)], 12, rate, alpha)
    there, back = mixture_divergence(alpha, tau, sigma, 12, rate)
    assert max(there, back) <= bound * (1 + 1e-9)
    assert bound < alpha * tau**2 / (2 * sigma**2)


def test_a_shared_sample_does_not_add_up() -> None:
    """Amplified one by one, the divergences add up to less than they are together."""
    losses = [gaussian_loss(2.0**j, 2.0**j / 0.8) for j in range(8)]
    apart = sum(joint_renyi([loss], 1024, 0.001, 8.0) for loss in losses)
    assert apart < 0.9 * joint_renyi(losses, 1024, 0.001, 8.0)


def test_a_selection_counts_once() -> None:
    """K >= 1 with probability 1 - (1 - q)^n."""
    alpha, hit = 3.0, 1 - 0.9**4
    expected = math.log1p(hit * math.expm1((alpha - 1) * alpha * 0.2)) / (alpha - 1)
    assert joint_renyi([concentrated(0.2)], 4, 0.1, alpha) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("rho", "delta"), [(0.1, 1e-6), (1e-7, 1e-9), (5.0, 1e-12), (0.3, 0.01)])
def test_the_best_order_is_the_best(rho: float, delta: float) -> None:
    """Sixty digits over a fine grid of orders, for a curve that is rho alpha."""
    found = least_epsilon(lambda alpha: rho * alpha, delta)
    with mp.workdps(60):
        scan = (mpf(10) ** (mpf(j) / 200) for j in range(-800, 1401))
        least = min(rho * (1 + x) + mp.log(x / (1 + x)) - (mp.log(mpf(delta)) + mp.log(1 + x)) / x for x in scan)
    assert found.value == pytest.approx(max(0.0, float(least)), rel=2e-5)
    assert found.value == epsilon_at(found.alpha, rho * found.alpha, delta)


@given(st.floats(1e-3, 50), st.floats(1e-15, 0.1), st.floats(1.001, 1e5))
def test_a_divergence_budget_is_the_conversion_solved(epsilon: float, delta: float, alpha: float) -> None:
    rho = divergence_budget(epsilon, delta, alpha)
    if rho > 0:
        assert epsilon_at(alpha, rho, delta) <= epsilon
        assert epsilon_at(alpha, rho * (1 + 1e-6) + 1e-9, delta) > epsilon - 1e-9


@pytest.mark.parametrize("rate", [1.0, 0.25, 0.001])
def test_the_least_noise_costs_the_budget(rate: float) -> None:
    losses = [gaussian_loss(2.0**j, 2.0**j) for j in range(11)]
    plan = least_noise(losses, 1024, rate, 1.0, 1e-7)
    scaled = [loss.times(plan.factor) for loss in losses]
    found = least_epsilon(lambda alpha: joint_renyi(scaled, 1024, rate, alpha), 1e-7)
    assert 1 - 1e-6 < found.value <= 1 + 1e-12
    unsampled = least_noise(losses, None, 1.0, 1.0, 1e-7)
    assert plan.factor >= unsampled.factor * (1 - 1e-8)
    assert rate == 1.0 or plan.factor > 1.1 * unsampled.factor


def test_what_is_affordable_was_checked() -> None:
    losses = [gaussian_loss(8.0, 8.0), concentrated(0.3)]
    factor = affordable_factor(losses, 100, 0.1, 5.0, 0.7)
    assert 0.7 * (1 - 1e-6) < joint_renyi([loss.times(factor) for loss in losses], 100, 0.1, 5.0) <= 0.7


@pytest.mark.parametrize("alpha", [1.0, 0.5, math.inf, math.nan])
def test_refuses_what_is_no_order(alpha: float) -> None:
    with pytest.raises(InvalidParameter):
        joint_renyi([concentrated(1.0)], 1, 0.5, alpha)
    with pytest.raises(InvalidParameter):
        divergence_budget(1.0, 1e-6, alpha)


def test_refuses_what_cannot_be_calibrated() -> None:
    with pytest.raises(InvalidParameter):
        affordable_factor([concentrated(0.0)], 1, 0.5, 2.0, 1.0)
    with pytest.raises(InvalidParameter):
        affordable_factor([concentrated(1.0)], 1, 0.5, 2.0, -1.0)
    with pytest.raises(InvalidParameter):
        least_noise([concentrated(1.0)], 1, 0.5, 1.0, 0.0)
    with pytest.raises(InvalidParameter):
        SquareLoss(0.0, 0.0, 1.0, 0.0)
