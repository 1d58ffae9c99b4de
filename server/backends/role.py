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
    SELECT 'schema ' || nspname FROM pg_namespace
    WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' AND has_schema_privilege(oid, 'CREATE')
    UNION ALL
    SELECT 'database ' || current_database() WHERE has_database_privilege(current_database(), 'CREATE')
"""


def refuse_unsafe_role(connection: psycopg.Connection[Any]) -> None:
    """Check the connected role.

    Raises: UnsafeRole that lists everything the role could do beyond SELECT, or whose answers
      row-level security would silently cut.
    """
    findings = [*_attributes(connection), *_memberships(connection), *_tables(connection), *_create(connection)]
    if findings:
        raise UnsafeRole(
            "the database role may do more than SELECT: " + "; ".join(findings),
            hint="CREATE ROLE noisegate LOGIN; GRANT USAGE ON SCHEMA public TO noisegate; "
            "GRANT SELECT ON ALL TABLES IN SCHEMA public TO noisegate; and let the proxy connect as noisegate",
        )


def _attributes(connection: psycopg.Connection[Any]) -> list[str]:
    row = connection.execute(_ATTRIBUTES).fetchone()
    return [] if row is None else [f"it has {name}" for name, has in zip(_ATTRIBUTE_NAMES, row, strict=True) if has]


def _memberships(connection: psycopg.Connection[Any]) -> list[str]:
    return [f"it is a member of {name}" for (name,) in connection.execute(_MEMBERSHIPS)]


def _tables(connection: psycopg.Connection[Any]) -> list[str]:
    findings = []
    for table, owns, writes, row_security in connection.execute(_TABLES):
        if owns:
            findings.append(f"it owns {table}")
        elif writes:
            findings.append(f"it may write {table}")
        if row_security:
            findings.append(f"row-level security hides rows of {table} from it")
    return findings


def _create(connection: psycopg.Connection[Any]) -> list[str]:
    return [f"it may CREATE in {place}" for (place,) in connection.execute(_CREATE)]
