"""connectorx, by itself and under polars; it tells no SQLSTATE, and cancels nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import connectorx
import task

URI = f"postgresql://{task.USER}:{task.PASSWORD}@{task.HOST}:{task.PORT}/demo?sslmode=require&sslrootcert={task.AUTHORITY}"


def asked(sql: str, protocol: str = "binary") -> list[list[object]]:
    found: Any = connectorx.read_sql(URI, sql, return_type="arrow", protocol=protocol)
    return [list(row.values()) for row in found.to_pylist()]


def tables(_: Sequence[str]) -> list[object]:
    return [row[0] for row in asked(task.TABLES_SQL)]


def refusal(rest: Sequence[str]) -> str:
    try:
        asked(rest[0])
    except RuntimeError as refused:
        return str(refused)
    return ""


def polars(rest: Sequence[str]) -> list[list[object]]:
    import polars

    frame = polars.read_database_uri(rest[0], URI, engine="connectorx")
    return [frame.columns, *map(list, frame.rows())]


task.do(
    {
        "tables": tables,
        "rows": lambda statements: [asked(sql) for sql in statements],
        "prepared": lambda rest: [asked(rest[0].format(value))[0][0] for value in rest[1:]],
        "by": lambda rest: asked(rest[1], rest[0]),
        "refusal": refusal,
        "polars": polars,
    }
)
