"""Who may connect, from the ledger."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from server.pgwire.auth.scram import Verifier
from server.scheduling.ledger_reads import LedgerReads


class Keys(Protocol):
    """The part of the ledger that knows verifiers."""

    def scram_verifier(self, analyst: str, *, enabled: bool = True) -> str | None:
        """The verifier of an analyst who is enabled, or who is not; or None."""
        ...


class LedgerVerifiers:
    """Verifiers of the ledger's analysts.

    Args:
      keys: the ledger.
      reads: where the ledger is read.
    """

    def __init__(self, keys: Keys, reads: LedgerReads) -> None:
        self._keys = keys
        self._reads = reads

    async def verifier(self, analyst: str) -> Verifier | None:
        """The verifier of an analyst's key; None for nobody, and for keys older than verifiers.

        A name is no secret: who shows one stays a stranger until the key is proven.
        """
        for enabled in (True, False):
            written = await self._reads.of_stranger(self._keys.scram_verifier, analyst, enabled=enabled)
            if written:
                return replace(Verifier.parse(written), enabled=enabled)
        return None
