"""The ledger's time, which never goes back, and the renewals that the calendar brings.

No wrong clock stops it, and one that ran ahead is paid back once noticed:

1. While a process has the ledger open, time passes no faster than by the machine's own counter, which nobody sets: a
   clock that is put forward meanwhile changes nothing.
2. A process that opens the ledger believes the clock as it is then. Nothing else tells how long no process ran.
3. Where the clock is more than a minute behind the last entry, a process before had believed one that was ahead (or
   this one is behind). The entry `clock` says so. From it on the ledger's time goes on with the clock, ahead of it by
   the difference; and every window in progress ends later by that difference, at most by its own length: what may
   have been renewed too early is renewed next only when it would have been.

So each process that begins while the clock is further ahead than before may lend each account one window's budget,
and the clock's return pays one of them back by a window without. Windows are as good as the clock of the machine that
the custodian runs: who cannot trust it gives budgets without windows.

Periods of the calendar are begun by the clock itself, not by the ledger's time, which may be ahead of it. What a
period may spend comes back by the entry `renewed` alone, written before the charge that finds the period over, and
only for a period later than every one that the account has spent. A clock that ran ahead lends each account the
budget of one period, however many were skipped; once it is noticed the account goes on in the period after the
present one, which begins without a budget of its own.
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
"""Clocks that differ by less are in order: the ledger waits for them."""

_ACT = Act("proxy", "the clock is behind the ledger")


class Steady:
    """Keeps times from passing faster than they do. Any thread may use it.

    Args:
      elapsed_s: a counter of seconds that nobody sets, and that goes on while the machine sleeps.
    """

    def __init__(self, elapsed_s: Callable[[], float] = lambda: time.clock_gettime(time.CLOCK_BOOTTIME)) -> None:
        self._elapsed_s = elapsed_s
        self._since: tuple[int, float] | None = None

    def __call__(self, now_ms: int) -> int:
        """A clock's time, but no later than the first one that was seen and what has passed since."""
        elapsed_s = self._elapsed_s()
        if self._since is None:
            self._since = now_ms, elapsed_s
        first_ms, first_s = self._since
        return min(now_ms, first_ms + round((elapsed_s - first_s) * 1000))


class ClockBehind(Exception):
    """The clock is behind the ledger, which has to be noted before anything else is written."""


def check_clock(writing: Writing) -> None:
    """Whether the ledger may go on by the store's clock. Raises ClockBehind where it has been set back."""
    if _behind_ms(writing) > TOLERANCE_MS:
        raise ClockBehind


def note_clock(journal: Journal) -> None:
    """Write that the clock is behind, and let every window in progress end later; nothing where it was noted."""
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
    """The period of an account is over, which has to be noted before it pays."""


def check_renewed(journal: Journal, paying: tuple[Balance, ...]) -> None:
    """Whether the accounts may pay. Raises RenewalDue where the period of one is over."""
    if any(one.is_due(journal.utc_ms) for one in paying):
        raise RenewalDue


def note_renewals(journal: Journal) -> None:
    """Write which accounts start again, all whose periods are over; nothing where it was noted."""
    if journal.done_before() is not None:
        return
    for account in account_rows.all_balances(journal.writing):
        if account.is_due(journal.utc_ms):
            renewed = account.renewed(journal.at_ms, journal.utc_ms)
            assert renewed.periods is not None, "what was renewed has periods"
            period = renewed.periods.current
            journal.append(Renewed(account=account.name, period=period, by=_RENEWAL.by, reason=_RENEWAL.reason))
            account_rows.update_spent(journal.writing, renewed)
