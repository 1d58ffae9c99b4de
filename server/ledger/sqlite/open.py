"""Creating a ledger in a SQLite file, and opening one only if it is the one that belongs here."""

from __future__ import annotations

import os
import time
import uuid
from contextlib import closing
from pathlib import Path

from server.errors import LedgerInvalid
from server.ledger.entry_contents import Opened
from server.ledger.integrity.disk_space import refused
from server.ledger.integrity.high_water_mark import read_marker, sync_directory
from server.ledger.integrity.startup_checks import absent, check_entries, check_marker, gone
from server.ledger.sqlite.connection import connect, transaction, translated
from server.ledger.sqlite.migrations import migrate
from server.ledger.sqlite.store import Clock, SqliteStore, SqliteView
from server.ledger.sqlite.triggers import APPLICATION_ID, SQLITE_RULES
from server.ledger.store_ledger import StoreLedger
from server.ledger.tables.schema import FAILURES_INDEX, SCHEMA_VERSION, SQLITE_TABLES
from server.ledger.writes.journal import Journal


def create_ledger(path: Path, marker: Path, clock: Clock = time.time) -> StoreLedger:
    """Make a new ledger and its marker, then open it. The folders are made too; only the owner may read the files.

    Raises: LedgerInvalid (there is one already), LedgerMissing (the marker knows one that is gone),
      LedgerUnavailable.
    """
    if read_marker(marker) is not None and not path.exists():
        raise gone(path.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        marker.parent.mkdir(parents=True, exist_ok=True)
        _create_file(path, clock)
    except FileExistsError as error:
        raise LedgerInvalid(f"There is a ledger {path.name} already.") from error
    except OSError as error:
        raise refused(error, "The ledger could not be created.") from error
    return open_ledger(path, marker, clock)


def open_ledger(path: Path, marker: Path, clock: Clock = time.time) -> StoreLedger:
    """Open the ledger that the marker knows; without a marker, adopt the ledger and mark it.

    A ledger of an older version is brought to this one first.
    Raises: LedgerMissing (there is none), LedgerInvalid (another one, an older one, an edited one, or one of a
      later version), LedgerUnavailable, TooManyQueries.
    Cost: up to a second for a ledger with VERIFIED_AT_OPEN entries; milliseconds for longer ones.
    """
    if not path.exists():
        raise absent(path.name) if read_marker(marker) is None else gone(path.name)
    with closing(connect(path)) as connection, transaction(connection):
        migrate(connection)
        connection.execute(FAILURES_INDEX.replace("INDEX", "INDEX IF NOT EXISTS", 1))
        view = SqliteView(connection, clock)
        (identity,) = connection.execute("SELECT id FROM identity").fetchone()
        check_marker(view, identity, marker, path.name)
        check_entries(view)
    return StoreLedger(SqliteStore(path, marker, clock))


def _create_file(path: Path, clock: Clock) -> None:
    """Build the file under another name and link it: it appears whole, or not at all, and replaces nothing."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4()}")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with closing(connect(temporary)) as connection, translated():
            connection.executescript(SQLITE_TABLES + SQLITE_RULES)
            identity = str(uuid.uuid4())
            with transaction(connection):
                connection.execute("INSERT INTO identity VALUES (1, ?)", (identity,))
                Journal(SqliteView(connection, clock), identity, 0).append(Opened(identity))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        os.link(temporary, path)
    finally:
        temporary.unlink()
    sync_directory(path.parent)
