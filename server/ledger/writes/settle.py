"""Settling what was reserved: answered, failed, given back, or cut off by a crash."""

from __future__ import annotations

from typing import TypeAlias

from server.errors import SettledBefore
from server.ledger.account import analyst_account
from server.ledger.accounts.balance import Balance
from server.ledger.charge import Reservation
from server.ledger.entry_contents import Committed, Crashed, Failed, Released, Settlement
from server.ledger.store import Store
from server.ledger.tables import account_rows, charge_rows
from server.ledger.tables.charge_rows import basic_in, charge_in, payments_in, reserved_in
from server.ledger.writes.journal import Journal

Settled: TypeAlias = type[Committed] | type[Failed] | type[Released]
"""What a proxy makes of its own reservation."""


def settle(
    journal: Journal, reservation: Reservation, settled: Settled, answer: bytes | None = None, *, counts: bool = False
) -> Balance:
    """Write what became of a reservation of this instance, and keep its answer.

    Args:
      counts: is it a failure that counts against the limit?
    Returns: the balance of the analyst's own account afterwards.
    Raises: LedgerInvalid when it is not reserved any more, or was never by this instance.
    """
    own = analyst_account(reservation.charge.analyst)
    balance = account_rows.asked_balance(journal.writing, own)  # only what is given back changes it
    if journal.done_before() is None:
        answer_key, entry, analyst, plan_hash = _reservation_of(journal, reservation.id, settled)
        kept = answer if answer_key and settled is Committed and reservation.charge.repeats is None else None
        digest = None if kept is None else charge_rows.digest(kept)
        whose = {"analyst": analyst, "plan_hash": plan_hash} if counts else {}
        _mark(journal, settled(charge=reservation.id, answer=digest, **whose))
        if kept is not None:
            charge_rows.keep(journal.writing, reservation.id, answer_key, kept)
        if settled is Released:
            _give_back(journal, entry)
            balance = account_rows.asked_balance(journal.writing, own)
    return balance().as_of(journal.at_ms, journal.utc_ms)


def recover(journal: Journal, store: Store) -> tuple[Reservation, ...]:
    """Mark as crashed what dead instances left reserved; every charge stands. Returns it, by number."""
    rows = journal.writing.rows(
        "SELECT c.number, c.instance, c.analyst, c.plan_hash, e.content FROM charges c"
        " JOIN entries e ON e.number = c.entry"
        " WHERE c.state = 'reserved' ORDER BY c.number"
    )
    others = {instance for _, instance, *_ in rows if instance != journal.instance}
    dead = {instance for instance in others if store.is_dead(journal.writing, instance)}
    left = [row for row in rows if row[1] in dead]
    for number, _, analyst, plan_hash, _ in left:
        _mark(journal, Crashed(charge=number, answer=None, analyst=analyst, plan_hash=plan_hash))
    return tuple(Reservation(number, charge_in(reserved_in(text))) for number, *_, text in left)


def _reservation_of(journal: Journal, number: int, settled: Settled) -> tuple[str, int, str, str]:
    """The answer key, the entry, the analyst and the plan of a charge that this instance may settle."""
    row = journal.writing.row(
        "SELECT answer_key, entry, analyst, plan_hash FROM charges"
        " WHERE number = ? AND state = 'reserved' AND instance = ?",
        *(number, journal.instance),
    )
    if row is None:
        raise SettledBefore(f"Charge {number} is not reserved, so it cannot be {settled.kind}.")
    answer_key, entry, analyst, plan_hash = row
    return answer_key, entry, analyst, plan_hash


def _mark(journal: Journal, said: Settlement) -> None:
    values = said.kind.value, journal.append(said), said.charge
    journal.writing.run("UPDATE charges SET state = ?, settled_by = ? WHERE number = ?", *values)


def _give_back(journal: Journal, entry: int) -> None:
    row = journal.writing.row("SELECT content FROM entries WHERE number = ?", entry)
    assert row is not None, "a charge refers to its entry"
    reserved = reserved_in(row[0])
    payments, basic = payments_in(reserved), basic_in(reserved)
    for one in account_rows.balances(journal.writing, tuple(payments)):
        amount, started_ms = payments[one.name]
        account_rows.update_spent(journal.writing, one.at(journal.at_ms).refunded(amount, basic, started_ms))
