"""Creating a ledger, and opening one only if it is the one that belongs here."""

from __future__ import annotations

import os
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

from server.errors import LedgerInvalid, LedgerMissing, LedgerUnavailable
from server.ledger.connection import connect, transaction, translated
from server.ledger.marker import Marker, read_marker, sync_directory, write_marker
from server.ledger.schema import APPLICATION_ID, CREATE, MISCOUNTED, SCHEMA_VERSION
from server.ledger.sqlite import SqliteLedger


def create_ledger(path: Path, marker: Path) -> SqliteLedger:
    """Make a new ledger and its marker, then open it. The folders are made too; only the owner may read the files.

    Raises: LedgerInvalid (there is one already), LedgerMissing (the marker knows one that is gone),
      LedgerUnavailable.
    """
    if read_marker(marker) is not None and not path.exists():
        raise _gone(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        marker.parent.mkdir(parents=True, exist_ok=True)
        _create_file(path)
    except FileExistsError as error:
        raise LedgerInvalid(f"There is a ledger {path.name} already.") from error
    except OSError as error:
        raise LedgerUnavailable("The ledger could not be created.") from error
    return open_ledger(path, marker)


def open_ledger(path: Path, marker: Path) -> SqliteLedger:
    """Open the ledger that the marker knows; without a marker, adopt the ledger and mark it.

    Raises: LedgerMissing (there is none), LedgerInvalid (another one, an older one, an edited one, or one of
      another version), LedgerUnavailable, TooManyQueries.
    Cost: reads the whole file once.
    """
    if not path.exists():
        raise _absent(path) if read_marker(marker) is None else _gone(path)
    with closing(connect(path)) as connection, transaction(connection):
        _verify(connection)
        identity, charges = _identity(connection)
        # The marker is read inside the transaction: another process marks only what is durable by then.
        known = read_marker(marker)
        if known is not None and known.ledger != identity:
            raise LedgerInvalid(
                f"{path.name} is not the ledger that the marker {marker.name} knows.",
                hint="Restore the ledger that belongs to this policy.",
            )
        if known is not None and known.charges > charges:
            raise LedgerInvalid(
                f"{path.name} is an older copy: it lacks charges that the marker {marker.name} knows.",
                hint="Restore the newest copy of the ledger.",
            )
        if known is None or known.charges < charges:
            write_marker(marker, Marker(identity, charges))
    return SqliteLedger(path, marker)


def _create_file(path: Path) -> None:
    """Build the file under another name and link it: it appears whole, or not at all, and replaces nothing."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4()}")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with closing(connect(temporary)) as connection, translated():
            connection.executescript(CREATE)
            connection.execute("INSERT INTO identity VALUES (1, ?)", (str(uuid.uuid4()),))
        os.link(temporary, path)
    finally:
        temporary.unlink()
    sync_directory(path.parent)


def _verify(connection: sqlite3.Connection) -> None:
    """Whether the file is a whole ledger of this version, with `spent` equal to the sum of the charges."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise LedgerInvalid("The ledger file is not a Noisegate ledger.")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION:
        raise LedgerInvalid(f"The ledger has version {version}; this Noisegate reads version {SCHEMA_VERSION}.")
    if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise LedgerInvalid("The ledger is damaged.", hint="Restore the newest copy of the ledger.")
    if connection.execute(MISCOUNTED).fetchone()[0]:
        raise LedgerInvalid("The ledger was edited: what is spent is not the sum of the charges.")


def _identity(connection: sqlite3.Connection) -> tuple[str, int]:
    """The ledger's id and how many charges it holds."""
    row = connection.execute("SELECT id, (SELECT coalesce(max(number), 0) FROM charges) FROM identity").fetchone()
    return str(row[0]), int(row[1])


def _absent(path: Path) -> LedgerMissing:
    return LedgerMissing(f"There is no ledger {path.name} yet.", hint="Add an analyst first: noisegate analyst add")


def _gone(path: Path) -> LedgerMissing:
    return LedgerMissing(
        f"The ledger {path.name} is gone; starting without it would reset every budget.",
        hint="Restore the newest copy of the ledger.",
    )
