"""However a clock moves, no more periods are spent than the calendar has, but for those that are still to come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from privacy.accounting.amounts import Charge as Amount
from server.ledger.account import Grant
from server.ledger.balance import Balance
from server.ledger.terms import Terms, period_at

DAY_MS = 86_400_000
EPSILON = 10**9
DAYS = st.lists(st.integers(0, 12), max_size=30)
"""Where the clock is whenever something is asked: before where it was, it is noted to have been ahead."""

AMOUNTS = st.lists(st.integers(0, EPSILON), min_size=31, max_size=31)


@given(days=DAYS)
def test_each_period_is_begun_once_and_a_loan_is_paid_back(days: list[int]) -> None:
    account = Balance.opened("dataset", Terms.of(Grant(1.0, renew="day", most_in_total=1e6)), 0, 0)
    now = begun = at_ms = 0
    for day in days:
        at_ms += DAY_MS  # the ledger's own time goes on
        if day < now:
            account = account.delayed((now - day) * DAY_MS, day * DAY_MS)
        now = day
        if account.is_due(day * DAY_MS):
            account = account.renewed(at_ms, day * DAY_MS)
            begun += 1
        assert account.periods is not None
        assert begun <= account.periods.current, "as many as there are up to the one that is spent"
        assert account.periods.current >= period_at("day", day * DAY_MS), "and it is never an earlier one"
    assert account.periods is not None
    for day in range(account.periods.current, account.periods.current + 3):  # once the calendar has come so far
        if account.is_due(day * DAY_MS):
            account = account.renewed(at_ms + day * DAY_MS, day * DAY_MS)
            begun += 1
        assert begun <= day


@given(days=st.lists(st.integers(0, 3), min_size=31, max_size=31), amounts=AMOUNTS, most=st.integers(1, 9))
def test_all_periods_come_to_no_more_than_the_total(days: list[int], amounts: list[int], most: int) -> None:
    account = Balance.opened("dataset", Terms.of(Grant(1.0, renew="day", most_in_total=most)), 0, 0)
    spent = day = 0
    for step, nano in zip(days, amounts, strict=True):
        day += step
        if account.is_due(day * DAY_MS):
            account = account.renewed(day * DAY_MS, day * DAY_MS)
        amount = Amount(nano)
        if account.admits(amount):
            account, spent = account.charged(amount, amount), spent + nano
        assert spent <= most * EPSILON
        so_far = account.shown.periods
        assert so_far is not None
        assert spent <= round(so_far.total_epsilon * EPSILON) <= most * EPSILON
