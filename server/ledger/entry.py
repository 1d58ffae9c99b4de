"""An entry: the only thing that is ever written down; everything else in the ledger follows from the entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from server.ledger.charge import shown_ms
from server.ledger.entry_contents import EntryKind


@dataclass(frozen=True)
class Entry:
    """One line of the ledger.

    Attributes:
      number: from 1 without gaps.
      at_ms: milliseconds since the epoch; never before the entry before it, whatever the clock did.
      kind: what happened.
      content: what the kind says (`entry_contents.py`), as it is stored: the hash is over this form.
      hash: SHA-256 over the previous entry's hash and the canonical encoding of all of the above, 32 bytes.
    """

    number: int
    at_ms: int
    kind: EntryKind
    content: Mapping[str, object]
    hash: bytes

    @property
    def shown_at_ms(self) -> int:
        """When, as it may be shown: exactly for what custodians do, to the hour where it depends on the data."""
        exactly = self.kind.is_act and self.kind is not EntryKind.TUNED
        return self.at_ms if exactly else shown_ms(self.at_ms)


@dataclass(frozen=True)
class Verification:
    """What a walk over the whole ledger found.

    Attributes:
      entries: how many entries hold.
      head: the hash of the last entry that holds, in hex: noted elsewhere, it proves the whole ledger up to there.
      fault: what does not hold, or None.
    """

    entries: int
    head: str
    fault: str | None
