"""Taking a charge only where nobody else has the question: one measurement, however many proxies share the ledger."""

from __future__ import annotations

from server.ledger.charge import Charge, Reservation
from server.ledger.journal import Journal
from server.ledger.reserving import Short, reserve
from server.ledger.store import Store

CLAIM_MS = 600_000
"""A reservation that is older holds nobody up: no question takes so long, so its proxy could not settle it."""

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

    Raises: as `reserve`.
    """
    assert charge.answer_key, "what is not kept cannot be claimed"
    if journal.done_before() is None and (_is_done(journal, charge) or _is_under_way(journal, store, charge)):
        return None
    return reserve(journal, charge)


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
