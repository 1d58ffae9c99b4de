"""Settling what was reserved: answered, failed, given back, or cut off by a crash."""

from __future__ import annotations

import json
from typing import Literal

from server.errors import LedgerInvalid
from server.ledger import account_rows, answer_rows
from server.ledger.account import analyst_account
from server.ledger.balance import Balance
from server.ledger.charge import Reservation
from server.ledger.charge_rows import charge_in, payments_in
from server.ledger.journal import Journal
from server.ledger.store import Store

Settled = Literal["committed", "failed", "released"]


def settle(journal: Journal, reservation: Reservation, state: Settled, answer: bytes | None = None) -> Balance:
    """Write what became of a reservation of this instance, and keep its answer.

    Returns: the balance of the analyst's own account afterwards.
    Raises: LedgerInvalid when it is not reserved any more, or was never by this instance.
    """
    own = analyst_account(reservation.charge.analyst)
    balance = account_rows.asked_balance(journal.writing, own)  # only what is given back changes it
    if journal.done_before() is None:
        answer_key, entry = _reserved(journal, reservation.id, state)
        kept = answer if answer_key and state == "committed" and reservation.charge.repeats is None else None
        content = {"charge": reservation.id, "answer": None if kept is None else answer_rows.digest(kept)}
        _mark(journal, reservation.id, state, journal.append(state, content))
        if kept is not None:
            answer_rows.keep(journal.writing, reservation.id, answer_key, kept)
        if state == "released":
            _give_back(journal, entry)
            balance = account_rows.asked_balance(journal.writing, own)
    return balance().at(journal.at_ms)


def recover(journal: Journal, store: Store) -> tuple[Reservation, ...]:
    """Mark as crashed what dead instances left reserved; every charge stands. Returns it, by number."""
    rows = journal.writing.rows(
        "SELECT c.number, c.instance, e.content FROM charges c JOIN entries e ON e.number = c.entry"
        " WHERE c.state = 'reserved' ORDER BY c.number"
    )
    others = {instance for _, instance, _ in rows if instance != journal.instance}
    dead = {instance for instance in others if store.is_dead(journal.writing, instance)}
    left = [(number, text) for number, instance, text in rows if instance in dead]
    for number, _ in left:
        _mark(journal, number, "crashed", journal.append("crashed", {"charge": number, "answer": None}))
    return tuple(Reservation(number, charge_in(json.loads(text))) for number, text in left)


def _reserved(journal: Journal, number: int, state: Settled) -> tuple[str, int]:
    """The answer key and the entry of a charge that this instance may settle."""
    row = journal.writing.row(
        "SELECT answer_key, entry FROM charges WHERE number = ? AND state = 'reserved' AND instance = ?",
        *(number, journal.instance),
    )
    if row is None:
        raise LedgerInvalid(f"Charge {number} is not reserved, so it cannot be {state}.")
    return str(row[0]), int(row[1])


def _mark(journal: Journal, number: int, state: str, entry: int) -> None:
    journal.writing.run("UPDATE charges SET state = ?, settled_by = ? WHERE number = ?", state, entry, number)


def _give_back(journal: Journal, entry: int) -> None:
    row = journal.writing.row("SELECT content FROM entries WHERE number = ?", entry)
    assert row is not None, "a charge refers to its entry"
    payments = payments_in(json.loads(row[0]))
    for one in account_rows.balances(journal.writing, tuple(payments)):
        amount, started_ms = payments[one.name]
        account_rows.update_spent(journal.writing, one.at(journal.at_ms).refunded(amount, started_ms))
