"""One charge of a ledger, which the pipeline takes with others or not at all."""

from __future__ import annotations

from server.ledger.charge import Charge, Reservation
from server.ledger.ledger import Ledger
from server.ledger.writes.journal import Journal
from server.ledger.writes.reserve import reservation_of, reserved


def reserve(ledger: Ledger, charge: Charge) -> Reservation:
    """Take a charge, whoever else has its question: what `Ledger.claim_all` does once it has looked for them.

    Raises: as `Ledger.claim_all`.
    """
    return ledger._reserved(_once, charge)


def claim(ledger: Ledger, charge: Charge) -> Reservation | None:
    """As `Ledger.claim_all`, of one charge."""
    claimed = ledger.claim_all((charge,))
    return None if claimed is None else claimed[0]


def _once(journal: Journal, charge: Charge) -> Reservation:
    done = journal.done_before()
    return reserved(journal, charge) if done is None else reservation_of(done, charge)
