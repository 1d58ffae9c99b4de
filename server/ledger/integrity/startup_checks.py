"""What is checked of a ledger before it is used."""

from __future__ import annotations

from pathlib import Path

from server.errors import LedgerInvalid, LedgerMissing
from server.ledger.integrity.high_water_mark import HighWaterMark, read_marker, write_marker
from server.ledger.integrity.verify import verify
from server.ledger.store import Reading
from server.ledger.tables.entry_rows import hash_of, head

_RESTORE = "Restore the newest copy of the ledger: noisegate ledger restore --policy FILE DIRECTORY --reason WHY"

VERIFIED_AT_OPEN = 10_000
"""A ledger of up to so many entries is verified whole each time it is opened, a longer one by `ledger verify`."""


def check_marker(reading: Reading, identity: str, path: Path, name: str) -> None:
    """Whether the ledger is the one that the marker knows, and nothing of it is missing; marks it as it is now.

    Args:
      reading: a view in which nobody else writes, since others mark only what is durable by then.
      identity: the ledger's id.
      path: of the marker; without one the ledger is adopted.
      name: of the ledger, for errors.
    Raises: LedgerInvalid.
    """
    known = read_marker(path)
    last = head(reading)
    if known is not None and known.ledger != identity:
        raise LedgerInvalid(
            f"{name} is not the ledger that the marker {path.name} knows.",
            hint="Restore the ledger that belongs to this policy.",
        )
    if known is not None and not holds(reading, known):
        raise LedgerInvalid(
            f"{name} is an older copy, or went on from one: it lacks charges that the marker {path.name} knows.",
            hint="Restore the newest copy. If this is the newest: noisegate ledger restore --policy FILE DIRECTORY"
            " --reason WHY --forget-charges takes it, and undoes all that was charged and done since. Of a running"
            " proxy's ledger, only `noisegate ledger backup` makes copies that are whole.",
        )
    write_marker(path, HighWaterMark(identity, last.number, last.hash.hex()))


def check_entries(reading: Reading) -> None:
    """Verify a ledger that is not long. Raises LedgerInvalid."""
    if head(reading).number > VERIFIED_AT_OPEN:
        return
    if (fault := verify(reading).fault) is not None:
        raise LedgerInvalid(f"The ledger was edited. {fault}", hint=_RESTORE)


def gone(name: str) -> LedgerMissing:
    """The error of a ledger that the marker knows and that is not there."""
    return LedgerMissing(
        f"The ledger {name} is gone; starting without it would reset every budget.",
        hint=_RESTORE,
    )


def absent(name: str) -> LedgerMissing:
    """The error of a ledger that has never been there."""
    return LedgerMissing(
        f"There is no ledger {name} yet.",
        hint="Add an analyst first: noisegate analyst add NAME --policy FILE --epsilon 10",
    )


def holds(reading: Reading, known: HighWaterMark) -> bool:
    """Whether a ledger holds all that a marker knows of it."""
    if known.entries:
        link = hash_of(reading, known.entries)
        return link is not None and link.hex() == known.hash
    row = reading.row("SELECT coalesce(max(number), 0) FROM charges")
    return row is not None and known.charges <= row[0]
