from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from privacy.errors import InvalidParameter
from privacy.sampling.joint_loss import joint_loss
from privacy.sampling.loss import Loss, choice_loss, laplace_loss

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
    """privacy.md section 3: unsound where epsilon is large, wasteful where it is small."""
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
    st.builds(
        Loss,
        st.floats(0, 2),
        st.floats(0, 1),
        st.floats(0.25, 64).filter(lambda cap: cap > 0),
    ),
    min_size=1,
    max_size=4,
)


@given(LOSSES, st.integers(1, 80), st.floats(1e-9, 1.0))
@settings(max_examples=150, deadline=None)
def test_is_the_sum_over_all_counts(losses: list[Loss], n: int, rate: float) -> None:
    assert joint_loss(losses, n, rate) == pytest.approx(brute_force(losses, n, rate), rel=2e-10, abs=1e-300)


@pytest.mark.parametrize(("n", "rate"), [(10**12, 1e-9), (10**12, 1e-12), (10**7, 1e-3), (10**9, 1e-6)])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0])
def test_is_a_poisson_expectation_where_tuples_are_many_and_rare(n: int, rate: float, epsilon: float) -> None:
    losses = [laplace_loss(tau, tau / (epsilon / 12)) for tau in (1.0, 8.0, 900.0, 4096.0, 2.0**20)]
    losses.append(choice_loss(epsilon / 3))
    mean = n * rate
    k = np.arange(1, int(mean + 60 * math.sqrt(mean) + 200), dtype=np.float64)
    log_p = k * math.log(mean) - mean - np.cumsum(np.log(k))
    g = sum(loss.step + loss.slope * np.minimum(loss.cap, k) for loss in losses)
    expected = math.log1p(math.fsum(np.exp(log_p) * np.expm1(g)))
    assert joint_loss(losses, n, rate) == pytest.approx(expected, rel=1e-6 + 10 * rate)


@given(LOSSES, st.integers(1, 10**12), st.floats(1e-9, 1.0))
@settings(deadline=None)
def test_never_exceeds_the_loss_without_sampling_and_grows_with_both(losses: list[Loss], n: int, rate: float) -> None:
    value = joint_loss(losses, n, rate)
    assert 0 <= value <= joint_loss(losses, None, rate) == pytest.approx(sum(loss.most for loss in losses))
    assert value <= joint_loss(losses, 2 * n, rate) * (1 + 1e-7) + 1e-15
    assert value <= joint_loss(losses, n, min(1.0, 2 * rate)) * (1 + 1e-7) + 1e-15


def test_beyond_what_a_double_counts_nothing_is_claimed() -> None:
    loss = Loss(0.0, 1.0, 38.0)
    assert joint_loss([loss], 1_944_327_298, 0.75) == pytest.approx(38.0)  # where incomplete beta functions give up
    assert joint_loss([loss], 1 << 51, 1e-15) == 38.0


def test_a_steep_loss_over_many_tuples_is_finite() -> None:
    loss = laplace_loss(2.0, 2.0 / 40.0)
    assert 39 < joint_loss([loss], 10**12, 1e-6) <= 40
    assert joint_loss([laplace_loss(2.0**32, 2.0**32)], 10**12, 0.5) == pytest.approx(1.0)


def test_without_sampling_it_is_the_loss_of_all_tuples() -> None:
    assert joint_loss([laplace_loss(8.0, 8.0)], 3, 1.0) == pytest.approx(3 / 8)


def test_amplification_of_one_tuple_is_the_known_formula() -> None:
    assert joint_loss([choice_loss(1.0)], 1, 0.1) == pytest.approx(math.log1p(0.1 * math.expm1(1.0)))


@pytest.mark.parametrize(("n", "rate"), [(0, 0.5), (1, 0.0), (1, 1.5), (1, math.nan)])
def test_refuses_what_is_no_sampling(n: int, rate: float) -> None:
    with pytest.raises(InvalidParameter):
        joint_loss([choice_loss(1.0)], n, rate)


def test_refuses_what_cannot_be_computed() -> None:
    with pytest.raises(InvalidParameter):
        joint_loss([choice_loss(2e6)], 1, 0.5)
    with pytest.raises(InvalidParameter):
        Loss(-1.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("rate", "amplified"),
    [
        (0.001, (0.7426, 0.2878, 0.0660, 0.0161, 0.0040, 0.0010)),
        (0.01, (0.9999, 0.9976, 0.6538, 0.1612, 0.0400, 0.0100)),
        (0.1, (1.0000, 1.0000, 1.0000, 0.9999, 0.4007, 0.1000)),
    ],
)
def test_one_release_is_amplified_as_the_paper_s_table_says(rate: float, amplified: tuple[float, ...]) -> None:
    """DP-S4S (SIGMOD 2026), table 3: epsilon 1, Delta 1024; it cuts digits off and does not round."""
    for tau, expected in zip((1, 4, 16, 64, 256, 1024), amplified, strict=True):
        assert joint_loss([laplace_loss(tau, tau)], 1024, rate) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("tau", "epsilon", "rate"), [(16, 1.0, 0.01), (64, 4.0, 0.05), (700, 0.3, 0.5)])
def test_one_release_is_the_generating_function(tau: int, epsilon: float, rate: float) -> None:
    """Lemma 3.2: two distribution functions, one of them tilted."""
    n, z = 1024, math.exp(epsilon / tau)
    grown = 1 - rate + rate * z
    below = math.exp(n * math.log(grown)) * stats.binom.cdf(tau, n, rate * z / grown)
    expected = math.log(below + stats.binom.sf(tau, n, rate) * math.exp(epsilon))
    assert joint_loss([laplace_loss(tau, tau / epsilon)], n, rate) == pytest.approx(expected, rel=1e-9)
