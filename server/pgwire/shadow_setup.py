"""Setting up a shadow database: the policy's tables without rows, and a role that may look and do nothing else.

It stands in an embedded PostgreSQL, or one that the custodian names, and says by every way of asking that it is the
version that sessions are told.
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
_ANSWER = "private: an answer of its own; SELECT its rows, which are noisy and charged"


_REFUSES = "noisegate_refuses"


def schema_statements(schema: Schema, policy: Policy, reader: str) -> Iterator[sql.Composed]:
    """Statements for an empty database.

    Only tables, views and columns that a policy lets people query are made, without rows, defaults or checks.
    `reader` has the right to SELECT from tables and views, which tools look for before they show one, and yet reads
    none of them: a question that is sent here by mistake fails instead of counting nothing.
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
    """A view whose columns have the names and types of the real one's, with the right to SELECT; reading it fails.

    The view is all its condition refuses by: no table is behind it on which a row policy could stand. Every condition
    is worked out where a statement is planned, each by itself, so what stands around the view cannot save it.
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
    """The function by which reading is refused: immutable, so that planning a statement that reads calls it."""
    return sql.SQL(
        f"CREATE FUNCTION pg_catalog.{_REFUSES}(name text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = 'permission denied for table ' || name; END $$"
    )


def _shown_and_not_read(table: str, reader: str, *, public: bool) -> Iterator[sql.Composed]:
    """The right to SELECT, and a row policy that refuses every statement that would; psql's \\d shows its name."""
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
        # The type is one of a fixed list, so it may be text of the statement.
        yield sql.SQL("{} " + kind + nullable).format(sql.Identifier(column.name))
    for key in table.keys:
        columns = sql.SQL(", ").join(map(sql.Identifier, key))
        yield sql.SQL("PRIMARY KEY ({})" if key == table.primary_key else "UNIQUE ({})").format(columns)


def _known_type(column: Column) -> str:
    """A type that every PostgreSQL has."""
    return column.type if _KNOWN_TYPE.fullmatch(column.type) else "text"


def _foreign_key(table: Table, key: ForeignKey) -> sql.Composed:
    return sql.SQL("ALTER TABLE {} ADD FOREIGN KEY ({}) REFERENCES {} ({})").format(
        _name(table.name),
        sql.SQL(", ").join(map(sql.Identifier, key.columns)),
        _name(key.references),
        sql.SQL(", ").join(map(sql.Identifier, key.key)),
    )


def _comment(kind: Literal["TABLE", "VIEW", "COLUMN"], place: list[str], words: str) -> sql.Composed:
    """Of a relation, by its canonical name, or of a column of it."""
    name = sql.Identifier(*name_parts(place[0]), *place[1:])
    return sql.SQL("COMMENT ON " + kind + " {} IS {}").format(name, sql.Literal(words))


def _column_comment(relation: str, column: Column, declared: ColumnPolicy) -> Iterator[sql.Composed]:
    if words := _words_for_column(declared, sql_type(column.type).labels):
        yield _comment("COLUMN", [relation, column.name], words)


def _words_for(table: Table, policy: Policy) -> str:
    if policy.is_public(table.name):
        return _PUBLIC
    return _PRIVATE.format(" a row of it is a person who is protected;" if table.name in policy.privacy_units else "")


def _words_for_view(view: ShownView) -> str:
    if view.public:
        return _PUBLIC
    return _ANSWER if view.answers else _PRIVATE.format("")


def _words_for_column(declared: ColumnPolicy, labels: tuple[str, ...]) -> str:
    """What the policy says of a column, and an enum of itself, which analysts may know."""
    words = []
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
    """Statements by which version(), current_setting and pg_settings of a database say what clients are told.

    Tools choose by the one what they ask the other, and a 14's questions are answered by every later server. Calls of
    a built-in function go to the server's own code whatever its definition says, unless they are inlined, which those
    of a function that is not strict are.

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


_log = structlog.get_logger("noisegate.pgwire")
_SESSION_BYTES = 128 << 20
"""What a session of the catalog may hold in memory: clients can make large texts of nothing."""


@contextmanager
def open_shadow(
    folder: Path, schema: Schema, policy: Policy, url: str | None, announce: Callable[[str], None]
) -> Iterator[ShadowDatabase | None]:
    """Set up the shadow database anew, and stop what was started for it.

    Args:
      folder: where an embedded server keeps its files.
      url: a superuser of an empty PostgreSQL; None starts an embedded one. What its sessions hold in memory is
        limited by whoever runs it; of an embedded one's it is limited here.
      announce: is told that there is something to wait for, what is changed outside of `folder`, and why there is no
        catalog, where there is none.
    Yields: None where no embedded PostgreSQL is installed: clients are answered, but cannot look at tables.
    Raises: ConfigurationInvalid when the server named cannot be used.
    """
    with ExitStack() as opened:
        if url is None:
            if not folder.exists():
                announce(f"For psql and drivers a catalog without rows is made, once, in {folder}.")
            try:
                server = embedded.start(folder, announce=announce, session_bytes=_SESSION_BYTES)
            except ConfigurationInvalid as error:
                announce(f"clients of the wire protocol cannot look at tables: {error.message}; {error.hint or ''}")
                yield None
                return
            opened.callback(server.stop)
            url = server.url()
        yield opened.enter_context(closing(ShadowDatabase(partial(create_shadow, url), schema, policy)))


def renew_shadow(shadow: ShadowDatabase, schema: Schema, policy: Policy) -> None:
    """Make the catalog anew after a reload; one that cannot be made is no reason to go back to the policy before."""
    try:
        shadow.renew(schema, policy)
    except ServerError as error:
        _log.error("no catalog until the next reload", kind=type(error).__name__, message=error.message)
