"""Taking a charge from all its accounts, or from none.

Claiming takes it only where nobody else has the question: one measurement, however many proxies share the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from privacy.accounting.amounts import Charge as Amount
from server.errors import DuplicateRequest, LedgerInvalid, UnknownAnalyst
from server.ledger.account import DATASET, analyst_account, group_account
from server.ledger.accounts.amounts import charged_delta, charged_epsilon
from server.ledger.accounts.balance import Balance
from server.ledger.accounts.currency import amount_of
from server.ledger.analyst import Analyst
from server.ledger.charge import Charge, Reservation
from server.ledger.entry_contents import EntryContent, Reserved
from server.ledger.store import Reading, Store
from server.ledger.tables import account_rows, charge_rows
from server.ledger.tables.account_rows import analyst
from server.ledger.writes.failure_limit import CLAIM_MS, asked_failures
from server.ledger.writes.journal import Journal
from server.ledger.writes.refusal import check_caps
from server.ledger.writes.release_limit import asked_given_back
from server.ledger.writes.renewal import check_renewed


@dataclass(frozen=True)
class Short:
    """A charge that does not fit.

    Attributes:
      accounts: those it does not fit, at least one.
      paying: all that would have paid.
    """

    accounts: tuple[Balance, ...]
    paying: tuple[Balance, ...]


def reserve(journal: Journal, charge: Charge) -> Reservation | Short:
    """Write the reservation; nothing is written for a charge that does not fit. Raises: as `Ledger.reserve`."""
    if (done := journal.done_before()) is not None:
        return _reservation(done, charge)
    return _reserved(journal, charge)


def _reservation(done: EntryContent, charge: Charge) -> Reservation:
    assert isinstance(done, Reserved), "what reserving has written"
    return Reservation(done.charge, charge)


def _reserved(journal: Journal, charge: Charge) -> Reservation | Short:
    last_number = charge_rows.asked_last_number(journal.writing)
    payer = _payer(journal.writing, charge.analyst)
    _check_unused(journal.writing, charge)
    _check_repeats(journal.writing, charge)
    names = paying_accounts(payer, releases=charge.repeats is None)
    paying = tuple(one.at(journal.at_ms) for one in account_rows.balances(journal.writing, names))
    check_renewed(journal, paying)
    check_caps(charge, paying)
    amounts = {one.terms.accounting: amount_of(one.terms.accounting, charge) for one in paying}
    if not all(one.admits(amounts[one.terms.accounting]) for one in paying):
        return shortage(charge, account_rows.balances(journal.writing, paying_accounts(payer)), journal.at_ms)
    number = last_number() + 1
    entry = journal.append(charge_rows.reserved_content(number, charge, paying, amounts))
    charge_rows.insert(journal.writing, number, entry, charge, journal.instance)
    basic = Amount(charged_epsilon(charge.epsilon), charged_delta(charge.delta))
    for one in paying:
        account_rows.update_spent(journal.writing, one.charged(amounts[one.terms.accounting], basic))
    return Reservation(number, charge)


def shortage(charge: Charge, accounts: Iterable[Balance], at_ms: int) -> Short:
    """Which accounts a charge does not fit, the dataset's among them even where it would not pay.

    A kept answer costs the dataset nothing. Said to somebody who cannot pay for it, that would tell for nothing that
    another analyst has asked the question.
    """
    every = tuple(one.at(at_ms) for one in accounts)
    short = tuple(one for one in every if not one.admits(amount_of(one.terms.accounting, charge)))
    return Short(short, every)


def paying_accounts(payer: Analyst, *, releases: bool = True) -> tuple[str, ...]:
    """The accounts that pay for an analyst's query; a kept answer that is served again costs the dataset nothing."""
    group = () if payer.group is None else (group_account(payer.group),)
    return (analyst_account(payer.name), *group, *((DATASET,) if releases else ()))


def _payer(reading: Reading, name: str) -> Analyst:
    payer = analyst(reading, name)
    if not payer.enabled:
        raise UnknownAnalyst("This analyst is disabled.", hint="Ask the custodian.")
    return payer


def _check_unused(reading: Reading, charge: Charge) -> None:
    if not charge.idempotency_key:
        return
    if charge_rows.by_idempotency_key(reading, charge.analyst, charge.idempotency_key) is not None:
        raise DuplicateRequest(
            "This idempotency key has made a charge already.", hint="Use a new key for a new request."
        )


def _check_repeats(reading: Reading, charge: Charge) -> None:
    """What is served again costs what it cost at first: the same epsilon, delta and event, for the same question."""
    if charge.repeats is None:
        return
    row = reading.row(
        "SELECT e.content FROM answers a JOIN charges c ON c.number = a.number JOIN entries e ON e.number = c.entry"
        " WHERE a.number = ? AND a.answer_key = ? AND c.state = 'committed'",
        *(charge.repeats, charge.answer_key),
    )
    if row is None:
        raise LedgerInvalid(f"There is no kept answer {charge.repeats} of this question.")
    first = charge_rows.charge_in(charge_rows.reserved_in(row[0]))
    if _price(first) != _price(charge):
        raise LedgerInvalid(f"The kept answer {charge.repeats} has another price.")


def _price(charge: Charge) -> tuple[object, ...]:
    return charged_epsilon(charge.epsilon), charged_delta(charge.delta), charge.event


_ANSWERED = "SELECT 1 FROM answers WHERE answer_key = ? LIMIT 1"

_PAID = (
    "SELECT 1 FROM charges WHERE answer_key = ? AND answer_key <> '' AND analyst = ? AND state = 'committed'"
    " AND (number = ? OR repeats = ?) LIMIT 1"
)

_OPEN = (
    "SELECT DISTINCT c.instance FROM charges c JOIN entries e ON e.number = c.entry"
    " WHERE c.state = 'reserved' AND c.answer_key = ? AND c.instance <> ? AND e.at_ms > ?"
)


def claim(journal: Journal, store: Store, charge: Charge) -> Reservation | Short | None:
    """As `reserve`; None, and nothing is written, where the answer is kept or another proxy is about to keep it.

    All writes of a ledger come one after another, so that of two proxies one is told of the other. A proxy that has
    died holds nobody up. One that only lost its sessions for a moment may be taken for dead: then the question is
    measured twice, and both charges stand.

    Raises: as `reserve`; and for a release TooManyFailures, TooManyOwnQueries and TooManyQueries (`failing`), and
      RateLimited (`giving_back`).
    """
    if (done := journal.done_before()) is not None:
        return _reservation(done, charge)
    return _claimed(journal, store, charge)


class NotAllClaimed(Exception):
    """Not all of several charges could be claimed, so that none is: raised to take back what was written.

    Attributes:
      short: the charge that does not fit, and by what; None where a question is answered or being answered.
    """

    def __init__(self, short: tuple[Charge, Short] | None) -> None:
        super().__init__()
        self.short = short


def claim_all(journal: Journal, store: Store, charges: Sequence[Charge]) -> tuple[Reservation, ...]:
    """As `claim` for several questions in one write: all of them, or none.

    Raises: as `claim`; NotAllClaimed.
    """
    if done := journal.all_done_before():
        return tuple(map(_reservation, done, charges))
    reservations = []
    for charge in charges:
        claimed = _claimed(journal, store, charge)
        if not isinstance(claimed, Reservation):
            raise NotAllClaimed(None if claimed is None else (charge, claimed))
        reservations.append(claimed)
    return tuple(reservations)


def _claimed(journal: Journal, store: Store, charge: Charge) -> Reservation | Short | None:
    assert charge.answer_key, "what is not kept cannot be claimed"
    if _is_done(journal, charge):
        return None
    checks = [limit(journal, charge) for limit in (asked_failures, asked_given_back) if charge.repeats is None]
    if _is_under_way(journal, store, charge):
        return None
    for check in checks:
        check()
    return _reserved(journal, charge)


def _is_done(journal: Journal, charge: Charge) -> bool:
    """The answer is kept; for one that is served again: this analyst has paid for it."""
    if charge.repeats is None:
        return journal.writing.row(_ANSWERED, charge.answer_key) is not None
    who = charge.analyst, charge.repeats, charge.repeats
    return journal.writing.row(_PAID, charge.answer_key, *who) is not None


def _is_under_way(journal: Journal, store: Store, charge: Charge) -> bool:
    """A proxy that lives is at it. What this one does at once is not the ledger's to know (`single_flight`)."""
    since = journal.at_ms - CLAIM_MS
    which, values = " AND c.repeats IS NULL", list[object]()
    if charge.repeats is not None:
        which, values = " AND c.repeats = ? AND c.analyst = ?", [charge.repeats, charge.analyst]
    rows = journal.writing.rows(_OPEN + which, charge.answer_key, journal.instance, since, *values)
    return any(not store.is_dead(journal.writing, instance) for (instance,) in rows)
