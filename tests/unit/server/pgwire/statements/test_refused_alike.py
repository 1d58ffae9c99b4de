"""A statement that is refused is refused with one SQLSTATE, over HTTP and over PostgreSQL's protocol."""

from __future__ import annotations

import pytest

from planner.errors import PlannerError
from planner.parsing.parse import WRITES, WRITES_IN_WITH, read
from server.error_table import problem
from server.pgwire.statements.parse_statement import READERS, command_of
from server.pgwire.statements.split_statements import split

# The first words of PostgreSQL's commands (its manual, part VI).
COMMANDS = frozenset(
    [
        "ABORT",
        "ALTER",
        "ANALYZE",
        "BEGIN",
        "CALL",
        "CHECKPOINT",
        "CLOSE",
        "CLUSTER",
        "COMMENT",
        "COMMIT",
        "COPY",
        "CREATE",
        "DEALLOCATE",
        "DECLARE",
        "DELETE",
        "DISCARD",
        "DO",
        "DROP",
        "END",
        "EXECUTE",
        "EXPLAIN",
        "FETCH",
        "GRANT",
        "IMPORT",
        "INSERT",
        "LISTEN",
        "LOAD",
        "LOCK",
        "MERGE",
        "MOVE",
        "NOTIFY",
        "PREPARE",
        "REASSIGN",
        "REFRESH",
        "REINDEX",
        "RELEASE",
        "RESET",
        "REVOKE",
        "ROLLBACK",
        "SAVEPOINT",
        "SECURITY",
        "SELECT",
        "SET",
        "SHOW",
        "START",
        "TABLE",
        "TRUNCATE",
        "UNLISTEN",
        "UPDATE",
        "VACUUM",
        "VALUES",
        "WITH",
    ]
)
QUESTIONS = {"SELECT", "WITH", "EXPLAIN", "VALUES", "TABLE"}
READ_ONLY, UNSUPPORTED = "25006", "0A000"


def _over_http(sql: str) -> str:
    with pytest.raises(PlannerError) as caught:
        read(sql)
    return problem(caught.value).code


def _over_the_wire(sql: str) -> str:
    (statement,) = split(sql)
    with pytest.raises(PlannerError) as caught:
        command_of(statement)
    return problem(caught.value).code


def test_a_command_is_refused_alike() -> None:
    for word in sorted({*COMMANDS, "REPACK", "NONSENSE"} - set(READERS) - QUESTIONS):
        sql = f"{word.lower()} something"
        assert _over_http(sql) == _over_the_wire(sql) == (READ_ONLY if word in WRITES else UNSUPPORTED), word


COPIES = ["COPY orders FROM STDIN", "COPY orders (a) FROM '/x'", "COPY orders TO '/x'"]


def test_a_copy_is_refused_alike() -> None:
    for sql in COPIES:
        assert _over_http(sql) == _over_the_wire(sql) == READ_ONLY, sql
    assert _over_http("copy orders to stdout") == UNSUPPORTED


def test_what_a_session_takes_is_no_write_to_http() -> None:
    for word in sorted(set(READERS) - {"COPY"}):
        assert _over_http(f"{word} something") == UNSUPPORTED, word


def test_comments_and_foreign_blanks_are_taken_alike() -> None:
    for sql, code in [
        ("/* a */ DELETE FROM orders WHERE x = $$a$$", READ_ONLY),
        ("-- a\nINSERT INTO orders VALUES ('a' 'b')", READ_ONLY),
        ("\u00a0SELECT count(*) FROM orders", "42601"),
    ]:
        assert _over_http(sql) == _over_the_wire(sql) == code, sql


def test_what_writes_in_a_with_is_a_write() -> None:
    assert WRITES_IN_WITH < WRITES


def test_every_write_is_a_command() -> None:
    assert COMMANDS >= WRITES
