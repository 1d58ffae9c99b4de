"""ADBC: its cursor, and what pandas and polars read through it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import task


def connected() -> Any:
    return closing(adbc.connect(task.URI, autocommit=True))


def tables(_: Sequence[str]) -> list[str]:
    with connected() as connection:
        known = connection.adbc_get_objects(depth="tables", db_schema_filter="public").read_all().to_pylist()
    (catalog,) = (one for one in known if one["catalog_name"] == "demo")
    return [table["table_name"] for schema in catalog["catalog_db_schemas"] for table in schema["db_schema_tables"]]


def asked(connection: Any, sql: str, values: Sequence[object] | None = None) -> list[list[object]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return [list(row) for row in cursor.fetchall()]


def rows(statements: Sequence[str]) -> list[list[list[object]]]:
    with connected() as connection:
        return [asked(connection, sql) for sql in statements]


def prepared(rest: Sequence[str]) -> list[object]:
    with connected() as connection:
        return [asked(connection, rest[0], [int(value)])[0][0] for value in rest[1:]]


def without_copy(rest: Sequence[str]) -> list[list[object]]:
    with connected() as connection, connection.cursor() as cursor:
        cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
        cursor.execute(rest[0])
        return [list(row) for row in cursor.fetchall()]


def state(refused: adbc.Error) -> str:
    return refused.sqlstate or ""


def refusal(rest: Sequence[str]) -> str:
    with connected() as connection:
        try:
            asked(connection, rest[0])
        except adbc.Error as refused:
            return state(refused)
    return ""


def cancelled(rest: Sequence[str]) -> str:
    with connected() as connection, connection.cursor() as cursor:
        task.later(cursor.adbc_cancel)
        try:
            cursor.execute(rest[0])
            cursor.fetchall()
            code = ""
        except adbc.Error as refused:
            code = state(refused)
        asked(connection, "SELECT 1")
    return code


def pandas(rest: Sequence[str]) -> list[list[object]]:
    import pandas

    with connected() as connection:
        frame = pandas.read_sql(rest[0], connection)
    return [list(frame.columns), *frame.values.tolist()]


def polars(rest: Sequence[str]) -> list[list[object]]:
    import polars

    frame = polars.read_database_uri(rest[0], task.URI, engine="adbc")
    return [frame.columns, *map(list, frame.rows())]


task.do(
    {
        "tables": tables,
        "rows": rows,
        "prepared": prepared,
        "without_copy": without_copy,
        "refusal": refusal,
        "cancelled": cancelled,
        "pandas": pandas,
        "polars": polars,
    }
)
