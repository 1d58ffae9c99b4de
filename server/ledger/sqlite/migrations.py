"""Bringing ledgers of older versions to this one; within the transaction that opens them, so wholly or not at all."""

from __future__ import annotations

import itertools
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from privacy.accounting.amounts import Charge as Amount
from server.errors import LedgerInvalid
from server.ledger.account import analyst_account
from server.ledger.accounts.amounts import delta_of, epsilon_of
from server.ledger.accounts.terms import Terms
from server.ledger.analyst import Act, Credentials
from server.ledger.charge import Charge
from server.ledger.entry_contents import AnalystAdded, Opened, entry_content
from server.ledger.integrity.count_basic import count_basic
from server.ledger.sqlite.store import SqliteView
from server.ledger.sqlite.triggers import APPLICATION_ID, SQLITE_RULES
from server.ledger.tables import account_rows, charge_rows
from server.ledger.tables.schema import SCHEMA_VERSION, SINCE_VERSION_2, SQLITE_TABLES
from server.ledger.writes.administer import open_account, signed
from server.ledger.writes.journal import Journal

_OLD_INSTANCE = "version-1"
"""Made what a ledger of version 1 holds; it lives no more, so what it left reserved is a crash."""

_ACT = Act("version 1")


def migrate_from_1(connection: sqlite3.Connection) -> None:
    """Version 1 had two tables, charges and analysts, and no entries: they are written for it, at the old times.

    Each charge is followed by its settlement at once. So the accounts never hold more than they did, and what fitted
    then fits again.
    """
    (identity,) = connection.execute("SELECT id FROM identity").fetchone()
    analysts = connection.execute("SELECT * FROM analysts ORDER BY added_at_ms, name").fetchall()
    charges = connection.execute("SELECT * FROM charges ORDER BY number").fetchall()
    for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    for table in ("charges", "analysts", "identity"):
        connection.execute(f"DROP TABLE {table}")
    run_script(connection, SQLITE_TABLES + SQLITE_RULES)
    connection.execute("INSERT INTO identity VALUES (1, ?)", (identity,))
    started_ms = min((row[-1] for row in analysts), default=0)
    _journal(connection, started_ms).append(Opened(identity, from_version=1))
    for row in analysts:
        _add_analyst(connection, row)
    for row, settled_at_ms in _with_settlement(charges):
        _add_charge(connection, row, settled_at_ms)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def migrate_from_2(connection: sqlite3.Connection) -> None:
    """Version 2 knew no periods of the calendar, and nothing of basic composition beside zCDP and Renyi."""
    for statement in SINCE_VERSION_2:
        connection.execute(statement.replace("BIGINT", "INTEGER"))
    count_basic(SqliteView(connection, time.time))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a ledger of an older version here, in the transaction that is open.

    Raises: LedgerInvalid for what is no ledger, or one of a later version.
    """
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise LedgerInvalid("The ledger file is not a Noisegate ledger.")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in range(1, SCHEMA_VERSION + 1):
        raise LedgerInvalid(f"The ledger has version {version}; this Noisegate reads versions 1 to {SCHEMA_VERSION}.")
    if version == 1:
        migrate_from_1(connection)
    if version == 2:
        migrate_from_2(connection)


def run_script(connection: sqlite3.Connection, script: str) -> None:
    """Run statements within the transaction that is open (`executescript` would commit it)."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
    assert not statement.strip(), "a script ends with a statement"


def _with_settlement(charges: list[tuple[Any, ...]]) -> Iterator[tuple[tuple[Any, ...], int | None]]:
    """Each charge with the time of its settlement, which does not push the next charge's time away."""
    for row, following in itertools.zip_longest(charges, charges[1:]):
        reserved_at_ms, settled_at_ms = row[-2:]
        latest = settled_at_ms if following is None else following[-2]
        yield row, None if settled_at_ms is None else max(reserved_at_ms, min(settled_at_ms, latest))


def _add_analyst(connection: sqlite3.Connection, row: tuple[Any, ...]) -> None:
    name, key_hash, nano_epsilon, atto_delta, _, _, added_at_ms = row
    journal = _journal(connection, added_at_ms)
    fingerprint = Credentials(key_hash).fingerprint
    journal.append(AnalystAdded(analyst=name, role="analyst", group=None, credentials=fingerprint, **signed(_ACT)))
    connection.execute("INSERT INTO analysts VALUES (?, ?, '', 'analyst', NULL, 1)", (name, key_hash))
    open_account(journal, analyst_account(name), Terms("basic", nano_epsilon, atto_delta), _ACT)


def _add_charge(connection: sqlite3.Connection, row: tuple[Any, ...], settled_at_ms: int | None) -> None:
    number, analyst, nano_epsilon, atto_delta, state, *origin, reserved_at_ms, _ = row
    journal = _journal(connection, reserved_at_ms)
    amount = Amount(nano_epsilon, atto_delta)
    account = account_rows.balance(journal.writing, analyst_account(analyst))
    charge = Charge(analyst, epsilon_of(nano_epsilon), delta_of(atto_delta), *origin)
    reserved = charge_rows.reserved_content(number, charge, (account,), {"basic": amount})
    exact = replace(reserved, nano_epsilon=nano_epsilon, atto_delta=atto_delta)
    charge_rows.insert(journal.writing, number, journal.append(exact), charge, _OLD_INSTANCE)
    if state != "released":
        account_rows.update_spent(journal.writing, account.charged(amount, amount))
    if settled_at_ms is not None:
        entry = _journal(connection, settled_at_ms).append(entry_content(state, {"charge": number, "answer": None}))
        connection.execute("UPDATE charges SET state = ?, settled_by = ? WHERE number = ?", (state, entry, number))


def _journal(connection: sqlite3.Connection, at_ms: int) -> Journal:
    return Journal(SqliteView(connection, lambda: at_ms / 1000), _OLD_INSTANCE, 0)
