"""Grants, raised, lowered, and renewed by windows of time."""

from __future__ import annotations

import math

import pytest

from planner.errors import InvalidSetting
from server.errors import BudgetExhausted
from server.ledger.account import Grant
from server.ledger.ledger import Ledger
from server.query import Budget
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import ACT, charge
from tests.unit.server.ledger.suite.ledger_case import Clock, LedgerCase


class Grants(LedgerCase):
    def test_a_top_up_adds(self, ledger: Ledger) -> None:
        reserve(ledger, charge(1.0))
        ledger.top_up("analyst:ada", 0.5, 1e-6, ACT)
        assert ledger.budget("ada") == Budget(1.5, 2e-6, 0.5, 2e-6)
        for epsilon, delta in ((-1.0, 0.0), (0.0, 0.0), (math.nan, 0.0), (0.1, 1.0)):
            with pytest.raises(InvalidSetting):
                ledger.top_up("analyst:ada", epsilon, delta, ACT)

    def test_a_grant_below_what_is_spent_leaves_nothing(self, ledger: Ledger) -> None:
        reservation = reserve(ledger, charge(0.5))
        ledger.grant("analyst:ada", Grant(0.25), ACT)
        assert ledger.budget("ada").epsilon_left == 0.0
        with pytest.raises(BudgetExhausted):
            reserve(ledger, charge(1e-9))
        ledger.release(reservation)
        assert ledger.budget("ada").epsilon_left == 0.25

    def test_a_window_starts_again(self, ledger: Ledger, clock: Clock) -> None:
        ledger.grant("analyst:ada", Grant(1.0, 1e-6, window_s=86_400), ACT)
        reserve(ledger, charge(1.0))
        clock.seconds += 86_399
        assert ledger.budget("ada").epsilon_left == 0.0
        clock.seconds += 1
        assert ledger.budget("ada").epsilon_left == 1.0
        reserve(ledger, charge(0.75))
        clock.seconds += 86_399  # windows are counted from the first, not from the last charge
        assert ledger.budget("ada").epsilon_left == 0.25
        clock.seconds += 1 + 5 * 86_400
        assert ledger.budget("ada").epsilon_left == 1.0

    def test_a_clock_that_goes_back_renews_nothing(self, ledger: Ledger, clock: Clock) -> None:
        ledger.grant("analyst:ada", Grant(1.0, 1e-6, window_s=60), ACT)
        clock.seconds += 90
        reserve(ledger, charge(1.0))
        clock.seconds -= 10**6
        assert ledger.budget("ada").epsilon_left == 0.0
        with pytest.raises(BudgetExhausted):
            reserve(ledger, charge(0.1))
        ledger.top_up("analyst:ada", 0.5, 0.0, ACT)
        reserve(ledger, charge(0.5))
        times = [entry.at_ms for entry in ledger.entries()]
        assert times == sorted(times)

    def test_a_later_window_gives_nothing_back_for_an_earlier_one(self, ledger: Ledger, clock: Clock) -> None:
        ledger.grant("analyst:ada", Grant(1.0, 1e-6, window_s=60), ACT)
        early = reserve(ledger, charge(0.5))
        clock.seconds += 60
        reserve(ledger, charge(0.75))
        ledger.release(early)
        assert ledger.budget("ada").epsilon_left == 0.25

    def test_a_window_given_later_forgives_nothing_at_once(self, ledger: Ledger, clock: Clock) -> None:
        reserve(ledger, charge(1.0))
        clock.seconds += 10**6
        ledger.grant("analyst:ada", Grant(1.0, 1e-6, window_s=60), ACT)
        assert ledger.budget("ada").epsilon_left == 0.0
        clock.seconds += 60
        assert ledger.budget("ada").epsilon_left == 1.0
