"""Who may connect, from the ledger."""

from __future__ import annotations

from typing import Protocol

from server.ledger_reads import LedgerReads
from server.pgwire.scram import Verifier


class Keys(Protocol):
    """The part of the ledger that knows verifiers."""

    def scram_verifier(self, analyst: str) -> str | None:
        """The enabled analyst's verifier, or None."""
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
        """The verifier of an analyst's key; None for nobody, for the disabled, and for keys older than verifiers."""
        written = await self._reads.call(self._keys.scram_verifier, analyst)
        return Verifier.parse(written) if written else None
