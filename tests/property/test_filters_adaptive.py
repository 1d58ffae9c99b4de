"""Filters against adversaries who choose their requests by what they have seen; every excess is computed exactly."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.accounting.amounts import Charge
from privacy.accounting.basic import BudgetFilter
from privacy.accounting.renyi import RenyiAccountant, RenyiFilter, divergence_within
from privacy.accounting.zcdp import ZCDPFilter
from tests.support.adaptive_game import Release, best_excess, excess, leak, response, two_outcomes

EPSILON, DELTA = 0.8, 0.05
MENU = (response(0.1), response(0.25), response(0.4), response(0.8), leak(0.2, 0.01), leak(0.05, 0.02))
FILTERS: list[Any] = [
    BudgetFilter.of(EPSILON, DELTA),
    ZCDPFilter.of(EPSILON, DELTA, 0.02),
    RenyiFilter.of(EPSILON, DELTA, 0.02),
    RenyiFilter.of(EPSILON, DELTA, 0.02, (4.0, 9.0)),
]


@pytest.mark.parametrize("budget", FILTERS, ids=lambda budget: type(budget).__name__)
@given(st.lists(st.sampled_from([*MENU, None]), min_size=1, max_size=40))
def test_no_adaptive_strategy_gets_beyond_the_grant(budget: Any, plan: list[Release | None]) -> None:
    def strategy(history: tuple[int, ...]) -> Release | None:
        return plan[hash(history) % len(plan)]

    assert excess(budget, EPSILON, strategy, 5) <= DELTA


def test_neither_does_the_best_of_them() -> None:
    for budget in FILTERS:
        assert best_excess(budget, EPSILON, MENU[2:5], 4) <= DELTA, budget
    more: list[Any] = [one.of(2 * EPSILON, 2 * DELTA) for one in (BudgetFilter, ZCDPFilter, RenyiFilter)]
    for budget in more:
        assert best_excess(budget, EPSILON, MENU[2:5], 4) > DELTA, budget


class TestOneDeltaForEveryOrder:
    """Going on while any order holds, each with the whole delta, is no filter: luck may pick the order."""

    EPSILON, DELTA, ORDERS = 2.0, 0.0118, (3.0, 17.0)
    GRANT = Charge.granted(EPSILON, DELTA)
    UNSHARED = RenyiFilter(
        GRANT,
        tuple(divergence_within(order, Charge.granted(2.0, 0.0118)) for order in ORDERS),
        0,
        RenyiAccountant(ORDERS),
    )

    def strategy(self, history: tuple[int, ...]) -> Release | None:
        """A small release; then, by its outcome, one that is cheap at order 17 or one that is cheap at order 3."""
        by_luck = {
            (): two_outcomes(0.237, 0.137, self.ORDERS),
            (0,): two_outcomes(1.85, 0.863, self.ORDERS),
            (1,): two_outcomes(2.45, 0.0245, self.ORDERS),
        }
        return by_luck.get(history)

    def test_overspends_delta_by_two_fifths(self) -> None:
        assert excess(self.UNSHARED, self.EPSILON, self.strategy, 2) > 1.4 * self.DELTA

    def test_shares_of_delta_prevent_it(self) -> None:
        sound = RenyiFilter.of(self.EPSILON, self.DELTA, orders=self.ORDERS)
        assert excess(sound, self.EPSILON, self.strategy, 2) <= self.DELTA
