"""Clocks that move: the ledger's time stands still for none, and no budget comes back within its window."""

from __future__ import annotations

import pytest

from server.errors import BudgetExhausted
from server.ledger.account import Grant
from server.ledger.entry import EntryKind
from server.ledger.ledger import Ledger
from server.ledger.writes.clock import TOLERANCE_MS
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import ACT, charge
from tests.unit.server.ledger.suite.ledger_case import Clock, LedgerCase, Reopen

DAY = 86_400.0


def _spend_all(book: Ledger) -> None:
    book.commit(reserve(book, charge(1.0)))
    _is_spent(book)


def _is_spent(book: Ledger) -> None:
    with pytest.raises(BudgetExhausted):
        reserve(book, charge(0.5))


class Clocks(LedgerCase):
    @pytest.mark.parametrize("ahead_days", [1, 400])
    def test_a_clock_that_ran_ahead_lends_a_window_which_is_paid_back(
        self, ledger: Ledger, reopen: Reopen, clock: Clock, ahead_days: int
    ) -> None:
        """By the end of each true day no more is spent than the days have, but for the one that the jump lent."""
        ledger.grant("analyst:ada", Grant(1.0, window_s=int(DAY)), ACT)
        _spend_all(ledger)  # the first day's
        clock.seconds += ahead_days * DAY
        _spend_all(reopen())  # lent
        clock.seconds -= ahead_days * DAY - DAY / 2
        _is_spent(reopen())
        assert [entry.kind for entry in ledger.entries()].count(EntryKind.CLOCK) == 1
        clock.seconds += DAY  # the second day, which was lent
        _is_spent(ledger)
        clock.seconds += DAY  # the third
        _spend_all(reopen())
        clock.seconds += DAY
        _spend_all(ledger)
        assert [entry.kind for entry in ledger.entries()].count(EntryKind.CLOCK) == 1

    def test_a_clock_that_is_set_back_renews_nothing_and_freezes_nothing(self, ledger: Ledger, clock: Clock) -> None:
        ledger.grant("analyst:ada", Grant(1.0, window_s=int(DAY)), ACT)
        _spend_all(ledger)
        for _ in range(3):
            clock.seconds -= 100 * DAY
            _is_spent(ledger)
        clock.seconds += 4 * DAY + 1
        _spend_all(ledger)

    def test_small_differences_are_waited_for(self, ledger: Ledger, clock: Clock) -> None:
        reserve(ledger, charge(0.25))
        clock.seconds -= TOLERANCE_MS / 1000
        reserve(ledger, charge(0.25))
        assert EntryKind.CLOCK not in [entry.kind for entry in ledger.entries()]
        times = [entry.at_ms for entry in ledger.entries()]
        assert times == sorted(times)

    def test_what_was_reserved_before_is_settled_after(self, ledger: Ledger, clock: Clock) -> None:
        ledger.grant("analyst:ada", Grant(1.0, window_s=int(DAY)), ACT)
        first, second = reserve(ledger, charge(0.25)), reserve(ledger, charge(0.25))
        clock.seconds -= 2 * DAY
        ledger.release(first)
        ledger.commit(second, b"noisy")
        assert ledger.budget("ada").epsilon_left >= 0.5
