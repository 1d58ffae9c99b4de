"""Create the shadow catalog: the policy's tables without rows, and a role that can only look at them.

It is in an embedded PostgreSQL, or in one that the administrator names, and reports the version that clients see.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

import psycopg
import structlog
from psycopg import conninfo, sql

from planner.examine_views import ShownView, shown_views
from planner.policy.policy import ColumnPolicy, Policy
from planner.schema import PUBLIC, Column, ForeignKey, Schema, Table, name_parts
from planner.sql.sql_types import sql_type
from server import libpq
from server.backends import embedded
from server.errors import ConfigurationInvalid, ServerError
from server.pgwire.settings import SERVER_VERSION, SERVER_VERSION_NUM
from server.pgwire.shadow import ShadowDatabase
from server.pgwire.statements.session_functions import DATABASES

_KNOWN_TYPE = re.compile(
    r"(smallint|integer|bigint|real|double precision|numeric|text|uuid|boolean|date|bytea|jsonb?|interval|"
    r"character varying|character|time|timestamp)"
    r"(\(\d+(,-?\d+)?\))?( with(out)? time zone)?"
)

_PUBLIC = "public: answered exactly and free"
_PRIVATE = "private:{} ask for COUNT, SUM or AVG; answers are noisy and charged"
_ANSWER = "private: SELECT its rows, which are noisy and charged"


_REFUSES = "noisegate_refuses"


def schema_statements(schema: Schema, policy: Policy, reader: str) -> Iterator[sql.Composed]:
    """Statements that create the catalog in an empty database.

    It contains only tables, views and columns that the policy allows in queries, without rows, defaults or checks.
    Tools show a table only if `reader` has the right to SELECT. So the role has it, but every SELECT fails: a
    question that is sent here by mistake must not return an empty result.
    """
    tables = [schema.tables[name] for name in sorted(policy.tables) if name in schema.tables]
    views = shown_views(schema, policy)
    shown = [table.name for table in tables] + [view.name for view in views]
    for namespace in sorted({name_parts(name)[0] for name in shown} - {PUBLIC}):
        yield sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(namespace))
        yield sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(sql.Identifier(namespace), sql.Identifier(reader))
    for table in tables:
        yield sql.SQL("CREATE TABLE {} ({})").format(_name(table.name), sql.SQL(", ").join(_definitions(table)))
        yield from _shown_and_not_read(table.name, reader, public=policy.is_public(table.name))
        yield _comment("TABLE", [table.name], _words_for(table, policy))
        for column in table.columns:
            yield from _column_comment(table.name, column, policy.column(table.name, column.name))
    names = {table.name: table for table in tables}
    for table in tables:
        for key in table.foreign_keys:
            if key.references in names and key.key in names[key.references].keys:
                yield _foreign_key(table, key)
    for view in views:
        yield from _view(view, policy, reader)


def _view(view: ShownView, policy: Policy, reader: str) -> Iterator[sql.Composed]:
    """A view with the names and types of the real one's columns. The role may SELECT it, but every read fails.

    No table with a row policy is behind it, so its condition refuses. The planner evaluates every condition by
    itself, so no surrounding query avoids it.
    """
    columns = [
        sql.SQL("NULL::" + _known_type(shown.column) + " AS {}").format(sql.Identifier(shown.column.name))
        for shown in view.columns
    ]
    named, shown_columns = _name(view.name), sql.SQL(", ").join(columns)
    yield sql.SQL("CREATE VIEW {} AS SELECT {} WHERE {}").format(named, shown_columns, _refusal(view.name))
    yield _granted(view.name, reader)
    yield _comment("VIEW", [view.name], _words_for_view(view))
    for shown in view.columns:
        yield from _column_comment(view.name, shown.column, policy.column(*shown.base or ("", "")))


def refusing_function() -> sql.SQL:
    """The function that refuses reads. It is immutable, so planning a statement that reads calls it."""
    return sql.SQL(
        f"CREATE FUNCTION pg_catalog.{_REFUSES}(name text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = 'permission denied for table ' || name; END $$"
    )


def _shown_and_not_read(table: str, reader: str, *, public: bool) -> Iterator[sql.Composed]:
    """Grant SELECT, with a row policy that refuses every use of it; psql's \\d shows its name."""
    yield _granted(table, reader)
    yield sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(_name(table))
    name = sql.Identifier("rows_are_public" if public else "rows_are_not_shown")
    yield sql.SQL("CREATE POLICY {} ON {} USING ({})").format(name, _name(table), _refusal(table))


def _granted(relation: str, reader: str) -> sql.Composed:
    return sql.SQL("GRANT SELECT, REFERENCES ON {} TO {}").format(_name(relation), sql.Identifier(reader))


def _refusal(relation: str) -> sql.Composed:
    return sql.SQL("pg_catalog.{}({})").format(sql.SQL(_REFUSES), sql.Literal(relation))


def _name(table: str) -> sql.Identifier:
    return sql.Identifier(*name_parts(table))


def _definitions(table: Table) -> Iterator[sql.Composable]:
    for column in table.columns:
        kind = _known_type(column)
        nullable = "" if column.nullable else " NOT NULL"
        # The type is from a fixed list, so it may be part of the statement's text.
        yield sql.SQL("{} " + kind + nullable).format(sql.Identifier(column.name))
    for key in dict.fromkeys(table.keys):
        columns = sql.SQL(", ").join(map(sql.Identifier, key))
        yield sql.SQL("PRIMARY KEY ({})" if key == table.primary_key else "UNIQUE ({})").format(columns)


def _known_type(column: Column) -> str:
    return column.type if _KNOWN_TYPE.fullmatch(column.type) else "text"


def _foreign_key(table: Table, key: ForeignKey) -> sql.Composed:
    return sql.SQL("ALTER TABLE {} ADD FOREIGN KEY ({}) REFERENCES {} ({})").format(
        _name(table.name),
        sql.SQL(", ").join(map(sql.Identifier, key.columns)),
        _name(key.references),
        sql.SQL(", ").join(map(sql.Identifier, key.key)),
    )


def _comment(kind: Literal["TABLE", "VIEW", "COLUMN"], place: list[str], words: str) -> sql.Composed:
    name = sql.Identifier(*name_parts(place[0]), *place[1:])
    return sql.SQL("COMMENT ON " + kind + " {} IS {}").format(name, sql.Literal(words))


def _column_comment(relation: str, column: Column, declared: ColumnPolicy) -> Iterator[sql.Composed]:
    if words := _words_for_column(declared, sql_type(column.type).labels):
        yield _comment("COLUMN", [relation, column.name], words)


def _words_for(table: Table, policy: Policy) -> str:
    if policy.is_public(table.name):
        return _PUBLIC
    return _PRIVATE.format(" each row is a protected person;" if table.name in policy.privacy_units else "")


def _words_for_view(view: ShownView) -> str:
    if view.public:
        return _PUBLIC
    return _ANSWER if view.answers else _PRIVATE.format("")


def _words_for_column(declared: ColumnPolicy, labels: tuple[str, ...]) -> str:
    """What the policy declares about a column, with the labels of an enum."""
    words = [f"a date read as {' or '.join(declared.forms)}"] if declared.forms else []
    if declared.range is not None:
        low, high = declared.range
        words.append(f"from {low:g} to {high:g}")
    if declared.dates is not None:
        words.append(f"from {declared.dates[0]} to {declared.dates[1]}")
    if declared.step is not None:
        words.append(f"in steps of {declared.step}")
    values = labels if declared.domain is None else declared.domain
    if values:
        shown = ", ".join(str(value) for value in values[:20])
        more = "" if len(values) <= 20 else f" and {len(values) - 20} more"
        words.append(f"may be grouped by: {shown}{more}")
    return "; ".join(words)


_TOLD = {"server_version": SERVER_VERSION, "server_version_num": SERVER_VERSION_NUM}

_ORIGINAL = (
    "CREATE FUNCTION pg_catalog.noisegate_current_setting{} RETURNS text STABLE STRICT LANGUAGE internal AS {}"
)

_SETTING = (
    "CREATE OR REPLACE FUNCTION pg_catalog.current_setting{} RETURNS text STABLE CALLED ON NULL INPUT LANGUAGE sql AS"
    " $$ SELECT CASE lower($1) {} ELSE pg_catalog.noisegate_current_setting({}) END $$"
)


def one_version(connection: psycopg.Connection) -> Iterator[sql.Composed | sql.SQL]:
    """Statements that make version(), current_setting and pg_settings report the version that clients see.

    Tools choose their catalog queries by the version, and later servers answer those of version 14. A redefined
    built-in function still runs the server's code unless it is inlined, so the new functions are not strict.

    Args:
      connection: of a superuser, to the catalog's database.
    """
    version = sql.Literal(f"PostgreSQL {SERVER_VERSION} (Noisegate)")
    yield sql.SQL("CREATE OR REPLACE FUNCTION pg_catalog.version() RETURNS text STABLE LANGUAGE sql AS {}").format(
        sql.Literal(f"SELECT {version.as_string()}::text")
    )
    whens = sql.SQL(" ").join(
        sql.SQL("WHEN {} THEN {}").format(sql.Literal(name), sql.Literal(value)) for name, value in _TOLD.items()
    )
    for written, source, arguments in (
        ("(text)", "show_config_by_name", "$1"),
        ("(text, boolean)", "show_config_by_name_missing_ok", "$1, $2"),
    ):
        yield sql.SQL(_ORIGINAL).format(sql.SQL(written), sql.Literal(source))
        yield sql.SQL(_SETTING).format(sql.SQL(written), whens, sql.SQL(arguments))
    yield sql.SQL("SET allow_system_table_mods = on")
    found = connection.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = 'pg_catalog.pg_settings'::regclass AND attnum > 0"
        " ORDER BY attnum"
    )
    columns = [
        sql.SQL("CASE name {} ELSE {} END AS {}").format(whens, sql.Identifier(name), sql.Identifier(name))
        if name in ("setting", "boot_val", "reset_val")
        else sql.Identifier(name)
        for (name,) in found.fetchall()
    ]
    view = "CREATE OR REPLACE VIEW pg_catalog.pg_settings AS SELECT {} FROM pg_catalog.pg_show_all_settings()"
    yield sql.SQL(view).format(sql.SQL(", ").join(columns))
    yield sql.SQL("RESET allow_system_table_mods")


READER = "noisegate_catalog"
"""The role that runs clients' catalog queries."""

_ROLE_SETTINGS = {
    "default_transaction_read_only": "on",
    "statement_timeout": "2s",
    "lock_timeout": "1s",
    "idle_in_transaction_session_timeout": "10s",
    "temp_file_limit": "64MB",
    "work_mem": "16MB",
    "track_activities": "off",
    "log_min_error_statement": "panic",  # no log may hold clients' statements
    "log_min_messages": "panic",
    "TimeZone": "UTC",
    "DateStyle": "ISO, MDY",
}
# Functions that act on other sessions, write, or outlive their statement; by name, because versions differ.
# Unlocking is allowed: asyncpg's pools do it for every returned session.
_NOT_FOR_CLIENTS = (
    r"pg_(terminate|cancel)_backend|pg_(try_)?advisory_(xact_)?lock.*|pg_notify|pg_sleep.*|pg_logical_emit_message|"
    r"pg_export_snapshot|lo_.*|lowrite|pg_log_.*"
)
_FUNCTIONS = (
    "SELECT format('%%I.%%I(%%s)', 'pg_catalog', proname, pg_get_function_identity_arguments(oid)) FROM pg_proc"
    " WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND proname ~ %s"
)
# In every catalog the reader may connect, and only we create this role.
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
"""The view that replaces `pg_database`, which lists all databases of the catalog's server."""


def create_shadow(superuser_url: str, schema: Schema, policy: Policy) -> str:
    """Create the shadow catalog again.

    Args:
      superuser_url: a role that may create databases and roles, on a server without data.
    Returns: the reader's connection URL, with its password.
    Raises: ConfigurationInvalid if the server cannot be used, or has a database of that name that is no catalog.
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
        hint = "use an empty PostgreSQL, and a role that may create databases and roles"
        raise ConfigurationInvalid("the shadow catalog cannot be set up", hint=hint) from error
    reader_url = conninfo.make_conninfo(own, user=READER, password=password)
    _check_opens(reader_url)
    return reader_url


def _reader_password(connection: psycopg.Connection) -> str:
    """The reader's password: the same for all proxies of a server; random if the server needs none."""
    own = connection.info.password
    return hmac.digest(own.encode(), READER.encode(), "sha256").hex() if own else secrets.token_urlsafe(32)


def _check_opens(reader_url: str) -> None:
    try:
        libpq.connect(reader_url).close()
    except psycopg.OperationalError:  # its text holds the address, and maybe more
        hint = f"allow {READER} to connect with a password: scram-sha-256 in its pg_hba.conf"
        raise ConfigurationInvalid(f"the role {READER} cannot connect to the shadow catalog", hint=hint) from None


def _create_database(connection: psycopg.Connection, policy: Policy, password: str) -> None:
    name = policy.name
    database, reader = sql.Identifier(name), sql.Identifier(READER)
    if connection.execute(_SOMEBODY_ELSES, (name, READER)).fetchone():
        hint = "use another PostgreSQL for `--catalog`, or drop that database if it is not needed"
        message = f"the PostgreSQL of the shadow catalog already has a database {name}, which Noisegate did not make"
        raise ConfigurationInvalid(message, hint=hint)
    known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (READER,)).fetchone()
    verb = "ALTER" if known else "CREATE"
    rights = "LOGIN NOSUPERUSER NOINHERIT NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"
    # Encrypted here, because the server may log statements.
    verifier = connection.pgconn.encrypt_password(password.encode(), READER.encode(), b"scram-sha-256").decode()
    made = sql.SQL(verb + " ROLE {} " + rights + " PASSWORD {}")
    connection.execute(made.format(reader, sql.Literal(verifier)))
    for setting, value in _ROLE_SETTINGS.items():
        change = sql.SQL("ALTER ROLE {} SET {} = {}")
        connection.execute(change.format(reader, sql.Identifier(setting), sql.Literal(value)))
    connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(database))
    connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'").format(database))
    # At once: without this right, the next proxy would take the database for a foreign one.
    connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(database, reader))
    connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
    path = sql.SQL(", ").join(map(sql.Identifier, policy.schemas))
    own = sql.SQL("ALTER ROLE {} IN DATABASE {} SET search_path = {}")  # other proxies may use the same role
    connection.execute(own.format(reader, database, path))


def _close_doors(connection: psycopg.Connection) -> None:
    connection.execute(refusing_function())
    connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    for (function,) in connection.execute(_FUNCTIONS, (f"^({_NOT_FOR_CLIENTS})$",)).fetchall():
        connection.execute(sql.SQL("REVOKE EXECUTE ON FUNCTION {} FROM PUBLIC").format(sql.SQL(function)))


_log = structlog.get_logger("noisegate.pgwire")
_SESSION_BYTES = 128 << 20
"""The most memory of a catalog session, because a short query can produce a large text."""


@contextmanager
def open_shadow(
    folder: Path, schema: Schema, policy: Policy, url: str | None, announce: Callable[[str], None]
) -> Iterator[ShadowDatabase | None]:
    """Create the shadow catalog, and stop its server at the end.

    Args:
      folder: the files of an embedded server.
      url: a superuser of an empty PostgreSQL, whose owner limits its sessions' memory; None starts an embedded one.
      announce: receives messages about waiting times, changes outside of `folder`, and a missing catalog.
    Yields: None if no embedded PostgreSQL is installed; clients can then ask, but see no tables.
    Raises: ConfigurationInvalid if the named server cannot be used.
    """
    with ExitStack() as opened:
        if url is None:
            if not folder.exists():
                announce(f"Creating a catalog without rows for psql and drivers in {folder}, once.")
            try:
                server = embedded.start(folder, announce=announce, session_bytes=_SESSION_BYTES)
            except ConfigurationInvalid as error:
                announce(f"clients of the wire protocol see no tables: {error.message}; {error.hint or ''}")
                yield None
                return
            opened.callback(server.stop)
            url = server.url()
        yield opened.enter_context(closing(ShadowDatabase(partial(create_shadow, url), schema, policy)))


def renew_shadow(shadow: ShadowDatabase, schema: Schema, policy: Policy) -> None:
    """Create the catalog again after a reload. A failure is logged, and does not undo the reload."""
    try:
        shadow.renew(schema, policy)
    except ServerError as error:
        _log.error("no catalog until the next reload", kind=type(error).__name__, message=error.message)
