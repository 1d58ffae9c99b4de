"""The rules of the ledger as triggers of SQLite."""

from __future__ import annotations

from server.ledger.tables.schema import CHARGE_KEEPS, TABLES

APPLICATION_ID = 0x4E474C47
"""'NGLG' in the file's header: this SQLite file is a Noisegate ledger."""

_KEPT = """
CREATE TRIGGER {table}_are_kept BEFORE DELETE ON {table}
BEGIN SELECT RAISE(ABORT, 'nothing is ever deleted from a ledger'); END;
"""

_UNCHANGED = """
CREATE TRIGGER {table}_do_not_change BEFORE UPDATE ON {table}
BEGIN SELECT RAISE(ABORT, 'this is never changed'); END;
"""

_ONCE = """
CREATE TRIGGER {table}_are_made_once BEFORE INSERT ON {table} WHEN EXISTS (SELECT 1 FROM {table} WHERE {same})
BEGIN SELECT RAISE(ABORT, 'this is there already'); END;
"""

_RULES = f"""
CREATE TRIGGER entries_follow BEFORE INSERT ON entries
WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entries)
    OR NEW.at_ms < (SELECT at_ms FROM entries ORDER BY number DESC LIMIT 1)
BEGIN SELECT RAISE(ABORT, 'an entry has the next number, and is not older than the last'); END;

CREATE TRIGGER charge_begins_reserved BEFORE INSERT ON charges
WHEN NEW.state <> 'reserved' OR NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM charges)
    OR (NEW.idempotency_key <> '' AND EXISTS (
        SELECT 1 FROM charges WHERE analyst = NEW.analyst AND idempotency_key = NEW.idempotency_key))
BEGIN SELECT RAISE(ABORT, 'a charge begins reserved, with the next number'); END;

CREATE TRIGGER charge_is_settled_once BEFORE UPDATE ON charges
WHEN OLD.state <> 'reserved' OR NEW.state = 'reserved'
    OR {" OR ".join(f"NEW.{column} IS NOT OLD.{column}" for column in CHARGE_KEEPS)}
BEGIN SELECT RAISE(ABORT, 'a charge changes once, from reserved to settled'); END;

CREATE TRIGGER analyst_keeps_name BEFORE UPDATE ON analysts WHEN NEW.name IS NOT OLD.name
    OR EXISTS (SELECT 1 FROM analysts WHERE key_hash = NEW.key_hash AND name <> OLD.name)
BEGIN SELECT RAISE(ABORT, 'an analyst keeps the name, and shares no key'); END;

CREATE TRIGGER account_keeps_name BEFORE UPDATE ON accounts
WHEN NEW.name IS NOT OLD.name OR NEW.accounting IS NOT OLD.accounting
BEGIN SELECT RAISE(ABORT, 'an account keeps its name and its accounting'); END;

CREATE TRIGGER account_is_not_overspent BEFORE UPDATE OF spent ON accounts
WHEN NEW.accounting = 'basic' AND (
    NEW.spent ->> 'nano_epsilon' > max(NEW.nano_epsilon, OLD.spent ->> 'nano_epsilon')
    OR NEW.spent ->> 'atto_delta' > max(NEW.atto_delta, OLD.spent ->> 'atto_delta')
    OR NEW.spent ->> 'nano_epsilon' < 0 OR NEW.spent ->> 'atto_delta' < 0)
BEGIN SELECT RAISE(ABORT, 'an account never spends more than it was granted'); END;
"""

SQLITE_RULES = (
    _RULES
    + "".join(_KEPT.format(table=table) for table in TABLES)
    + "".join(_UNCHANGED.format(table=table) for table in ("identity", "entries", "answers"))
    # INSERT OR REPLACE deletes without firing the triggers of deletion.
    + _ONCE.format(table="analysts", same="name = NEW.name OR key_hash = NEW.key_hash")
    + _ONCE.format(table="accounts", same="name = NEW.name")
    + _ONCE.format(table="answers", same="number = NEW.number")
    + _ONCE.format(table="identity", same="only_row = NEW.only_row")
)
"""Triggers; to be run after the tables were made."""
