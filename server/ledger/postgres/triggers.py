"""The rules of the ledger as triggers of PostgreSQL."""

from __future__ import annotations

from server.ledger.tables.schema import CHARGE_KEEPS, SCHEMA_VERSION, TABLES

SCHEMA = "noisegate_ledger"
"""The schema that holds the tables, and nothing else."""

_FUNCTIONS = f"""
CREATE FUNCTION {SCHEMA}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'this would break the ledger' USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE FUNCTION {SCHEMA}.last_entry() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT coalesce(max(number), 0) FROM {SCHEMA}.entries);
END $$;

CREATE FUNCTION {SCHEMA}.last_time() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN coalesce((SELECT at_ms FROM {SCHEMA}.entries ORDER BY number DESC LIMIT 1), 0);
END $$;

CREATE FUNCTION {SCHEMA}.last_charge() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT coalesce(max(number), 0) FROM {SCHEMA}.charges);
END $$;

CREATE FUNCTION {SCHEMA}.amount(saved text, field text) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT (saved::jsonb ->> field)::bigint $$;
"""

_ROW_RULES = {
    "entries_follow": (
        "INSERT ON entries",
        f"NEW.number <> {SCHEMA}.last_entry() + 1 OR NEW.at_ms < {SCHEMA}.last_time()",
    ),
    "charge_begins_reserved": (
        "INSERT ON charges",
        f"NEW.state <> 'reserved' OR NEW.number <> {SCHEMA}.last_charge() + 1",
    ),
    "charge_is_settled_once": (
        "UPDATE ON charges",
        "OLD.state <> 'reserved' OR NEW.state = 'reserved' OR "
        + " OR ".join(f"NEW.{column} IS DISTINCT FROM OLD.{column}" for column in CHARGE_KEEPS),
    ),
    "analyst_keeps_name": ("UPDATE ON analysts", "NEW.name <> OLD.name"),
    "account_keeps_name": ("UPDATE ON accounts", "NEW.name <> OLD.name OR NEW.accounting <> OLD.accounting"),
    "account_is_not_overspent": (
        "UPDATE ON accounts",
        "NEW.accounting = 'basic' AND ("
        + " OR ".join(
            f"{SCHEMA}.amount(NEW.spent, '{field}') < 0 OR {SCHEMA}.amount(NEW.spent, '{field}') >"
            f" greatest(NEW.{field}, {SCHEMA}.amount(OLD.spent, '{field}'))"
            for field in ("nano_epsilon", "atto_delta")
        )
        + ")",
    ),
}

POSTGRES_RULES = (
    _FUNCTIONS
    + "".join(
        f"CREATE TRIGGER {name} BEFORE {event} FOR EACH ROW WHEN ({broken}) EXECUTE FUNCTION {SCHEMA}.refuse();\n"
        for name, (event, broken) in _ROW_RULES.items()
    )
    + "".join(
        f"CREATE TRIGGER {table}_are_kept BEFORE {'UPDATE OR ' if unchanged else ''}DELETE OR TRUNCATE ON {table}"
        f" FOR EACH STATEMENT EXECUTE FUNCTION {SCHEMA}.refuse();\n"
        for table in TABLES
        for unchanged in (table in ("identity", "entries", "answers"),)
    )
    + f"CREATE TABLE version AS SELECT {SCHEMA_VERSION}::bigint AS number;\n"
)
"""Triggers and the version; to be run after the tables were made."""
