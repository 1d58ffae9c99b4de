from __future__ import annotations

import pytest
from mpmath import mpf

from privacy.accounting.approximate import approximate
from privacy.accounting.event import ZCDP, ApproxDP, Composed, DiscreteGaussian, PureDP
from privacy.accounting.orders import ORDERS
from privacy.errors import InvalidParameter
from tests.unit.privacy.accounting.precisely import converted


def test_gaussian_noise_gets_the_best_epsilon_of_the_orders() -> None:
    event = approximate(DiscreteGaussian(50.0, 10.0), 1e-7)
    exact = min(converted(order, mpf(order) / 50, mpf("1e-7")) for order in ORDERS[:-1])
    assert event.delta == 1e-7
    assert exact <= event.epsilon <= exact * (1 + 1e-12)


def test_a_pure_event_stays_pure() -> None:
    assert approximate(PureDP(0.1), 0.0) == ApproxDP(0.1, 0.0)


def test_own_deltas_are_within_the_stated_one() -> None:
    event = approximate(Composed((ApproxDP(0.1, 1e-8), ZCDP(0.001))), 3e-8)
    assert event.epsilon > approximate(ZCDP(0.001), 2e-8).epsilon


def test_an_epsilon_is_stated_where_delta_alone_would_do() -> None:
    assert approximate(ZCDP(1e-12), 0.5) == ApproxDP(1e-9, 0.5)


def test_refuses_what_has_no_epsilon_at_that_delta() -> None:
    for event, delta in ((ZCDP(0.1), 0.0), (ApproxDP(0.1, 1e-6), 1e-7)):
        with pytest.raises(InvalidParameter, match="finite epsilon"):
            approximate(event, delta)
