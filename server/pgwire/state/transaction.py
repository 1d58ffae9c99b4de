"""Transactions as drivers see them. Nothing is written here, so only the state exists."""

from __future__ import annotations

from server.pgwire.codec.encode import TransactionStatus


class TransactionState:
    """Idle, open, or failed.

    Attributes:
      open: between BEGIN and COMMIT or ROLLBACK.
      failed: after an error inside.
    """

    def __init__(self) -> None:
        self.open = False
        self.failed = False

    @property
    def status(self) -> TransactionStatus:
        """As ReadyForQuery says it."""
        return "E" if self.failed else "T" if self.open else "I"

    def fail(self) -> None:
        """An error: the rest of an open transaction is refused."""
        self.failed = self.open

    def apply(self, kind: str) -> None:
        """BEGIN, COMMIT, ROLLBACK, or a savepoint; going back to one mends the transaction."""
        if kind == "begin":
            self.open = True
        elif kind in ("commit", "rollback"):
            self.open = self.failed = False
        elif kind == "rollback to":
            self.failed = False
