"""The proxy's database role may SELECT and nothing else; anything more and the proxy does not start."""

from __future__ import annotations

from typing import Any

import psycopg

from server.errors import UnsafeRole

_ATTRIBUTES = """
    SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls
    FROM pg_roles WHERE rolname = current_user
"""
_ATTRIBUTE_NAMES = ("SUPERUSER", "CREATEROLE", "CREATEDB", "REPLICATION", "BYPASSRLS")

_MEMBERSHIPS = """
    SELECT rolname FROM pg_roles
    WHERE pg_has_role(current_user, oid, 'MEMBER') AND rolname <> current_user
      AND (rolsuper OR rolname IN ('pg_write_all_data', 'pg_write_server_files', 'pg_read_server_files',
           'pg_execute_server_program', 'pg_signal_backend', 'pg_maintain', 'pg_create_subscription'))
"""

_TABLES = """
    SELECT n.nspname || '.' || c.relname,
           pg_has_role(current_user, c.relowner, 'MEMBER'),
           has_any_column_privilege(c.oid, 'INSERT') OR has_any_column_privilege(c.oid, 'UPDATE')
             OR has_table_privilege(c.oid, 'DELETE') OR has_table_privilege(c.oid, 'TRUNCATE')
             OR has_table_privilege(c.oid, 'TRIGGER'),
           c.relrowsecurity AND has_any_column_privilege(c.oid, 'SELECT')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
    ORDER BY 1
"""

_CREATE = """
    SELECT 'schema ' || quote_ident(nspname) FROM pg_namespace
    WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' AND has_schema_privilege(oid, 'CREATE')
    UNION ALL
    SELECT 'database ' || quote_ident(current_database()) WHERE has_database_privilege(current_database(), 'CREATE')
"""

_ANOTHER = (
    "CREATE ROLE noisegate LOGIN PASSWORD '...'; GRANT USAGE ON SCHEMA public TO noisegate; "
    "GRANT SELECT ON ALL TABLES IN SCHEMA public TO noisegate (and of each other schema that is asked); "
    "and let the proxy connect as noisegate"
)

_SHOWN = 3


def refuse_unsafe_role(connection: psycopg.Connection[Any]) -> None:
    """Check the connected role.

    Raises: UnsafeRole that says what the role could do beyond SELECT, or whose answers row-level security would
      silently cut; of many tables the first ones are named.
    """
    owned, written, cut = _tables(connection)
    beyond = [*_attributes(connection), *_memberships(connection), *_named("it owns", owned)]
    beyond += _named("it may write", written)
    hidden = [f"row-level security hides rows of {table} from it" for table in cut]
    creates = [place for (place,) in connection.execute(_CREATE)]
    hints = [_ANOTHER] if beyond else []
    if creates and not beyond:
        hints += [f"REVOKE CREATE ON {place} FROM PUBLIC, and from the role" for place in creates]
    if hidden:
        hints.append(f"REVOKE SELECT ON {', '.join(cut)} FROM the role: answers would lack the rows that are hidden")
    findings = [*beyond, *hidden, *(f"it may CREATE in {place}" for place in creates)]
    if findings:
        raise UnsafeRole("the database role may do more than SELECT: " + "; ".join(findings), hint="; ".join(hints))


def _attributes(connection: psycopg.Connection[Any]) -> list[str]:
    row = connection.execute(_ATTRIBUTES).fetchone()
    return [] if row is None else [f"it has {name}" for name, has in zip(_ATTRIBUTE_NAMES, row, strict=True) if has]


def _memberships(connection: psycopg.Connection[Any]) -> list[str]:
    return [f"it is a member of {name}" for (name,) in connection.execute(_MEMBERSHIPS)]


def _tables(connection: psycopg.Connection[Any]) -> tuple[list[str], list[str], list[str]]:
    """The tables that the role owns, those that it may write otherwise, and those of which it is shown a part."""
    owned, written, cut = [], [], []
    for table, owns, writes, row_security in connection.execute(_TABLES):
        if owns:
            owned.append(table)
        elif writes:
            written.append(table)
        if row_security:
            cut.append(table)
    return owned, written, cut


def _named(does: str, tables: list[str]) -> list[str]:
    if not tables:
        return []
    more = f" and {len(tables) - _SHOWN} more" if len(tables) > _SHOWN else ""
    return [f"{does} {', '.join(tables[:_SHOWN])}{more}"]
