"""Renewals by the calendar: an account whose period is over starts again from nothing, and an entry says so.

What a period may spend comes back by that entry alone, never by arithmetic over times. It is written where a charge
finds an account whose period is over, before the charge, and only for a period later than every one that the account
has spent: a clock that goes back renews nothing (`ledger_clock.py` says what becomes of one that ran ahead).
"""

from __future__ import annotations

from server.ledger.accounts.balance import Balance
from server.ledger.analyst import Act
from server.ledger.entry_contents import Renewed
from server.ledger.tables import account_rows
from server.ledger.writes.journal import Journal

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
