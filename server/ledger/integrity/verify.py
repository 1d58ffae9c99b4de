"""Whether a ledger is what its entries say: the chain whole, and every table worked out from it."""

from __future__ import annotations

from itertools import zip_longest

from planner.errors import PlannerError
from privacy.errors import PrivacyError
from server.ledger.analyst import Credentials
from server.ledger.entry import Verification
from server.ledger.integrity.replay import Contradiction, Replay, row_digest
from server.ledger.store import Head, Reading
from server.ledger.tables import account_rows
from server.ledger.tables.charge_rows import digest
from server.ledger.tables.entry_rows import stored_entries

_PAGE = 500
_IMPOSSIBLE = (Contradiction, KeyError, TypeError, ValueError, PrivacyError, PlannerError)


def verify(reading: Reading) -> Verification:
    """Walk all entries, then compare the tables with what follows from them.

    Cost: about a tenth of a millisecond per entry; memory: 16 bytes per charge.
    """
    replay, head = Replay(), Head()
    for entry in stored_entries(reading):
        if not entry.follows(head):
            return _verification(head, f"Entry {head.number + 1} was changed, moved or left out.")
        try:
            replay.apply(entry)
        except _IMPOSSIBLE:
            return _verification(head, f"Entry {entry.number} ({entry.kind}) contradicts those before it.")
        head = entry.head
    fault = _accounts_fault(reading, replay) or _analysts_fault(reading, replay) or _charges_fault(reading, replay)
    return _verification(head, fault or _identity_fault(reading) or _answers_fault(reading))


def _verification(head: Head, fault: str | None) -> Verification:
    return Verification(head.number, head.hash.hex(), fault)


def _accounts_fault(reading: Reading, replay: Replay) -> str | None:
    expected = [replay.balances[name] for name in sorted(replay.balances)]
    actual = sorted(account_rows.all_balances(reading), key=lambda account: account.name)
    for right, stored in zip_longest(expected, actual):
        if right != stored:
            name = min(account.name for account in (right, stored) if account is not None)
            return f"The account {name} is not what follows from the entries."
    return None


def _analysts_fault(reading: Reading, replay: Replay) -> str | None:
    rows = reading.rows("SELECT name, key_hash, scram_verifier, role, belongs_to, enabled FROM analysts")
    actual = {row[0]: [Credentials(row[1], row[2]).fingerprint, *row[3:]] for row in rows}
    different = {
        name for name in actual.keys() | replay.analysts.keys() if actual.get(name) != replay.analysts.get(name)
    }
    return f"The analyst {min(different)} is not what follows from the entries." if different else None


def _charges_fault(reading: Reading, replay: Replay) -> str | None:
    last = 0
    while rows := reading.rows(
        "SELECT c.number, c.entry, c.analyst, c.plan_hash, c.answer_key, c.idempotency_key, c.repeats, c.instance,"
        " c.state, c.settled_by, a.answer FROM charges c LEFT JOIN answers a ON a.number = c.number"
        f" WHERE c.number > ? ORDER BY c.number LIMIT {_PAGE}",
        last,
    ):
        for *fields, answer in rows:
            last += 1
            row = (*fields, None if answer is None else digest(bytes(answer)))
            if last > replay.n_charges or row_digest(row) != replay.digest(last):
                return f"The charge {fields[0]}, or its answer, is not what follows from the entries."
    return None if last == replay.n_charges else "Charges are missing."


def _identity_fault(reading: Reading) -> str | None:
    """The first entry says which ledger this is."""
    first = next(stored_entries(reading), None)
    row = reading.row("SELECT id FROM identity")
    there = first is not None and row is not None and f'"ledger":"{row[0]}"' in first.content
    return None if there else "The ledger does not begin as this one did."


def _answers_fault(reading: Reading) -> str | None:
    row = reading.row(
        "SELECT a.number FROM answers a LEFT JOIN charges c ON c.number = a.number"
        " WHERE c.number IS NULL OR c.answer_key <> a.answer_key LIMIT 1"
    )
    return None if row is None else f"The kept answer {row[0]} belongs to no such charge."
