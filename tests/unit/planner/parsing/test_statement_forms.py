"""TABLE, a SELECT of a constant and EXISTS of it mean what they stand for; counts that no LIMIT takes are refused."""

from __future__ import annotations

import pytest

from planner.errors import InvalidSyntax
from planner.parsing.parse import read


def test_what_stands_for_something_simpler() -> None:
    for sql, simpler in [
        ("TABLE nation", "SELECT * FROM nation"),
        ("(table nation) UNION ALL TABLE region", "(SELECT * FROM nation) UNION ALL SELECT * FROM region"),
        ("WITH a AS (TABLE nation) SELECT * FROM a", "WITH a AS (SELECT * FROM nation) SELECT * FROM a"),
        ("SELECT 1 AS table FROM t", "SELECT 1 AS table FROM t"),
        ("SELECT a FROM t WHERE b > (SELECT DATE '2024-01-31')", "SELECT a FROM t WHERE b > (DATE '2024-01-31')"),
        ("SELECT a FROM t WHERE b > ((SELECT DATE '2024-01-31'))", "SELECT a FROM t WHERE b > (DATE '2024-01-31')"),
        ("SELECT a FROM t WHERE b IN (SELECT 1)", "SELECT a FROM t WHERE b IN (SELECT 1)"),
        ("SELECT a FROM t WHERE b = (SELECT max(1))", "SELECT a FROM t WHERE b = (SELECT max(1))"),
        ("SELECT a FROM t WHERE b = (SELECT 1 LIMIT 0)", "SELECT a FROM t WHERE b = (SELECT 1 LIMIT 0)"),
        ("SELECT a FROM t WHERE EXISTS (SELECT 1)", "SELECT a FROM t WHERE true"),
        ("SELECT a FROM t WHERE EXISTS (SELECT FROM u)", "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u)"),
        (
            "SELECT a FROM t WHERE EXISTS (SELECT 1 WHERE false)",
            "SELECT a FROM t WHERE EXISTS (SELECT 1 WHERE false)",
        ),
    ]:
        assert read(sql).tree == read(simpler).tree, sql


def test_a_count_that_no_limit_takes_is_refused_where_it_stands() -> None:
    for sql, message in [
        ("SELECT a FROM t LIMIT -1", "LIMIT must not be negative"),
        ("SELECT a FROM t LIMIT (-1)::int", "LIMIT must not be negative"),
        ("SELECT a FROM t OFFSET -2", "OFFSET must not be negative"),
        ("SELECT a FROM t LIMIT 'two'", "LIMIT takes a whole number"),
    ]:
        with pytest.raises(InvalidSyntax, match=message) as refused:
            read(sql)
        assert refused.value.position == sql.index(message.split()[0]) + 1, sql
    for sql in ("SELECT a FROM t LIMIT '2'", "SELECT a FROM t LIMIT NULL", "SELECT a FROM t LIMIT ALL"):
        read(sql)
