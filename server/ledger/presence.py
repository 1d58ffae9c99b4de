"""Who has the ledger open: a lock that the operating system drops when a process dies, however it dies."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Presence:
    """A shared lock on a file beside the ledger, held as long as the ledger is open.

    A reservation can only be called crashed when nobody who could still settle it is alive; that is when the lock
    can be had alone. The lock is advisory and guards that one decision; the budget never depends on it.
    """

    def __init__(self, ledger: Path) -> None:
        self._file = ledger.with_name(ledger.name + "-lock").open("ab")
        fcntl.flock(self._file, fcntl.LOCK_SH)

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether nobody else has the ledger open; nobody can open it meanwhile."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            alone = True
        except BlockingIOError:
            alone = False
        try:
            yield alone
        finally:
            fcntl.flock(self._file, fcntl.LOCK_SH)  # a refused upgrade has lost the shared lock too

    def close(self) -> None:
        """Let go; twice is once."""
        self._file.close()
