"""Which PostgreSQL the catalog says it is: the one that sessions are told, by every way of asking."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
from psycopg import sql

from server.pgwire.state.settings import SERVER_VERSION, SERVER_VERSION_NUM

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
