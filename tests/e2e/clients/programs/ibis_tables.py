"""ibis: tables as expressions, and statements as they stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis
import psycopg
import task


def connected() -> Any:
    return ibis.postgres.connect(
        host=task.HOST, port=int(task.PORT), user=task.USER, password=task.PASSWORD, database="demo", **task.TLS
    )


def asked(connection: Any, sql: str) -> list[list[object]]:
    with connection.raw_sql(sql) as cursor:
        return [list(row) for row in cursor.fetchall()]


def prepared(rest: Sequence[str]) -> list[object]:
    """A parameter is ibis's own: the count that `rest` holds as SQL, as an expression of it."""
    orders, above = connected().table("orders"), ibis.param("int64")
    count = orders.filter(orders.o_totalprice > above).count()
    return [int(count.execute(params={above: int(value)})) for value in rest[1:]]


def by_nation(_: Sequence[str]) -> list[list[object]]:
    connection = connected()
    customer, nation = connection.table("customer"), connection.table("nation")
    joined = customer.join(nation, customer.c_nationkey == nation.n_nationkey)
    frame = joined.group_by("n_name").agg(customers=lambda rows: rows.count()).execute()
    return [list(frame.columns), *frame.values.tolist()]


def refusal(rest: Sequence[str]) -> str:
    try:
        asked(connected(), rest[0])
    except psycopg.Error as refused:
        return refused.sqlstate or ""
    return ""


def cancelled(rest: Sequence[str]) -> str:
    connection = connected()
    task.later(connection.con.cancel_safe)
    try:
        asked(connection, rest[0])
        code = ""
    except psycopg.Error as refused:
        code = refused.sqlstate or ""
    asked(connection, "SELECT 1")
    return code


def columns(rest: Sequence[str]) -> dict[str, str]:
    return {name: str(kind) for name, kind in connected().table(rest[0]).schema().items()}


def rows(statements: Sequence[str]) -> list[list[list[object]]]:
    connection = connected()
    return [asked(connection, sql) for sql in statements]


def sql(rest: Sequence[str]) -> str:
    """The hint where ibis would find out a statement's columns by a temporary view."""
    try:
        connected().sql(rest[0]).execute()
    except psycopg.Error as refused:
        return refused.diag.message_hint or ""
    return ""


def described(rest: Sequence[str]) -> list[list[object]]:
    """The same with its columns named, which needs no view."""
    return connected().sql(rest[0], schema={"n": "int64"}).execute().values.tolist()


task.do(
    {
        "tables": lambda _: connected().list_tables(),
        "columns": columns,
        "rows": rows,
        "prepared": prepared,
        "by_nation": by_nation,
        "refusal": refusal,
        "cancelled": cancelled,
        "sql": sql,
        "described": described,
    }
)
