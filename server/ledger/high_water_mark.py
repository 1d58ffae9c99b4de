"""The marker: a small file beside the policy that records which ledger exists and how many entries it has.

Without it, deleting the ledger or restoring an old copy would give back every spent budget. By its hash it also
detects an old copy that went on differently. It is written before every change and when the ledger is closed. So an
old copy goes unnoticed only if it lacks nothing but the last change of a killed process.

It is overwritten in place, within one disk sector, and not synced. A killed process loses nothing. After a power cut
it may be seconds old, but never ahead of the ledger.
"""

from __future__ import annotations

import errno
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from server.errors import LedgerFull, LedgerInvalid, LedgerReadOnly, LedgerUnavailable

ROOM_BYTES = 1 << 20
"""The free space that is required: about a hundred charges with answers, and SQLite's log of them."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


def check_room(folder: Path) -> None:
    """Check that a file in the folder can grow by ROOM_BYTES.

    Raises: LedgerFull, LedgerReadOnly, LedgerUnavailable.
    Cost: about ten microseconds; nothing is synced.
    """
    try:
        with tempfile.TemporaryFile(prefix=".room-", dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, ROOM_BYTES)
    except OSError as error:
        raise refused(error, "The ledger's folder could not be written.") from error


def refused(error: OSError, message: str) -> LedgerUnavailable:
    """The ledger's error for an OSError of a write: full, read-only or unavailable."""
    if error.errno in _FULL:
        return LedgerFull(f"{message} The disk is full.")
    if error.errno in _READ_ONLY:
        return LedgerReadOnly(f"{message} It is read-only.")
    return LedgerUnavailable(message)


_LENGTH = 256
"""Bytes of every marker, so that a new one covers the old one."""


@dataclass(frozen=True)
class HighWaterMark:
    """What the marker records.

    Attributes:
      entries: how many entries the ledger has at least.
      hash: of the last of them, in hex.
    """

    ledger: str
    entries: Annotated[int, Field(ge=0)]
    hash: str


_MARKER = TypeAdapter(HighWaterMark)


def read_marker(path: Path) -> HighWaterMark | None:
    """Read the marker; None if there is none. Raises LedgerInvalid if it is malformed."""
    try:
        return _MARKER.validate_json(path.read_bytes(), strict=True)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerUnavailable("The ledger's marker could not be read.") from error
    except ValidationError as error:
        hint = "Restore it from a backup."
        raise LedgerInvalid(f"The ledger's marker {path.name} is unreadable.", hint=hint) from error


def write_marker(path: Path, marker: HighWaterMark) -> None:
    """Create or overwrite the marker. Cost: about ten microseconds. Raises LedgerUnavailable."""
    try:
        descriptor = os.open(path, os.O_WRONLY)
        try:
            os.pwrite(descriptor, _bytes(marker), 0)
            if os.fstat(descriptor).st_size != _LENGTH:
                os.ftruncate(descriptor, _LENGTH)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        _make_marker(path, marker)
    except OSError as error:
        raise refused(error, "The ledger's marker could not be written.") from error


def sync_marker(path: Path) -> None:
    """Make the last written marker durable. Raises LedgerUnavailable."""
    try:
        _sync(path, os.O_RDONLY)
    except OSError as error:
        raise refused(error, "The ledger's marker could not be written.") from error


def sync_directory(path: Path) -> None:
    """Make the creation or renaming of a file in a directory durable."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def _make_marker(path: Path, marker: HighWaterMark) -> None:
    """Create the marker atomically."""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(_bytes(marker))
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        finally:
            Path(temporary).unlink(missing_ok=True)
        sync_directory(path.parent)
    except OSError as error:
        raise refused(error, "The ledger's marker could not be written.") from error


def _bytes(marker: HighWaterMark) -> bytes:
    text = json.dumps(asdict(marker)).encode()
    assert len(text) < _LENGTH, "an id and a hash are short"
    return text.ljust(_LENGTH - 1) + b"\n"


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
