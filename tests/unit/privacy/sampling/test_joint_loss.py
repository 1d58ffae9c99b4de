"""What a shared sample costs together, in pure and in Renyi privacy, and budgets for it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from operator import mul

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy import integrate, stats

from privacy.accounting.renyi import divergence_budget, epsilon_at
from privacy.errors import InvalidParameter
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.noise import ThresholdNoise
from privacy.sampling.design import SampleDesign, choice_budget, joint_loss, largest_factor, release_budget
from privacy.sampling.loss import Loss, choice_loss, laplace_loss
from privacy.thresholds import Thresholds
from tests.support.papers.renyi_sampling import (
    SquareLoss,
    affordable_factor,
    gaussian_loss,
    joint_renyi,
    least_epsilon,
    least_noise,
)
from tests.support.seeds import ALL, examples
from tests.unit.privacy.refusals import refuses_calls

TAUS = [2**i for i in range(11)]


def as_published(epsilon: float, delta_bound: int, rate: float) -> tuple[float, list[Loss]]:
    """Algorithm 2 of DP-S4S: thresholds from the largest down, each charged its own amplified budget."""
    left, losses = epsilon, []
    for remaining, tau in zip(range(len(TAUS), 0, -1), reversed(TAUS), strict=True):
        loss = laplace_loss(tau, tau / (left / remaining))
        left -= joint_loss([loss], delta_bound, rate)
        losses.append(loss)
    return epsilon - left, losses


def test_the_published_sum_is_no_bound_on_the_joint_loss() -> None:
    """docs/mathematics.md, section 7.1: unsound where epsilon is large, wasteful where it is small."""
    added, losses = as_published(4.0, 1024, 0.001)
    assert added == pytest.approx(3.605, abs=5e-4)
    assert joint_loss(losses, 1024, 0.001) == pytest.approx(4.360, abs=5e-4)
    assert joint_loss(losses, 1024, 0.001) > 4
    assert joint_loss(as_published(1.0, 1024, 0.001)[1], 1024, 0.001) == pytest.approx(0.901, abs=5e-4)


def brute_force(losses: Sequence[Loss], n: int, rate: float) -> float:
    """The expectation, term by term, with exact probabilities."""
    q = Fraction(rate)
    terms = []
    for k in range(1, n + 1):
        g = sum(loss.step + loss.slope * min(loss.cap, k) for loss in losses)
        terms.append(float(math.comb(n, k) * q**k * (1 - q) ** (n - k)) * math.expm1(g))
    return math.log1p(math.fsum(terms))


LOSSES = st.lists(
    st.builds(Loss, st.floats(0, 2), st.floats(0, 1), st.floats(0.25, 64).filter(lambda cap: cap > 0)),
    min_size=1,
    max_size=4,
)


@given(LOSSES, st.integers(1, 80), st.floats(1e-9, 1.0))
@settings(max_examples=examples(30, 150), deadline=None)
def test_is_the_sum_over_all_counts(losses: list[Loss], n: int, rate: float) -> None:
    assert joint_loss(losses, n, rate) == pytest.approx(brute_force(losses, n, rate), rel=2e-10, abs=1e-300)


def test_is_a_poisson_expectation_where_tuples_are_many_and_rare() -> None:
    for n, rate in [(10**12, 1e-9), (10**12, 1e-12), (10**7, 1e-3), (10**9, 1e-6)]:
        for epsilon in [0.01, 1.0, 8.0]:
            losses = [laplace_loss(tau, tau / (epsilon / 12)) for tau in (1.0, 8.0, 900.0, 4096.0, 2.0**20)]
            losses.append(choice_loss(epsilon / 3))
            mean = n * rate
            k = np.arange(1, int(mean + 60 * math.sqrt(mean) + 200), dtype=np.float64)
            log_p = k * math.log(mean) - mean - np.cumsum(np.log(k))
            g = sum(loss.step + loss.slope * np.minimum(loss.cap, k) for loss in losses)
            expected = math.log1p(math.fsum(np.exp(log_p) * np.expm1(g)))
            assert joint_loss(losses, n, rate) == pytest.approx(expected, rel=1e-6 + 10 * rate), (n, rate, epsilon)


@given(LOSSES, st.integers(1, 10**12), st.floats(1e-9, 1.0))
@settings(deadline=None)
def test_never_exceeds_the_loss_without_sampling_and_grows_with_both(losses: list[Loss], n: int, rate: float) -> None:
    value = joint_loss(losses, n, rate)
    assert 0 <= value <= joint_loss(losses, None, rate) == pytest.approx(sum(loss.most for loss in losses))
    assert value <= joint_loss(losses, 2 * n, rate) * (1 + 1e-7) + 1e-15
    assert value <= joint_loss(losses, n, min(1.0, 2 * rate)) * (1 + 1e-7) + 1e-15


def test_beyond_what_a_double_counts_nothing_is_claimed_and_without_sampling_it_is_the_loss_of_all() -> None:
    loss = Loss(0.0, 1.0, 38.0)
    assert joint_loss([loss], 1_944_327_298, 0.75) == pytest.approx(38.0)  # where incomplete beta functions give up
    assert joint_loss([loss], 1 << 51, 1e-15) == 38.0
    assert 39 < joint_loss([laplace_loss(2.0, 2.0 / 40.0)], 10**12, 1e-6) <= 40
    assert joint_loss([laplace_loss(2.0**32, 2.0**32)], 10**12, 0.5) == pytest.approx(1.0)
    assert joint_loss([laplace_loss(8.0, 8.0)], 3, 1.0) == pytest.approx(3 / 8)
    assert joint_loss([choice_loss(1.0)], 1, 0.1) == pytest.approx(math.log1p(0.1 * math.expm1(1.0)))
    # refuses what is no sampling and what cannot be computed
    one = [choice_loss(1.0)]
    refuses_calls(joint_loss, (one, 0, 0.5), (one, 1, 0.0), (one, 1, 1.5), (one, 1, math.nan))
    refuses_calls(joint_loss, ([choice_loss(2e6)], 1, 0.5))
    refuses_calls(Loss, (-1.0, 0.0, 1.0))


def test_one_release_is_amplified_as_the_paper_s_table_says() -> None:
    """DP-S4S (SIGMOD 2026), table 3: epsilon 1, Delta 1024; it cuts digits off and does not round."""
    for rate, amplified in [
        (0.001, (0.7426, 0.2878, 0.0660, 0.0161, 0.0040, 0.0010)),
        (0.01, (0.9999, 0.9976, 0.6538, 0.1612, 0.0400, 0.0100)),
        (0.1, (1.0000, 1.0000, 1.0000, 0.9999, 0.4007, 0.1000)),
    ]:
        for tau, expected in zip((1, 4, 16, 64, 256, 1024), amplified, strict=True):
            assert joint_loss([laplace_loss(tau, tau)], 1024, rate) == pytest.approx(expected, abs=1e-4)


def test_one_release_is_the_generating_function() -> None:
    """Lemma 3.2: two distribution functions, one of them tilted."""
    for tau, epsilon, rate in [(16, 1.0, 0.01), (64, 4.0, 0.05), (700, 0.3, 0.5)]:
        n, z = 1024, math.exp(epsilon / tau)
        grown = 1 - rate + rate * z
        below = math.exp(n * math.log(grown)) * stats.binom.cdf(tau, n, rate * z / grown)
        expected = math.log(below + stats.binom.sf(tau, n, rate) * math.exp(epsilon))
        assert joint_loss([laplace_loss(tau, tau / epsilon)], n, rate) == pytest.approx(expected, rel=1e-9)


SQUARE_LOSSES = st.lists(
    st.builds(SquareLoss, st.floats(0, 0.1), st.floats(0, 0.5), st.floats(0.001, 0.1), st.floats(0.25, 40)),
    min_size=1,
    max_size=4,
)


def concentrated(rho: float) -> SquareLoss:
    """Any release that is rho-zCDP: rho as soon as one tuple comes."""
    return SquareLoss(rho, 0.0, 0.0, 1.0)


def renyi_brute_force(losses: list[SquareLoss], n: int, rate: float, alpha: float) -> float:
    """Term by term, with exact binomial probabilities and sixty digits."""
    q, total = Fraction(rate), mpf(0)
    with mp.workdps(60):
        for k in range(1, n + 1):
            g = sum(mpf(x.rho) + (mpf(x.step) + mpf(x.slope) * min(mpf(x.cap), k)) ** 2 / 2 for x in losses)
            p = math.comb(n, k) * q**k * (1 - q) ** (n - k)
            total += mpf(p.numerator) / p.denominator * mp.expm1((mpf(alpha) - 1) * alpha * g)
        return float(mp.log1p(total) / (mpf(alpha) - 1))


@given(SQUARE_LOSSES, st.integers(1, 60), st.floats(1e-9, 1.0), st.floats(1.01, 20))
@settings(deadline=None, max_examples=examples(12, 100))
def test_is_the_sum_over_all_counts_of_joint_renyi(
    losses: list[SquareLoss], n: int, rate: float, alpha: float
) -> None:
    assert joint_renyi(losses, n, rate, alpha) == pytest.approx(renyi_brute_force(losses, n, rate, alpha), rel=1e-9)


@given(SQUARE_LOSSES, st.integers(1, 10**12), st.floats(1e-9, 1.0), st.floats(1.001, 1000))
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


def test_bounds_both_divergences_of_the_worst_neighbours() -> None:
    """An empty instance beside one unit with n tuples: the mixture itself, integrated."""
    cases = [*itertools.product(((2.0, 4, 3.0), (8.0, 4, 9.0), (1.5, 1, 1.0), (32.0, 6, 30.0)), (0.02, 0.5))]
    for (alpha, tau, sigma), rate in cases if ALL else cases[::3]:
        bound = joint_renyi([gaussian_loss(tau, sigma)], 12, rate, alpha)
        there, back = mixture_divergence(alpha, tau, sigma, 12, rate)
        assert max(there, back) <= bound * (1 + 1e-9), (alpha, rate)
        assert bound < alpha * tau**2 / (2 * sigma**2), (alpha, rate)


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


def test_the_best_order_is_the_best() -> None:
    """Over a fine grid of orders, for a curve that is rho alpha."""
    x = 10.0 ** (np.arange(-800, 1401) / 200)
    for rho, delta in ((0.1, 1e-6), (1e-7, 1e-9), (5.0, 1e-12), (0.3, 0.01)):
        found = least_epsilon(partial(mul, rho), delta)
        log = -np.log1p(1 / x) - (math.log(delta) + np.log1p(x)) / x
        assert found.value == pytest.approx(max(0.0, float((rho * (1 + x) + log).min())), rel=2e-5), rho
        assert found.value == epsilon_at(found.alpha, rho * found.alpha, delta)


@given(st.floats(1e-3, 50), st.floats(1e-15, 0.1), st.floats(1.001, 1e5))
def test_a_divergence_budget_is_the_conversion_solved(epsilon: float, delta: float, alpha: float) -> None:
    rho = divergence_budget(epsilon, delta, alpha)
    if rho > 0:
        assert epsilon_at(alpha, rho, delta) <= epsilon
        assert epsilon_at(alpha, rho * (1 + 1e-6) + 1e-9, delta) > epsilon - 1e-9


def test_the_least_noise_costs_the_budget() -> None:
    losses = [gaussian_loss(2.0**j, 2.0**j) for j in range(11)]
    unsampled = least_noise(losses, None, 1.0, 1.0, 1e-7)
    for rate in (1.0, 0.25, 0.001):
        plan = least_noise(losses, 1024, rate, 1.0, 1e-7)
        scaled = [loss.times(plan.factor) for loss in losses]
        found = least_epsilon(partial(joint_renyi, scaled, 1024, rate), 1e-7)
        assert 1 - 1e-6 < found.value <= 1 + 1e-12, rate
        assert plan.factor >= unsampled.factor * (1 - 1e-8), rate
        assert rate == 1.0 or plan.factor > 1.1 * unsampled.factor, rate


def test_what_is_affordable_was_checked() -> None:
    losses = [gaussian_loss(8.0, 8.0), concentrated(0.3)]
    factor = affordable_factor(losses, 100, 0.1, 5.0, 0.7)
    assert 0.7 * (1 - 1e-6) < joint_renyi([loss.times(factor) for loss in losses], 100, 0.1, 5.0) <= 0.7
    # refuses what is no order and what cannot be calibrated
    none, one = [concentrated(0.0)], [concentrated(1.0)]
    for alpha in (1.0, 0.5, math.inf, math.nan):
        refuses_calls(joint_renyi, (one, 1, 0.5, alpha))
        refuses_calls(divergence_budget, (1.0, 1e-6, alpha))
    refuses_calls(affordable_factor, (none, 1, 0.5, 2.0, 1.0), (one, 1, 0.5, 2.0, -1.0))
    refuses_calls(least_noise, (one, 1, 0.5, 1.0, 0.0))
    refuses_calls(SquareLoss, (0.0, 0.0, 1.0, 0.0))


DESIGNS = st.builds(SampleDesign, st.floats(1e-6, 1.0), st.integers(1, 10**9), st.floats(0.01, 8.0))


def laplace(tau: float, epsilon: float) -> Loss:
    return laplace_loss(tau, tau / epsilon)


@given(DESIGNS, st.integers(1, 12), st.integers(-3, 20))
def test_budgets_cost_their_share_and_nearly_all_of_it(design: SampleDesign, cells: int, exponent: int) -> None:
    cell = Fraction(design.epsilon) / cells
    selecting = choice_budget(design, cell) / 2
    tau = 2.0**exponent
    budget = release_budget(design, cell, selecting, partial(laplace, tau))
    together = [choice_loss(selecting), laplace(tau, budget)] * cells
    assert design.joint(together) <= design.epsilon * (1 + 1e-9)
    more = [choice_loss(selecting), laplace(tau, budget * 1.001)] * cells
    within_reach = sum(loss.most for loss in more) < 9e3  # beyond, the search ends
    assert not within_reach or design.joint(more) > design.epsilon * (1 - 1e-5)
    assert selecting >= float(cell) / 2 * (1 - 1e-5)  # never less than without amplification
    assert budget >= float(cell) / 2 * (1 - 1e-2) or selecting > float(cell) / 2


@given(DESIGNS, st.lists(st.tuples(st.integers(1, 5), st.integers(-2, 14)), min_size=2, max_size=4))
def test_releases_that_choose_different_thresholds_stay_within_the_budget_together(
    design: SampleDesign, parts: list[tuple[int, int]]
) -> None:
    """Hoelder: each release was calibrated as if all of the others chose as it does."""
    total, losses = sum(share for share, _ in parts), []
    for share, exponent in parts:
        cell = Fraction(design.epsilon) * Fraction(share, total)
        losses.append(laplace(2.0**exponent, release_budget(design, cell, 0.0, partial(laplace, 2.0**exponent))))
    assert design.joint(losses) <= design.epsilon * (1 + 1e-7)


def test_a_small_sample_pays_for_large_thresholds() -> None:
    """At q = 1/64 a unit of 1024 tuples has 16 in the sample: a threshold of 1024 needs the noise of 64 or so."""
    design = SampleDesign(1 / 64, 1024, 1.0)
    budgets = [release_budget(design, Fraction(1), 0.6, partial(laplace, 2.0**j)) for j in range(11)]
    scales = [2.0**j / budget for j, budget in enumerate(budgets)]
    assert budgets[0] == pytest.approx(0.4, rel=1e-6)
    assert max(scales) == pytest.approx(min(scale for scale in scales if scale > 40), rel=1e-3)
    assert max(scales) < 41


def test_without_a_bound_on_tuples_nothing_is_claimed() -> None:
    sampled = SampleDesign(0.01, None, 1.0)
    assert choice_budget(sampled, Fraction(1)) == pytest.approx(1.0, rel=1e-6)
    plain, claimed = Gem(PureBudget(1.0)), Gem(PureBudget(1.0), sample=sampled)
    assert plain._budgets(1) == claimed._budgets(1)
    # a selection that spends everything leaves nothing
    design = SampleDesign(0.5, 10, 1.0)
    with pytest.raises(InvalidParameter):
        release_budget(design, Fraction(1), 3.0, partial(laplace, 1.0))
    with pytest.raises(InvalidParameter):
        largest_factor(design, Fraction(1), lambda factor: [], 1.0)


def test_gem_s_transcripts_cost_no_more_than_epsilon_in_all_groups_together() -> None:
    """Whatever threshold each of a unit's groups chooses."""
    design = SampleDesign(0.02, 300, 2.0)
    gem = Gem(
        PureBudget(1.0), groups_per_unit=3, gap=0.01, thresholds=Thresholds(0, 9), sample=design
    )  # another release has the rest
    selecting, releasing = gem._budgets(10)
    rng = np.random.default_rng(0)
    for _ in range(50):
        chosen = rng.integers(len(gem.thresholds), size=3)
        levels = [ThresholdNoise(int(gem.thresholds.units[i]), 0.01, releasing[i]) for i in chosen]
        losses = [choice_loss(float(selecting))] * 3 + [level.loss for level in levels]
        # The other release spends as much, so it counts once more.
        assert design.joint(losses + losses) <= 2.0 * (1 + 1e-7)


def test_a_rung_s_loss_bounds_how_far_its_steps_can_move() -> None:
    for exponent, gap in ((3, 0.0), (25, 0.0), (4, 0.01), (30, 0.01), (-5, 0.0)):
        level = ThresholdNoise(1 << (30 + exponent), gap, Fraction(1, 3))
        for k in (1, 2, 7, 8, 9, 10**6, 1 << 40):
            moved = math.ceil(Fraction(min(level.tau_units, k << 30) + Fraction(gap) * level.tau_units) / level.step)
            assert moved / level.scale <= (level.loss.step + level.loss.slope * min(level.loss.cap, k)) * (1 + 1e-12)
