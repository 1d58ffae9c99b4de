"""An entry: the only thing that is ever written down; everything else in the ledger follows from the entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One line of the ledger.

    Attributes:
      number: from 1 without gaps.
      at_ms: milliseconds since the epoch; never before the entry before it, whatever the clock did.
      kind: `opened`, `reserved`, `committed`, `failed`, `released`, `crashed`, `analyst`, `key`, `role`, `enabled`,
        `group`, `grant`, `policy` or `data`.
      content: what the kind says; strings, whole numbers, booleans, None, and lists and objects of them.
      hash: SHA-256 over the previous entry's hash and the canonical encoding of all of the above, 32 bytes.
    """

    number: int
    at_ms: int
    kind: str
    content: Mapping[str, object]
    hash: bytes


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
