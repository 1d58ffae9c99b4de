"""Who has the ledger open: locks that the operating system drops when a process dies, however it dies."""

from __future__ import annotations

import fcntl
from pathlib import Path

from server.errors import LedgerUnavailable
from server.ledger.integrity.disk_space import refused


class ProcessLock:
    """A locked file beside the ledger, held as long as an instance has the ledger open.

    A reservation may be called crashed only when the instance that made it can settle it no more; that is when its
    file is gone or its lock can be had. The lock guards that one decision; the budget never depends on it.

    Args:
      ledger: the ledger's file.
      instance: unique; its file is locked before it makes its first reservation.
    """

    def __init__(self, ledger: Path, instance: str) -> None:
        self._ledger = ledger
        self._path = self._file_of(instance)
        try:
            hidden = ledger.with_name(f".{self._path.name}")
            self._file = hidden.open("ab")
            fcntl.flock(self._file, fcntl.LOCK_EX)
            hidden.rename(self._path)  # nobody ever sees the file of a living instance unlocked
        except OSError as error:
            raise refused(error, "The ledger's folder could not be written.") from error
        prefix = self._file_of("").name
        for name in [path.name for path in ledger.parent.iterdir() if path.name.startswith(prefix)]:
            self.is_dead(name.removeprefix(prefix))  # who was killed leaves a file

    def is_dead(self, instance: str) -> bool:
        """Whether an instance that made a reservation has ended. Raises: LedgerUnavailable."""
        path = self._file_of(instance)
        try:
            with path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)
        except BlockingIOError:
            return False
        except FileNotFoundError:
            return True
        except OSError as error:
            raise LedgerUnavailable("The ledger's folder could not be read.") from error
        return True

    def _file_of(self, instance: str) -> Path:
        return self._ledger.with_name(f"{self._ledger.name}-open-{instance}")

    def close(self) -> None:
        """Let go; twice is once."""
        if not self._file.closed:
            self._path.unlink(missing_ok=True)
            self._file.close()


def is_open(ledger: Path) -> bool:
    """Whether some living process has the ledger open. Raises: LedgerUnavailable."""
    for path in ledger.parent.glob(f"{ledger.name}-open-*"):
        try:
            with path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except FileNotFoundError:
            continue
        except OSError as error:
            raise LedgerUnavailable("The ledger's folder could not be read.") from error
    return False
