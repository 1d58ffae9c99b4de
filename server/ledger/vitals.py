"""How a ledger does, for whoever watches the proxy: counts, and no question."""

from __future__ import annotations

from dataclasses import dataclass

from server.ledger.charge import SHOWN_MS, shown_ms
from server.ledger.entry_contents import EntryKind
from server.ledger.store import Reading
from server.ledger.tables.entry_rows import head, ledger_time
from server.ledger.tables.schema import FAILURES


@dataclass(frozen=True)
class Vitals:
    """Counts of a ledger.

    Attributes:
      entries: how many there are.
      crashed, failed: charges that a crash cut off, and that failed and count against the limits.
      head_age_hours: how long ago the last entry was written, in whole hours, since when a question ends depends on
        the data.
    """

    entries: int
    crashed: int
    failed: int
    head_age_hours: int


def vitals(reading: Reading) -> Vitals:
    """As the ledger is now. Cost: one scan of the failures by their index."""
    last = head(reading)
    by_kind = dict(reading.rows(f"SELECT kind, count(*) FROM entries WHERE {FAILURES} GROUP BY kind"))
    age_ms = shown_ms(ledger_time(reading)) - shown_ms(last.at_ms)
    crashed, failed = (int(by_kind.get(kind.value, 0)) for kind in (EntryKind.CRASHED, EntryKind.FAILED))
    return Vitals(last.number, crashed, failed, age_ms // SHOWN_MS)
