from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from privacy.accounting.amounts import Charge, ZCDPSpent
from privacy.accounting.conversion import divergence_within, epsilon_at, least_epsilon
from privacy.accounting.orders import ORDERS, UNBOUNDED, femto
from privacy.accounting.zcdp import curve
from tests.unit.privacy.accounting.precisely import converted

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


def test_a_share_of_delta_lowers_the_limit() -> None:
    grant = Charge.of(1.0, 1e-7)
    assert divergence_within(32.0, grant, Fraction(1, 2)) == divergence_within(32.0, Charge.of(1.0, 5e-8))


def test_nothing_is_claimed_from_what_is_unbounded() -> None:
    assert least_epsilon((2.0,), (UNBOUNDED,), 10**11) == math.inf
    assert divergence_within(2.0, Charge(10**40, 10**18)) == UNBOUNDED - 1


@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.02, 0.5, 5.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6])
def test_agrees_with_dp_accounting(rho: float, delta: float) -> None:
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    finite = ORDERS[:-1]
    theirs, _ = rdp.compute_epsilon(finite, [rho * order for order in finite], delta)
    ours = least_epsilon(ORDERS, curve(ZCDPSpent(femto(Fraction(repr(rho))))), math.ceil(Fraction(delta) * 10**18))
    assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-7, 1e-5])
def test_the_fixed_orders_lose_little(epsilon: float, delta: float) -> None:
    def rho(above: mpf) -> mpf:
        order = 1 + above
        return (mpf(epsilon) - mp.log(above / order) + (mp.log(delta) + mp.log(order)) / above) / order

    best = max(rho(mp.exp(mpf(step) / 100)) for step in range(-300, 1300))
    kept = max(divergence_within(order, Charge.of(epsilon, delta)) / order for order in ORDERS[:-1]) / 10**15
    assert kept >= float(best) * (1 - 0.006)  # in rho; half as much in epsilon
