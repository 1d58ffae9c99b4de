"""The limit on what is given back: a charge that is released costs nothing and stays in the ledger for ever."""

from __future__ import annotations

from collections.abc import Callable

from server.errors import RateLimited
from server.ledger.charge import Charge
from server.ledger.writes.journal import Journal

MAX_GIVEN_BACK = 40
"""So many charges of an analyst one after another, none of which stood, are made as quickly as they are asked for."""

PAUSE_MS = 10_000
"""Between two further ones. A reservation with its release takes some 1.4 KB, so that an analyst who is never charged
makes the ledger grow by half a megabyte an hour at most."""

_NEWEST = (
    "SELECT c.state, e.at_ms FROM charges c JOIN entries e ON e.number = c.entry WHERE c.analyst = ?"
    f" ORDER BY c.number DESC LIMIT {MAX_GIVEN_BACK}"
)


def asked_given_back(journal: Journal, charge: Charge) -> Callable[[], None]:
    """What refuses a charge after too many that were given back; asked for beside other questions.

    Raises: the returned function: RateLimited, with the seconds until the next one is taken; nothing is charged.
    Cost: MAX_GIVEN_BACK rows by an index.
    """
    newest = journal.writing.asked(_NEWEST, charge.analyst)

    def check() -> None:
        rows = newest()
        if len(rows) < MAX_GIVEN_BACK or any(state not in ("reserved", "released") for state, _ in rows):
            return
        wait_ms = rows[0][1] + PAUSE_MS - journal.at_ms
        if wait_ms > 0:
            raise RateLimited(f"none of your last {MAX_GIVEN_BACK} questions could be begun", -(-wait_ms // 1000))

    return check
