"""From divergences to epsilon and back."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from privacy.accounting.amounts import Charge, ZCDPSpent
from privacy.accounting.event import ORDERS, UNBOUNDED, ZCDP, ApproxDP, Composed, DiscreteGaussian, PureDP, femto
from privacy.accounting.renyi import approximate, divergence_within, epsilon_at, least_epsilon
from privacy.accounting.zcdp import curve, largest_rho
from privacy.errors import InvalidParameter
from privacy.mechanisms.budget import ConcentratedBudget
from tests.support.seeds import sampled
from tests.unit.privacy.accounting.precisely import converted
from tests.unit.privacy.refusals import refuses_calls

orders = st.sampled_from(ORDERS[:-1]) | st.floats(1.001, 1e5)
deltas = st.floats(-18, -0.01).map(lambda exponent: 10.0**exponent)
divergences = st.floats(-9, 3).map(lambda exponent: 10.0**exponent)


@given(orders, divergences, deltas)
def test_epsilon_agrees_with_fifty_digits_and_is_rounded_up(order: float, divergence: float, delta: float) -> None:
    exact = converted(order, mpf(divergence), mpf(delta))
    computed = epsilon_at(order, divergence, delta)
    terms = 1 + mpf(divergence) + (1 - mp.log(delta) + mp.log(order)) / (mpf(order) - 1)
    assert max(0, exact) <= computed
    assert computed <= max(0, exact + terms * mpf(2) ** -46)


def test_epsilon_of_a_large_divergence_is_rounded_up_as_well() -> None:
    for step in range(100):
        divergence = 1000 + step / 7
        assert converted(1e5, mpf(divergence), mpf(0.3)) <= epsilon_at(1e5, divergence, 0.3)


@given(st.sampled_from(ORDERS[:-1]), st.integers(1, 10**11), st.integers(1, 10**18))
def test_a_limit_is_the_last_that_fits(order: float, nano: int, atto: int) -> None:
    limit = divergence_within(order, Charge(nano, atto))
    granted, delta = mpf(nano) / 10**9, mpf(atto) / 10**18
    close = mpf(2) ** -44 * (2 + granted + (1 - mp.log(delta) + mp.log(order)) / (mpf(order) - 1))
    if limit >= 0:
        assert converted(order, mpf(limit) / 10**15, delta) <= granted
    assert converted(order, mpf(limit + 1) / 10**15 + close, delta) > granted


def test_without_delta_only_the_infinite_order_counts() -> None:
    assert divergence_within(2.0, Charge(10**9)) == -1
    assert divergence_within(math.inf, Charge(10**9)) == 10**15
    assert epsilon_at(2.0, 0.5, 0.0) == math.inf
    assert epsilon_at(math.inf, 0.5, 0.0) == 0.5
    assert least_epsilon((2.0, math.inf), (1, 5 * 10**14), 0) == 0.5
    # a share of delta lowers the limit
    grant = Charge.of(1.0, 1e-7)
    assert divergence_within(32.0, grant, Fraction(1, 2)) == divergence_within(32.0, Charge.of(1.0, 5e-8))
    # nothing is claimed from what is unbounded
    assert least_epsilon((2.0,), (UNBOUNDED,), 10**11) == math.inf
    assert divergence_within(2.0, Charge(10**40, 10**18)) == UNBOUNDED - 1


@pytest.mark.slow
def test_agrees_with_dp_accounting() -> None:
    """In `make test`, sixty digits show the same."""
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    finite = ORDERS[:-1]
    for rho, delta in itertools.product((1e-6, 1e-3, 0.02, 0.5, 5.0), (1e-12, 1e-9, 1e-6)):
        theirs, _ = rdp.compute_epsilon(finite, [rho * order for order in finite], delta)
        own = math.ceil(Fraction(delta) * 10**18)
        ours = least_epsilon(ORDERS, curve(ZCDPSpent(femto(Fraction(repr(rho))))), own)
        assert ours == pytest.approx(theirs, rel=1e-9), (rho, delta)


def test_the_fixed_orders_lose_little() -> None:
    above = np.exp(np.arange(-300, 1300) / 100)
    for epsilon, delta in itertools.product((0.01, 0.1, 1.0, 10.0, 100.0), (1e-12, 1e-7, 1e-5)):
        log = (math.log(delta) + np.log1p(above)) / above
        best = float(((epsilon - np.log(above / (1 + above)) + log) / (1 + above)).max())
        kept = max(divergence_within(order, Charge.of(epsilon, delta)) / order for order in ORDERS[:-1]) / 10**15
        assert kept >= best * (1 - 0.006), (epsilon, delta)  # in rho; half as much in epsilon


def test_gaussian_noise_gets_the_best_epsilon_of_the_orders_and_a_pure_event_stays_pure() -> None:
    event = approximate(DiscreteGaussian(50.0, 10.0), 1e-7)
    exact = min(converted(order, mpf(order) / 50, mpf("1e-7")) for order in ORDERS[:-1])
    assert event.delta == 1e-7
    assert exact <= event.epsilon <= exact * (1 + 1e-12)
    assert approximate(PureDP(0.1), 0.0) == ApproxDP(0.1, 0.0)


def test_own_deltas_are_within_the_stated_one() -> None:
    event = approximate(Composed((ApproxDP(0.1, 1e-8), ZCDP(0.001))), 3e-8)
    assert event.epsilon > approximate(ZCDP(0.001), 2e-8).epsilon
    # an epsilon is stated where delta alone would do
    assert approximate(ZCDP(1e-12), 0.5) == ApproxDP(1e-9, 0.5)


def test_refuses_what_has_no_epsilon_at_that_delta() -> None:
    for event, delta in ((ZCDP(0.1), 0.0), (ApproxDP(0.1, 1e-6), 1e-7)):
        with pytest.raises(InvalidParameter, match="finite epsilon"):
            approximate(event, delta)


def test_is_stated_as_no_more_than_it_was_bought_for_and_hardly_less() -> None:
    for epsilon in [0.01, 0.5, 4.0, 80.0]:
        for delta in [1e-12, 1e-7, 0.01]:
            rho = largest_rho(epsilon, delta)
            assert approximate(ZCDP(rho), delta).epsilon <= epsilon
            assert approximate(ZCDP(rho * (1 + 1e-8)), delta).epsilon > epsilon * (1 - 1e-8)


def test_buys_more_than_the_simple_conversion() -> None:
    """rho + 2 sqrt(rho ln(1 / delta)) = 4 at delta 1e-7 has rho = 0.221 (Bun and Steinke 2016)."""
    log = math.log(1e7)
    simple = (math.sqrt(log + 4) - math.sqrt(log)) ** 2
    assert largest_rho(4.0, 1e-7) == pytest.approx(1.2 * simple, rel=0.02)
    # refuses what is no budget
    refuses_calls(largest_rho, (1.0, 0.0), (1.0, 1.0), (0.0, 1e-6), (math.inf, 1e-6))
    # too little buys nothing
    for epsilon, delta in [(1e-9, 1e-18), (3e-4, 1e-7), (1e-4, 1e-15), (1.0, 1e-19)]:
        assert largest_rho(epsilon, delta) == 0.0
        with pytest.raises(InvalidParameter, match="too small for zcdp accounting"):
            ConcentratedBudget.of(epsilon, delta)


def test_however_large_epsilon_is_rho_is_one_that_accountants_count() -> None:
    """They count to 9,000 nats, and at the least order, 1.25, that is a rho of 7,200."""
    for delta in [1e-15, 1e-7, 0.999]:
        bought = [largest_rho(epsilon, delta) for epsilon in (6e3, 7e3, 9e3, 1e4, 1e9, 1e100, 1e300)]
        assert bought == sorted(bought), delta
        assert bought[-1] == pytest.approx(7_200, rel=1e-9), delta
        assert math.isfinite(approximate(ZCDP(bought[-1]), delta).epsilon)


def test_is_what_halving_the_whole_range_finds() -> None:
    """The search begins near the closed form of the best order; the bound is the same as without that."""
    cases = [*itertools.product((1e-3, 0.0213, 0.5, 3.7, 42.0, 900.0), (1e-18, 3e-9, 1e-6, 0.4))]
    for epsilon, delta in sampled(cases, 6):
        grant = Charge.granted(epsilon, delta)
        low, high = 0, UNBOUNDED
        while high - low > 1:
            middle = (low + high) // 2
            within = least_epsilon(ORDERS, curve(ZCDPSpent(middle)), grant.atto_delta) <= grant.epsilon
            low, high = (middle, high) if within else (low, middle)
        assert largest_rho(epsilon, delta) <= low * 1e-15, (epsilon, delta)
        assert largest_rho(epsilon, delta) == pytest.approx(low * 1e-15, rel=1e-13, abs=1e-15), (epsilon, delta)
