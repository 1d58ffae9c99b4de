"""Taking a charge from all its accounts, or from none."""

from __future__ import annotations

import json
from dataclasses import dataclass

from server.errors import DuplicateRequest, LedgerInvalid, UnknownAnalyst
from server.ledger import account_rows, charge_rows
from server.ledger.account import DATASET, analyst_account, group_account
from server.ledger.amounts import charged_delta, charged_epsilon
from server.ledger.analyst import Analyst
from server.ledger.analyst_rows import analyst
from server.ledger.balance import Balance
from server.ledger.charge import Charge, Reservation
from server.ledger.currency import amount_of
from server.ledger.exhausted import too_expensive
from server.ledger.journal import Journal
from server.ledger.store import Reading


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
        return Reservation(done["charge"], charge)
    last_number = charge_rows.asked_last_number(journal.writing)
    payer = _payer(journal.writing, charge.analyst)
    _check_unused(journal.writing, charge)
    _check_repeats(journal.writing, charge)
    names = paying_accounts(payer, releases=charge.repeats is None)
    paying = tuple(one.at(journal.at_ms) for one in account_rows.balances(journal.writing, names))
    _check_caps(charge, paying)
    amounts = {one.terms.accounting: amount_of(one.terms.accounting, charge) for one in paying}
    short = tuple(one for one in paying if not one.admits(amounts[one.terms.accounting]))
    if short:
        return Short(short, paying)
    number = last_number() + 1
    entry = journal.append("reserved", charge_rows.reserved_content(number, charge, paying, amounts))
    charge_rows.insert(journal.writing, number, entry, charge, journal.instance)
    for one in paying:
        account_rows.update_spent(journal.writing, one.charged(amounts[one.terms.accounting]))
    return Reservation(number, charge)


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
    first = charge_rows.charge_in(json.loads(row[0]))
    if _price(first) != _price(charge):
        raise LedgerInvalid(f"The kept answer {charge.repeats} has another price.")


def _price(charge: Charge) -> tuple[object, ...]:
    return charged_epsilon(charge.epsilon), charged_delta(charge.delta), charge.event


def _check_caps(charge: Charge, paying: tuple[Balance, ...]) -> None:
    for one in paying:
        cap = one.terms.nano_cap
        if cap is not None and charged_epsilon(charge.epsilon) > cap:
            raise too_expensive(charge, one, cap)
