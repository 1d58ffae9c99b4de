from __future__ import annotations

import math

import pytest

from privacy.accounting.amounts import Charge, ZCDPSpent
from privacy.accounting.approximate import approximate
from privacy.accounting.conversion import least_epsilon
from privacy.accounting.event import ZCDP
from privacy.accounting.largest_rho import largest_rho
from privacy.accounting.orders import ORDERS, UNBOUNDED
from privacy.accounting.zcdp import curve
from privacy.errors import InvalidParameter
from privacy.mechanisms.budget import ConcentratedBudget


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 4.0, 80.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-7, 0.01])
def test_is_stated_as_no_more_than_it_was_bought_for_and_hardly_less(epsilon: float, delta: float) -> None:
    rho = largest_rho(epsilon, delta)
    assert approximate(ZCDP(rho), delta).epsilon <= epsilon
    assert approximate(ZCDP(rho * (1 + 1e-8)), delta).epsilon > epsilon * (1 - 1e-8)


def test_buys_more_than_the_simple_conversion() -> None:
    """rho + 2 sqrt(rho ln(1 / delta)) = 4 at delta 1e-7 has rho = 0.221 (Bun and Steinke 2016)."""
    log = math.log(1e7)
    simple = (math.sqrt(log + 4) - math.sqrt(log)) ** 2
    assert largest_rho(4.0, 1e-7) == pytest.approx(1.2 * simple, rel=0.02)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (1.0, 1.0), (0.0, 1e-6), (math.inf, 1e-6)])
def test_refuses_what_is_no_budget(epsilon: float, delta: float) -> None:
    with pytest.raises(InvalidParameter):
        largest_rho(epsilon, delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-9, 1e-18), (3e-4, 1e-7), (1e-4, 1e-15)])
def test_too_little_buys_nothing(epsilon: float, delta: float) -> None:
    assert largest_rho(epsilon, delta) == 0.0
    with pytest.raises(InvalidParameter, match="no zero-concentrated release"):
        ConcentratedBudget.of(epsilon, delta)


@pytest.mark.parametrize("delta", [1e-15, 1e-7, 0.999])
def test_however_large_epsilon_is_rho_is_one_that_accountants_count(delta: float) -> None:
    """They count to 9,000 nats, and at the least order, 1.25, that is a rho of 7,200."""
    bought = [largest_rho(epsilon, delta) for epsilon in (6e3, 7e3, 9e3, 1e4, 1e9, 1e100, 1e300)]
    assert bought == sorted(bought)
    assert bought[-1] == pytest.approx(7_200, rel=1e-9)
    assert math.isfinite(approximate(ZCDP(bought[-1]), delta).epsilon)


def test_a_delta_that_is_counted_as_none_buys_nothing() -> None:
    assert largest_rho(1.0, 1e-19) == 0.0


@pytest.mark.parametrize("epsilon", [1e-3, 0.0213, 0.5, 3.7, 42.0, 900.0])
@pytest.mark.parametrize("delta", [1e-18, 3e-9, 1e-6, 0.4])
def test_is_what_halving_the_whole_range_finds(epsilon: float, delta: float) -> None:
    """The search begins near the closed form of the best order; the bound is the same as without that."""
    grant = Charge.granted(epsilon, delta)
    low, high = 0, UNBOUNDED
    while high - low > 1:
        middle = (low + high) // 2
        within = least_epsilon(ORDERS, curve(ZCDPSpent(middle)), grant.atto_delta) <= grant.epsilon
        low, high = (middle, high) if within else (low, middle)
    assert largest_rho(epsilon, delta) <= low * 1e-15
    assert largest_rho(epsilon, delta) == pytest.approx(low * 1e-15, rel=1e-13, abs=1e-15)
