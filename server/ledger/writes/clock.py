"""The ledger's time, which never goes back, and calendar renewals.

A wrong clock never stops the ledger. What a clock that ran ahead has lent is paid back:

1. While a process has the ledger open, time advances no faster than the machine's monotonic counter. Setting the
   clock forward changes nothing.
2. A process that opens the ledger trusts the clock, since nothing else shows how long no process ran.
3. If the clock is more than a minute behind the last entry, an earlier process trusted a clock that was ahead. The
   entry `clock` records the difference. From then on the ledger's time is the clock plus that difference. Every
   window in progress ends later by the difference, at most by its own length. So a window that was renewed too early
   is renewed next at the right time.

So a process that starts with a clock further ahead than before may lend each account one window's budget. The clock's
return takes it back by one window without a budget. Windows are as reliable as the machine's clock: without a
reliable clock, grant budgets without windows.

Calendar periods follow the clock itself. A period's budget is renewed only by the entry `renewed`, before the charge
that finds the period over, and only for a period later than every one that was spent. A clock that ran ahead lends
the budget of one period, however many it skipped. After the correction, the next period starts without a budget.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from server.ledger.analyst import Act
from server.ledger.balance import Balance
from server.ledger.entry import ClockNoted, Renewed
from server.ledger.store import Writing
from server.ledger.writes import account_rows
from server.ledger.writes.journal import Journal

TOLERANCE_MS = 60_000
"""Smaller differences between clocks are ignored: the ledger's time waits for them."""

_ACT = Act("proxy", "the clock is behind the ledger")


class Steady:
    """Limits how fast a clock advances. Any thread may use it.

    Args:
      elapsed_s: a monotonic counter of seconds that also runs while the machine sleeps.
    """

    def __init__(self, elapsed_s: Callable[[], float] = lambda: time.clock_gettime(time.CLOCK_BOOTTIME)) -> None:
        self._elapsed_s = elapsed_s
        self._since: tuple[int, float] | None = None

    def __call__(self, now_ms: int) -> int:
        """The clock's time, but at most the first time seen plus the time that has passed since."""
        elapsed_s = self._elapsed_s()
        if self._since is None:
            self._since = now_ms, elapsed_s
        first_ms, first_s = self._since
        return min(now_ms, first_ms + round((elapsed_s - first_s) * 1000))


class ClockBehind(Exception):
    """The clock is behind the ledger, which must be recorded before anything else."""


def check_clock(writing: Writing) -> None:
    """Raises ClockBehind if the store's clock was set back."""
    if _behind_ms(writing) > TOLERANCE_MS:
        raise ClockBehind


def note_clock(journal: Journal) -> None:
    """Record that the clock is behind, and delay every window in progress; nothing if it is recorded already."""
    writing = journal.writing
    behind_ms = _behind_ms(writing)
    if journal.done_before() is not None or behind_ms <= TOLERANCE_MS:
        return
    offset_ms = writing.head.at_ms - writing.now_ms
    journal.append(ClockNoted(offset_ms=offset_ms, behind_ms=behind_ms, by=_ACT.by, reason=_ACT.reason))
    for account in account_rows.all_balances(writing):
        delayed = account.at(journal.at_ms).delayed(behind_ms, writing.now_ms)
        if delayed != account:
            account_rows.update_spent(writing, delayed)


def _behind_ms(writing: Writing) -> int:
    return writing.head.at_ms - (writing.now_ms + writing.offset_ms)


_RENEWAL = Act("proxy", "the calendar's next period")


class RenewalDue(Exception):
    """The period of an account is over, which must be recorded before it pays."""


def check_renewed(journal: Journal, paying: tuple[Balance, ...]) -> None:
    """Raises RenewalDue if the period of an account is over."""
    if any(one.is_due(journal.utc_ms) for one in paying):
        raise RenewalDue


def note_renewals(journal: Journal) -> None:
    """Record the renewal of every account whose period is over."""
    if journal.done_before() is not None:
        return
    for account in account_rows.all_balances(journal.writing):
        if account.is_due(journal.utc_ms):
            renewed = account.renewed(journal.at_ms, journal.utc_ms)
            assert renewed.periods is not None, "what was renewed has periods"
            period = renewed.periods.current
            journal.append(Renewed(account=account.name, period=period, by=_RENEWAL.by, reason=_RENEWAL.reason))
            account_rows.update_spent(journal.writing, renewed)
