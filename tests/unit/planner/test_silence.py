"""The parser library may log what it reads; nothing of a statement reaches a log or the terminal."""

from __future__ import annotations

import logging
from contextlib import suppress

import pytest
from sqlglot import exp

from planner.errors import PlannerError
from planner.parsing.parse import parse
from planner.rewriting.rewrite import to_sql

SECRET = "sesame42"
STATEMENTS = [
    f"SHOW {SECRET}", f"CALL {SECRET}('{SECRET}')", f"EXPLAIN SELECT '{SECRET}'", f"ALTER SYSTEM SET {SECRET} = 1",
    f"VACUUM {SECRET}", f"WITH a AS (CALL {SECRET}) SELECT 1", f"SELECT count(*) FROM a WHERE x = '{SECRET}' AND (",
    f"SELECT '{SECRET}", f"SELECT x -> '$.[{SECRET}' FROM a", f"SELECT x #> '{{{SECRET}' FROM a",
    f"SELECT count(*) FROM a WHERE x = '{SECRET}'", f"GRANT {SECRET} TO {SECRET}",
    f"(CREATE FUNCTION {SECRET}() RETURNS int AS '{SECRET}')",
    f"WITH a AS (ALTER TABLE {SECRET} OWNER TO {SECRET}) SELECT 1",
]  # fmt: skip


def test_no_log_holds_the_statement(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="sqlglot")
    for statement in STATEMENTS:
        with suppress(PlannerError):
            parse(statement)
        shown = capfd.readouterr()
        assert SECRET not in caplog.text + shown.out + shown.err, statement


def test_the_generator_is_silent_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="sqlglot")
    to_sql(exp.select(exp.Literal.string(SECRET)))
    assert SECRET not in caplog.text
