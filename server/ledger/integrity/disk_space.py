"""Whether the disk takes more, asked of the file system; and its refusals under our names."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from server.errors import LedgerFull, LedgerReadOnly, LedgerUnavailable

ROOM_BYTES = 1 << 20
"""What must be free: a hundred charges and their answers, with SQLite's log of them."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


def check_room(folder: Path) -> None:
    """Whether a file in the folder can grow by ROOM_BYTES; it is gone afterwards.

    Raises: LedgerFull, LedgerReadOnly, LedgerUnavailable.
    Cost: some ten microseconds; nothing is synced.
    """
    try:
        with tempfile.TemporaryFile(prefix=".room-", dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, ROOM_BYTES)
    except OSError as error:
        raise refused(error, "The ledger's folder could not be written.") from error


def refused(error: OSError, message: str) -> LedgerUnavailable:
    """The error of a file that could not be written: on a full disk, a read-only one, or for another reason."""
    if error.errno in _FULL:
        return LedgerFull(f"{message} The disk is full.")
    if error.errno in _READ_ONLY:
        return LedgerReadOnly(f"{message} It is read-only.")
    return LedgerUnavailable(message)
