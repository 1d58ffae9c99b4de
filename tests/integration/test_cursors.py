"""Which cursors a transaction's end and its savepoints close: those that PostgreSQL closes, tried side by side."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import pq

from server.backends.embedded import EmbeddedPostgres
from tests.support.wire_client import query
from tests.unit.server.pgwire.test_session import Talk, error

ERROR = "SELECT 1 FROM nowhere"
HELD, LIVES = "DECLARE c CURSOR WITH HOLD FOR SELECT a FROM t", "DECLARE c CURSOR FOR SELECT a FROM t"
ODBC = 'declare "SQL_CUR0x7f00" cursor {}for SELECT a FROM t ;fetch 100 in "SQL_CUR0x7f00"'

TEXTS = [
    ["BEGIN", HELD, "ROLLBACK", "FETCH 1 FROM c", HELD, "FETCH 1 FROM c"],
    ["BEGIN", HELD, ERROR, "ROLLBACK", "BEGIN", HELD, "FETCH 1 FROM c", "CLOSE c", "COMMIT"],
    ["BEGIN", HELD, "COMMIT", "BEGIN", ERROR, "ROLLBACK", "FETCH 1 FROM c", HELD, "CLOSE c", "CLOSE c"],
    ["BEGIN", HELD, ERROR, "COMMIT", "FETCH 1 FROM c"],
    [f"{HELD}; {ERROR}", "FETCH 1 FROM c"],
    [f"{HELD}; SELECT a FROM t", "FETCH 1 FROM c", "CLOSE c"],
    [f"{LIVES}; FETCH 1 FROM c", "FETCH 1 FROM c"],
    [LIVES, "FETCH 1 FROM c"],
    ["BEGIN", LIVES, "COMMIT", "FETCH 1 FROM c", "BEGIN", LIVES, "FETCH 1 FROM c", "COMMIT"],
    ["BEGIN", "SAVEPOINT s", LIVES, "ROLLBACK TO s", "FETCH 1 FROM c"],
    [
        "BEGIN",
        "SAVEPOINT s",
        HELD,
        ERROR,
        "ROLLBACK TO s",
        HELD,
        "FETCH 1 FROM c",
        "COMMIT",
        "FETCH 1 FROM c",
        "CLOSE c",
    ],
    [
        "BEGIN",
        LIVES,
        "SAVEPOINT s",
        "FETCH 1 FROM c",
        "ROLLBACK TO s",
        "FETCH 1 FROM c",
        "ROLLBACK",
        "FETCH 1 FROM c",
    ],
    ["BEGIN", HELD, "COMMIT", "BEGIN", "SAVEPOINT s", "ROLLBACK TO s", "FETCH 1 FROM c", "ROLLBACK", "CLOSE c"],
    ["BEGIN", "SAVEPOINT s", LIVES, "RELEASE s", "SAVEPOINT t", "ROLLBACK TO t", "FETCH 1 FROM c", "ROLLBACK"],
    ["BEGIN", "SAVEPOINT s", "SAVEPOINT t", LIVES, "RELEASE t", "ROLLBACK TO s", "FETCH 1 FROM c", "ROLLBACK"],
    [
        "BEGIN",
        "SAVEPOINT s",
        LIVES,
        "SAVEPOINT s",
        "ROLLBACK TO s",
        "FETCH 1 FROM c",
        "RELEASE s",
        "ROLLBACK TO s",
        LIVES,
    ],
    ["BEGIN", "SAVEPOINT s", "SAVEPOINT s", LIVES, "RELEASE s", "ROLLBACK TO s", LIVES, "ROLLBACK", "CLOSE c"],
    [
        "BEGIN;" + ODBC.format("with hold "),
        ERROR,
        "ROLLBACK",
        "BEGIN;" + ODBC.format("with hold "),
        'close "SQL_CUR0x7f00"',
    ],
    [
        "BEGIN;SAVEPOINT e;" + ODBC.format(""),
        ERROR,
        "ROLLBACK TO e;RELEASE e",
        ODBC.format(""),
        "COMMIT",
        ODBC.format(""),
    ],
]
"""What is sent, one text of statements after the other."""


@pytest.fixture
def reference(embedded_postgres: EmbeddedPostgres) -> Iterator[psycopg.Connection]:
    """PostgreSQL with the table of three rows that the scripted gateway answers from."""
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute("CREATE TEMPORARY TABLE t AS SELECT a FROM generate_series(1, 3) a")
        yield connection


@pytest.mark.parametrize("texts", TEXTS, ids=" | ".join)
def test_cursors_live_as_long_as_postgresqls(reference: psycopg.Connection, texts: list[str]) -> None:
    talk = Talk()
    for number, text in enumerate(texts):
        assert ours(talk, text) == theirs(reference, text), texts[: number + 1]


def ours(talk: Talk, text: str) -> tuple[str, int]:
    """The SQLSTATE of an error, and how many rows came."""
    said = talk.say(query(text))
    failed = any(kind == "E" for kind, _ in said)
    return error(said)["C"] if failed else "", sum(kind == "D" for kind, _ in said)


def theirs(reference: psycopg.Connection, text: str) -> tuple[str, int]:
    """The same of PostgreSQL."""
    reference.pgconn.send_query(text.encode())
    code, rows = "", 0
    while (result := reference.pgconn.get_result()) is not None:
        rows += result.ntuples
        code = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode() or code
    return code, rows
