"""Creating a ledger in PostgreSQL, and opening one only if it is the one that belongs here."""

from __future__ import annotations

import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from server.errors import LedgerInvalid, LedgerUnavailable
from server.ledger.entry_contents import Opened
from server.ledger.integrity.count_basic import count_basic
from server.ledger.integrity.high_water_mark import read_marker
from server.ledger.integrity.startup_checks import absent, check_entries, check_marker, gone
from server.ledger.postgres.connection import (
    Clock,
    ConnectionLost,
    PostgresView,
    connect,
    translated,
    write_transaction,
)
from server.ledger.postgres.store import PostgresStore
from server.ledger.postgres.triggers import POSTGRES_RULES, SCHEMA
from server.ledger.store_ledger import StoreLedger
from server.ledger.tables.schema import FAILURES_INDEX, POSTGRES_TABLES, SCHEMA_VERSION, SINCE_VERSION_2
from server.ledger.writes.journal import Journal

_NAME = "in PostgreSQL"


def create_postgres_ledger(url: str, marker: Path, clock: Clock | None = None) -> StoreLedger:
    """Make a new ledger in the schema `noisegate_ledger` of a database, and its marker, then open it.

    Raises: LedgerInvalid (there is one already), LedgerMissing (the marker knows one that is gone),
      LedgerUnavailable.
    """
    with closing(_connected(url)) as connection:
        if read_marker(marker) is not None and not _exists(connection):
            raise gone(_NAME)
        marker.parent.mkdir(parents=True, exist_ok=True)
        with translated(connection), connection.transaction():
            try:
                connection.execute(f"CREATE SCHEMA {SCHEMA}")
            except (psycopg.errors.DuplicateSchema, psycopg.errors.UniqueViolation) as error:
                raise LedgerInvalid("There is a ledger in this database already.") from error
            _fill(connection, clock)
    return open_postgres_ledger(url, marker, clock)


def open_postgres_ledger(url: str, marker: Path, clock: Clock | None = None) -> StoreLedger:
    """Open the ledger that the marker knows; without a marker, adopt the ledger and mark it.

    Raises: LedgerMissing (there is none), LedgerInvalid (another one, an older one, an edited one, or one of
      another version), LedgerUnavailable, TooManyQueries.
    """
    with closing(_connected(url)) as connection:
        if not _exists(connection):
            raise absent(_NAME) if read_marker(marker) is None else gone(_NAME)
        with write_transaction(connection, clock, retried=False) as view:
            _migrate(view)
            if view.rows("SELECT to_regclass(?) IS NULL", f"{SCHEMA}.failures")[0][0]:
                view.run(FAILURES_INDEX)
            check_marker(view, view.rows("SELECT id FROM identity")[0][0], marker, f"The ledger {_NAME}")
            check_entries(view)
    return StoreLedger(PostgresStore(url, marker, clock))


def _migrate(view: PostgresView) -> None:
    """Bring a ledger of an older version here, within the write that opens it; there is none older than 2."""
    (version,) = view.rows("SELECT number FROM version")[0]
    if version not in (2, SCHEMA_VERSION):
        raise LedgerInvalid(f"The ledger has version {version}; this Noisegate reads versions 2 to {SCHEMA_VERSION}.")
    if version == 2:
        for statement in SINCE_VERSION_2:
            view.run(statement)
        count_basic(view)
        view.run("UPDATE version SET number = ?", SCHEMA_VERSION)


def _connected(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    try:
        return connect(url)
    except ConnectionLost as error:
        raise LedgerUnavailable("The ledger's database could not be reached.") from error


def _exists(connection: psycopg.Connection[tuple[Any, ...]]) -> bool:
    with translated(connection):
        return connection.execute("SELECT to_regnamespace(%s) IS NOT NULL", (SCHEMA,)).fetchall()[0][0] is True


def _fill(connection: psycopg.Connection[tuple[Any, ...]], clock: Clock | None) -> None:
    """Make the tables and their rules, and write the first entry; only the owner may use them."""
    connection.execute(f"REVOKE ALL ON SCHEMA {SCHEMA} FROM PUBLIC")
    connection.execute(POSTGRES_TABLES + POSTGRES_RULES)
    identity = str(uuid.uuid4())
    connection.execute("INSERT INTO identity VALUES (1, %s)", (identity,))
    Journal(PostgresView(connection, clock), identity, 0).append(Opened(identity))
