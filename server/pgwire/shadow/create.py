"""Setting up a shadow database: empty, and with a role that may look and do nothing else."""

from __future__ import annotations

import hmac
import secrets

import psycopg
from psycopg import conninfo, sql

from planner.policy.policy import Policy
from planner.schema import Schema
from server import libpq
from server.errors import ConfigurationInvalid
from server.pgwire.shadow.one_version import one_version
from server.pgwire.shadow.schema_sql import refusing_function, schema_statements
from server.pgwire.statements.session_names import DATABASES

READER = "noisegate_catalog"
"""The role that clients' catalog queries run as."""

_ROLE_SETTINGS = {
    "default_transaction_read_only": "on",
    "statement_timeout": "2s",
    "lock_timeout": "1s",
    "idle_in_transaction_session_timeout": "10s",
    "temp_file_limit": "64MB",
    "work_mem": "16MB",
    "track_activities": "off",
    "log_min_error_statement": "panic",  # what clients write is no part of any log
    "log_min_messages": "panic",
    "TimeZone": "UTC",
    "DateStyle": "ISO, MDY",
}
# Nothing that acts on other sessions, writes, or outlives its own statement; by name, since versions differ.
# Unlocking stays: asyncpg's pools do it whenever they take a session back.
_NOT_FOR_CLIENTS = (
    r"pg_(terminate|cancel)_backend|pg_(try_)?advisory_(xact_)?lock.*|pg_notify|pg_sleep.*|pg_logical_emit_message|"
    r"pg_export_snapshot|lo_.*|lowrite|pg_log_.*"
)
_FUNCTIONS = (
    "SELECT format('%%I.%%I(%%s)', 'pg_catalog', proname, pg_get_function_identity_arguments(oid)) FROM pg_proc"
    " WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND proname ~ %s"
)
# Every catalog lets the reader connect by name, and nobody else makes such a role.
_SOMEBODY_ELSES = (
    "SELECT 1 FROM pg_database WHERE datname = %s AND NOT EXISTS"
    " (SELECT 1 FROM aclexplode(datacl) JOIN pg_roles r ON r.oid = grantee WHERE r.rolname = %s)"
)


_ONE_DATABASE = (
    "SET allow_system_table_mods = on",
    f"CREATE VIEW pg_catalog.{DATABASES} AS SELECT * FROM pg_catalog.pg_database WHERE datname = current_database()",
    f"GRANT SELECT ON pg_catalog.{DATABASES} TO PUBLIC",
    "RESET allow_system_table_mods",
)
"""What clients are shown in place of `pg_database`, which also lists the catalog server's own databases."""


def create_shadow(superuser_url: str, schema: Schema, policy: Policy) -> str:
    """Make the shadow database anew.

    Args:
      superuser_url: a connection URL of a role that may create databases and roles, to a server that holds no data.
      schema, policy: of the data set.
    Returns: a connection URL for the reader, with its password.
    Raises: ConfigurationInvalid when the server cannot be used, or has a database of that name that is no catalog.
    """
    try:
        with libpq.connect(superuser_url, autocommit=True) as connection:
            password = _reader_password(connection)
            _create_database(connection, policy, password)
        own = conninfo.make_conninfo(superuser_url, dbname=policy.name)
        with libpq.connect(own, autocommit=True) as connection:
            _close_doors(connection)
            for statement in one_version(connection):
                connection.execute(statement)
            for shown in _ONE_DATABASE:
                connection.execute(shown.encode())
            for statement in schema_statements(schema, policy, READER):
                connection.execute(statement)
    except psycopg.Error as error:
        hint = "it must be an empty PostgreSQL and a role that may create databases and roles"
        raise ConfigurationInvalid("the catalog's database cannot be set up", hint=hint) from error
    reader_url = conninfo.make_conninfo(own, user=READER, password=password)
    _check_opens(reader_url)
    return reader_url


def _reader_password(connection: psycopg.Connection) -> str:
    """The reader's: the same for all proxies that share the server; fresh where the server asks for none."""
    own = connection.info.password
    return hmac.digest(own.encode(), READER.encode(), "sha256").hex() if own else secrets.token_urlsafe(32)


def _check_opens(reader_url: str) -> None:
    try:
        libpq.connect(reader_url).close()
    except psycopg.OperationalError:  # whose words have the address, and may have more
        hint = f"let the role {READER} connect by password (scram-sha-256 in pg_hba.conf)"
        raise ConfigurationInvalid("the catalog's reader cannot connect", hint=hint) from None


def _create_database(connection: psycopg.Connection, policy: Policy, password: str) -> None:
    name = policy.name
    database, reader = sql.Identifier(name), sql.Identifier(READER)
    if connection.execute(_SOMEBODY_ELSES, (name, READER)).fetchone():
        hint = "give the catalog a PostgreSQL of its own; if nothing in that database is needed, drop it yourself"
        raise ConfigurationInvalid(f"the catalog's server has a database {name} that is no catalog", hint=hint)
    known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (READER,)).fetchone()
    verb = "ALTER" if known else "CREATE"
    rights = "LOGIN NOSUPERUSER NOINHERIT NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"
    # Encrypted here, so that no statement, which the server may log, has the password.
    verifier = connection.pgconn.encrypt_password(password.encode(), READER.encode(), b"scram-sha-256").decode()
    made = sql.SQL(verb + " ROLE {} " + rights + " PASSWORD {}")
    connection.execute(made.format(reader, sql.Literal(verifier)))
    for setting, value in _ROLE_SETTINGS.items():
        change = sql.SQL("ALTER ROLE {} SET {} = {}")
        connection.execute(change.format(reader, sql.Identifier(setting), sql.Literal(value)))
    connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(database))
    connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'").format(database))
    # At once: a database without this right would be somebody else's to the next proxy, if this one ended here.
    connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(database, reader))
    connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
    path = sql.SQL(", ").join(map(sql.Identifier, policy.schemas))
    own = sql.SQL("ALTER ROLE {} IN DATABASE {} SET search_path = {}")  # other proxies may share the role
    connection.execute(own.format(reader, database, path))


def _close_doors(connection: psycopg.Connection) -> None:
    connection.execute(refusing_function())
    connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    for (function,) in connection.execute(_FUNCTIONS, (f"^({_NOT_FOR_CLIENTS})$",)).fetchall():
        connection.execute(sql.SQL("REVOKE EXECUTE ON FUNCTION {} FROM PUBLIC").format(sql.SQL(function)))
