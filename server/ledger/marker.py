"""The marker: a small file beside the policy that remembers which ledger there is and how far it had come.

Deleting the ledger, or putting an old copy in its place, would give every analyst the spent budget back. The
marker notices both. It is written when the ledger is opened and closed and before every charge, so that an old copy
is noticed unless all it misses is the last charge of a process that was killed.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from server.errors import LedgerInvalid, LedgerUnavailable

INTERVAL = 1
"""Charges between two writes of the marker. A write costs half a millisecond; an old copy would cost a budget."""


@dataclass(frozen=True)
class Marker:
    """What is known of the ledger: its id and the number of charges that it certainly holds."""

    ledger: str
    charges: int


def read_marker(path: Path) -> Marker | None:
    """The marker, or None when there is none. Raises LedgerInvalid when it is not readable as one."""
    try:
        fields = json.loads(path.read_bytes())
        marker = Marker(fields["ledger"], fields["charges"])
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerUnavailable("The ledger's marker could not be read.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise _unreadable(path) from error
    if not (isinstance(marker.ledger, str) and type(marker.charges) is int and marker.charges >= 0):
        raise _unreadable(path)
    return marker


def write_marker(path: Path, marker: Marker) -> None:
    """Replace the marker in one step: after a power cut it is the old one or the new one, never a part.

    Cost: two syncs. Raises LedgerUnavailable.
    """
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(asdict(marker), file)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        finally:
            Path(temporary).unlink(missing_ok=True)
        sync_directory(path.parent)
    except OSError as error:
        raise LedgerUnavailable("The ledger's marker could not be written.") from error


def sync_directory(path: Path) -> None:
    """Make the creation or renaming of a file in the directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unreadable(path: Path) -> LedgerInvalid:
    return LedgerInvalid(f"The ledger's marker {path.name} is unreadable.", hint="Restore it from a backup.")
