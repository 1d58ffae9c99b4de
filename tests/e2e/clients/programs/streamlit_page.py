"""Streamlit's connection of the type sql, which is SQLAlchemy under a cache."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

logging.disable(logging.WARNING)  # that no page is running, which is so

import pandas  # noqa: E402
import sqlalchemy  # noqa: E402
import streamlit  # noqa: E402
import task  # noqa: E402

URL = f"postgresql+psycopg://{task.USER}:{task.PASSWORD}@{task.HOST}:{task.PORT}/demo"
NOTHING_KEPT = "-c noisegate.reuse=never"

page = streamlit.connection("proxy", type="sql", url=URL, connect_args=task.TLS)


def asked(sql: str, values: dict[str, object] | None = None) -> list[list[object]]:
    frame: Any = page.query(sql, params=values, show_spinner=False)
    return [list(row) for row in frame.itertuples(index=False, name=None)]


def frame_of(rest: Sequence[str]) -> list[list[str]]:
    frame: Any = page.query(rest[0], show_spinner=False)
    return [[name, pandas.api.types.infer_dtype(frame[name])] for name in frame.columns]


def twice(rest: Sequence[str]) -> list[object]:
    sql, keep_s = rest
    ttl = float(keep_s) if keep_s else None
    anew = streamlit.connection("anew", type="sql", url=URL, connect_args=task.TLS | {"options": NOTHING_KEPT})
    return [anew.query(sql, ttl=ttl, show_spinner=False).iat[0, 0].item() for _ in range(2)]


def state(refused: BaseException | None) -> str:
    return str(getattr(getattr(refused, "orig", None), "sqlstate", ""))


def refusal(rest: Sequence[str]) -> str:
    try:
        asked(rest[0])
    except pandas.errors.DatabaseError as refused:
        return state(refused.__cause__)
    return ""


def cancelled(rest: Sequence[str]) -> str:
    with page.session as session:
        task.later(session.connection().connection.dbapi_connection.cancel_safe)
        try:
            session.execute(sqlalchemy.text(rest[0]))
            code = ""
        except sqlalchemy.exc.DBAPIError as refused:
            code = state(refused)
        session.rollback()
        session.execute(sqlalchemy.text("SELECT 1"))
    return code


task.do(
    {
        "tables": lambda _: sqlalchemy.inspect(page.engine).get_table_names(),
        "rows": lambda statements: [asked(sql) for sql in statements],
        "prepared": lambda rest: [asked(rest[0], {"price": int(value)})[0][0] for value in rest[1:]],
        "frame": frame_of,
        "twice": twice,
        "refusal": refusal,
        "cancelled": cancelled,
    }
)
