"""Budgets that are renewed by the calendar: by an entry, once per period, and never beyond the total."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from planner.errors import InvalidSetting
from privacy.accounting.event import ZCDP
from server.errors import BudgetExhausted
from server.ledger.account import UNLIMITED, AccountBalance, Grant, guarantee
from server.ledger.analyst import key_hash
from server.ledger.entry import EntryKind
from server.ledger.ledger import Ledger
from tests.support.charging import reserve
from tests.unit.server.ledger.charges import ACT, charge
from tests.unit.server.ledger.suite.ledger_case import Clock, LedgerCase, Reopen

MONTHLY = Grant(1.0, 1e-6, renew="month", most_in_total=3.5)


def at(clock: Clock, *moment: int) -> None:
    clock.seconds = datetime(*moment, tzinfo=UTC).timestamp()  # type: ignore[misc, arg-type]


def own(ledger: Ledger) -> AccountBalance:
    return next(one for one in ledger.accounts("ada") if one.name == "analyst:ada")


def spend(ledger: Ledger, epsilon: float = 1.0) -> None:
    ledger.commit(reserve(ledger, charge(epsilon)))


def is_spent(ledger: Ledger) -> None:
    with pytest.raises(BudgetExhausted):
        reserve(ledger, charge(0.5))


def renewals(ledger: Ledger) -> int:
    return [entry.kind for entry in ledger.entries()].count(EntryKind.RENEWED)


class Renewals(LedgerCase):
    def test_a_month_starts_again_by_an_entry(self, ledger: Ledger, clock: Clock, reopen: Reopen) -> None:
        at(clock, 2024, 1, 31, 23)
        ledger.grant("analyst:ada", MONTHLY, ACT)
        spend(ledger)
        is_spent(ledger)
        at(clock, 2024, 2, 1, 0, 0)
        assert ledger.budget("ada").epsilon_left == 1.0, "who reads sees what a charge would find"
        assert renewals(ledger) == 0, "and reading writes nothing"
        spend(ledger, 0.25)
        spend(ledger, 0.25)
        assert renewals(ledger) == 1
        said = next(entry for entry in ledger.entries() if entry.kind is EntryKind.RENEWED)
        assert (said.content["account"], said.content["period"]) == ("analyst:ada", 12 * 2024 + 1)
        again = reopen()
        assert again.budget("ada").epsilon_left == 0.5
        periods = own(again).periods
        assert periods is not None
        assert (periods.name, periods.past_epsilon, periods.total_epsilon) == ("2024-02", 1.0, 2.0)
        assert own(again).renews_at_ms == datetime(2024, 3, 1, tzinfo=UTC).timestamp() * 1000

    def test_months_without_questions_come_to_nothing(self, ledger: Ledger, clock: Clock) -> None:
        at(clock, 2024, 1, 5)
        ledger.grant("analyst:ada", MONTHLY, ACT)
        spend(ledger, 0.5)
        at(clock, 2024, 11, 5)
        spend(ledger, 1.0)
        periods = own(ledger).periods
        assert periods is not None and (periods.name, periods.past_epsilon) == ("2024-11", 0.5)
        assert renewals(ledger) == 1

    def test_renewal_stops_at_the_total(self, ledger: Ledger, clock: Clock) -> None:
        at(clock, 2024, 1, 5)
        ledger.grant("analyst:ada", MONTHLY, ACT)
        for month in (1, 2, 3):
            at(clock, 2024, month, 5)
            spend(ledger)
        assert own(ledger).renews_at_ms is not None
        at(clock, 2024, 4, 5)
        assert own(ledger).epsilon_left == 0.5, "half of a month is left of 3.5"
        with pytest.raises(BudgetExhausted, match=r"only epsilon 0\.5 is left"):
            reserve(ledger, charge(0.6))
        spend(ledger, 0.5)
        assert own(ledger).renews_at_ms is None
        at(clock, 2024, 5, 5)
        assert own(ledger).epsilon_left == 0.0
        with pytest.raises(BudgetExhausted) as refused:
            reserve(ledger, charge(1e-9))
        assert refused.value.hint is not None and "--most-in-total" in refused.value.hint
        ledger.grant("analyst:ada", Grant(1.0, 1e-6, renew="month", most_in_total=4.0), ACT)
        spend(ledger, 0.5)
        is_spent(ledger)

    def test_the_total_of_deltas_is_that_of_so_many_periods(self, ledger: Ledger, clock: Clock) -> None:
        at(clock, 2024, 1, 5)
        ledger.grant("analyst:ada", Grant(1.0, 1e-6, renew="day", most_in_total=2.0), ACT)
        for day in (5, 6):
            at(clock, 2024, 1, day)
            ledger.commit(reserve(ledger, charge(0.001, 1e-6)))
        at(clock, 2024, 1, 7)
        with pytest.raises(BudgetExhausted, match="delta"):
            reserve(ledger, charge(0.001, 1e-6))
        spend(ledger, 0.001)

    def test_nothing_bounds_what_is_said_to_be_unlimited(self, ledger: Ledger, clock: Clock) -> None:
        at(clock, 2024, 1, 5)
        with pytest.raises(InvalidSetting, match="all periods"):
            ledger.grant("analyst:ada", Grant(1.0, renew="day"), ACT)
        ledger.grant("analyst:ada", Grant(1.0, renew="day", most_in_total=UNLIMITED), ACT)
        for day in range(5, 25):
            at(clock, 2024, 1, day)
            spend(ledger)
        periods = own(ledger).periods
        assert periods is not None and (periods.past_epsilon, periods.most_in_total) == (19.0, UNLIMITED)

    @pytest.mark.parametrize("ahead_months", [1, 15])
    def test_a_clock_that_ran_ahead_lends_one_month(
        self, ledger: Ledger, reopen: Reopen, clock: Clock, ahead_months: int
    ) -> None:
        """By the end of each true month no more is spent than the months have, but for the one that was lent."""
        at(clock, 2024, 1, 5)
        ledger.grant("analyst:ada", Grant(1.0, renew="month", most_in_total=UNLIMITED), ACT)
        spend(ledger)
        at(clock, 2024 + ahead_months // 12, 1 + ahead_months % 12, 5)
        spend(reopen())  # lent
        at(clock, 2024, 1, 6)
        is_spent(reopen())
        at(clock, 2024, 2, 6)  # which was lent
        is_spent(ledger)
        at(clock, 2024, 3, 6)
        spend(reopen())
        is_spent(ledger)
        at(clock, 2024, 4, 6)
        spend(ledger)

    def test_each_loan_is_paid_back(self, ledger: Ledger, reopen: Reopen, clock: Clock) -> None:
        at(clock, 2024, 1, 5)
        ledger.grant("analyst:ada", Grant(1.0, renew="month", most_in_total=UNLIMITED), ACT)
        spend(ledger)
        for _ in range(2):
            at(clock, 2024, 7, 5)
            spend(reopen())
            at(clock, 2024, 1, 6)
            is_spent(reopen())
        for month in (2, 3):
            at(clock, 2024, month, 6)
            is_spent(ledger)
        at(clock, 2024, 4, 6)
        spend(ledger)

    def test_a_clock_that_goes_back_within_a_month_renews_nothing(self, ledger: Ledger, clock: Clock) -> None:
        at(clock, 2024, 3, 31)
        ledger.grant("analyst:ada", MONTHLY, ACT)
        at(clock, 2024, 4, 1)
        spend(ledger)
        for _ in range(2):
            at(clock, 2024, 3, 31, 12)
            is_spent(ledger)
            at(clock, 2024, 4, 1, 12)
            is_spent(ledger)
        assert renewals(ledger) == 1

    def test_what_is_given_back_later_is_not_of_the_new_period(self, ledger: Ledger, clock: Clock) -> None:
        at(clock, 2024, 1, 31)
        ledger.grant("analyst:ada", MONTHLY, ACT)
        early = reserve(ledger, charge(0.5))
        at(clock, 2024, 2, 1)
        reserve(ledger, charge(0.75))
        ledger.release(early)
        assert ledger.budget("ada").epsilon_left == 0.25
        same = reserve(ledger, charge(0.25))
        ledger.release(same)
        assert ledger.budget("ada").epsilon_left == 0.25

    def test_all_who_pay_are_renewed_before_the_charge(self, ledger: Ledger, clock: Clock) -> None:
        at(clock, 2024, 1, 31)
        ledger.grant("analyst:ada", MONTHLY, ACT)
        ledger.grant("dataset", Grant(1.0, 1e-6, "zcdp", renew="month", most_in_total=2.0), ACT)
        spend(ledger, 0.125)
        at(clock, 2024, 2, 1)
        spend(ledger, 0.125)
        assert renewals(ledger) == 2
        kinds = [entry.kind for entry in ledger.entries()][-4:]
        assert kinds == [EntryKind.RENEWED, EntryKind.RENEWED, EntryKind.RESERVED, EntryKind.COMMITTED]

    @pytest.mark.parametrize("accounting", ["zcdp", "renyi"])
    def test_a_period_that_spent_counts_as_its_grant_where_charges_do_not_add_up(
        self, ledger: Ledger, clock: Clock, accounting: str
    ) -> None:
        at(clock, 2024, 1, 31)
        monthly = Grant(1.0, 1e-6, accounting, renew="month", most_in_total=2.5)  # type: ignore[arg-type]
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0, grant=monthly)
        noise = charge(0.25, analyst="eve", event=ZCDP(0.001))
        for month in (2, 4, 6):
            at(clock, 2024, month, 1)
            ledger.commit(reserve(ledger, noise))
        (eve,) = ledger.accounts("eve")
        assert eve.periods is not None and eve.basic is not None
        assert (eve.periods.past_epsilon, eve.periods.epsilon) == (2.0, 0.5)
        assert eve.basic.epsilon_left == 0.25
        at(clock, 2024, 7, 1)
        with pytest.raises(BudgetExhausted):
            reserve(ledger, noise)

    def test_a_grant_below_what_was_spent_does_not_lower_the_guarantee(self, ledger: Ledger, clock: Clock) -> None:
        at(clock, 2024, 1, 30)
        spend(ledger)
        ledger.grant("analyst:ada", Grant(0.5), ACT)
        found = own(ledger)
        assert (found.epsilon_left, found.overspent) == (0.0, (1.0, 0.0))
        assert guarantee(found) == "epsilon 1, which was spent before the grant was lowered to epsilon 0.5"
        ledger.grant("analyst:ada", Grant(0.5, renew="month", most_in_total=0.75), ACT)
        assert guarantee(own(ledger)).endswith("; at most epsilon 1 in total, where renewal stops")
        ledger.grant("analyst:ada", Grant(2.0, renew="month", most_in_total=4.0), ACT)
        assert "2 per month" in guarantee(own(ledger))
        ledger.add_analyst("bob", key_hash("ng_bob"), 1.0, 0.0, grant=Grant(1.0, window_s=86_400))
        ledger.commit(reserve(ledger, charge(1.0, analyst="bob")))
        ledger.grant("analyst:bob", Grant(0.5, window_s=86_400), ACT)
        told = guarantee(ledger.accounts("bob")[0])
        assert told.startswith("epsilon 1, which was spent") and told.endswith("k windows are k budgets")
        noise = Grant(1.0, 1e-6, "zcdp")
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0, grant=noise)
        ledger.commit(reserve(ledger, charge(0.125, analyst="eve")))
        (eve,) = ledger.accounts("eve")
        assert eve.overspent is None, "and no more than was granted"
        ledger.grant("analyst:eve", Grant(0.0625, 1e-6, "zcdp"), ACT)
        assert "0.125, delta 1e-06, which was spent" in guarantee(ledger.accounts("eve")[0])

    def test_a_lowered_grant_does_not_lower_what_a_period_came_to(self, ledger: Ledger, clock: Clock) -> None:
        at(clock, 2024, 1, 31)
        monthly = Grant(1.0, 1e-6, "zcdp", renew="month", most_in_total=9.0)
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0, grant=monthly)
        ledger.commit(reserve(ledger, charge(0.125, analyst="eve")))
        ledger.grant("analyst:eve", Grant(0.5, 1e-7, "zcdp", renew="month", most_in_total=9.0), ACT)
        at(clock, 2024, 2, 1)
        (eve,) = ledger.accounts("eve")
        assert eve.periods is not None
        assert (eve.periods.past_epsilon, eve.periods.past_delta) == (1.0, 1e-6)

    def test_what_was_spent_before_there_were_periods_counts_in_the_first(self, ledger: Ledger, clock: Clock) -> None:
        at(clock, 2024, 1, 30)
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0, grant=Grant(3.0, 1e-6, "zcdp"))
        ledger.commit(reserve(ledger, charge(0.25, analyst="eve")))
        ledger.grant("analyst:eve", Grant(0.5, 1e-7, "zcdp", renew="month", most_in_total=9.0), ACT)
        at(clock, 2024, 2, 1)
        (eve,) = ledger.accounts("eve")
        assert eve.periods is not None and eve.periods.past_epsilon == 3.0

    def test_what_was_spent_stays_when_the_period_is_changed(self, ledger: Ledger, clock: Clock) -> None:
        at(clock, 2024, 1, 30)
        spend(ledger)
        ledger.grant("analyst:ada", MONTHLY, ACT)
        is_spent(ledger)
        ledger.grant("analyst:ada", Grant(1.0, renew="day", most_in_total=2.0), ACT)
        is_spent(ledger)
        at(clock, 2024, 1, 31)
        spend(ledger)
        at(clock, 2024, 2, 1)
        is_spent(ledger)
        ledger.grant("analyst:ada", Grant(1.0), ACT)
        assert guarantee(own(ledger)) == "epsilon 1 from now on, and epsilon 2 before it"
        spend(ledger)
        is_spent(ledger)
        with pytest.raises(InvalidSetting, match="cannot have windows"):
            ledger.grant("analyst:ada", Grant(1.0, window_s=60), ACT)

    def test_what_no_account_keeps_is_refused(self, ledger: Ledger) -> None:
        cases: list[Grant] = [
            Grant(1.0, most_in_total=2.0),
            Grant(1.0, renew="day", most_in_total=0.5),
            Grant(1.0, renew="day", most_in_total=2.0, window_s=60),
        ]
        for grant in cases:
            with pytest.raises(InvalidSetting):
                ledger.grant("dataset", grant, ACT)

    def test_windows_never_become_a_total(self, ledger: Ledger, clock: Clock) -> None:
        """What ended windows spent is not kept, so that a total would leave it out."""
        ledger.grant("analyst:ada", Grant(1.0, window_s=86_400), ACT)
        for grant in (Grant(2.0), Grant(1.0, renew="month", most_in_total=3.0)):
            with pytest.raises(InvalidSetting, match="no total"):
                ledger.grant("analyst:ada", grant, ACT)
        ledger.grant("analyst:ada", Grant(2.0, window_s=36_500 * 86_400), ACT)
        assert "in total nothing bounds it" in guarantee(own(ledger))

    def test_the_outlook_is_by_the_last_ten(self, ledger: Ledger) -> None:
        assert ledger.remaining_questions("ada").questions_left is None
        ledger.grant("analyst:ada", Grant(10.0, 1e-6), ACT)
        spend(ledger, 4.0)  # no longer among the last ten
        for _ in range(10):
            spend(ledger, 0.25)
        ledger.release(reserve(ledger, charge(3.0)))  # costs nothing
        found = ledger.remaining_questions("ada")
        assert (found.questions_left, found.like, found.limited_by) == (14, 10, "analyst:ada")
        ledger.grant("dataset", Grant(1.0), ACT)
        found = ledger.remaining_questions("ada")
        assert (found.questions_left, found.limited_by) == (4, "dataset")
        for _ in range(4):
            spend(ledger, 0.25)
        assert ledger.remaining_questions("ada").questions_left == 0
        is_spent(ledger)

    @pytest.mark.parametrize("accounting", ["zcdp", "renyi"])
    def test_the_outlook_holds_in_the_accounts_own_currency(self, ledger: Ledger, accounting: str) -> None:
        grant = Grant(1.0, 1e-6, accounting)  # type: ignore[arg-type]
        ledger.add_analyst("eve", key_hash("ng_eve"), 1.0, 0.0, grant=grant)
        noise = charge(0.25, analyst="eve", event=ZCDP(0.0005))
        ledger.commit(reserve(ledger, noise))
        left = ledger.remaining_questions("eve").questions_left
        assert left is not None and left > 4, "basic composition would have three"
        for _ in range(left):
            ledger.commit(reserve(ledger, noise))
        with pytest.raises(BudgetExhausted):
            reserve(ledger, noise)
