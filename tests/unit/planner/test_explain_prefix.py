from __future__ import annotations

import pytest

from planner.errors import UnsupportedSQL
from planner.explain_prefix import explained_statement


@pytest.mark.parametrize(
    ("sql", "statement"),
    [
        ("EXPLAIN SELECT 1", "        SELECT 1"),
        ("\n explain\tWITH a AS (SELECT 1) SELECT 1", "\n" + 8 * " " + "\tWITH a AS (SELECT 1) SELECT 1"),
        ("Explain (SELECT 1)", "        (SELECT 1)"),
        ("EXPLAIN ((select 1))", "        ((select 1))"),
        ("EXPLAIN", "       "),
        ("SELECT 1", None),
        ("explaining", None),
        ("SELECT explain FROM t", None),
    ],
)
def test_the_statement_keeps_its_place(sql: str, statement: str | None) -> None:
    assert explained_statement(sql) == statement


@pytest.mark.parametrize(
    ("sql", "position"),
    [("EXPLAIN ANALYZE SELECT 1", 9), ("explain verbose select 1", 9), ("EXPLAIN (FORMAT json) SELECT 1", 9)],
)
def test_options_are_refused_by_name(sql: str, position: int) -> None:
    with pytest.raises(UnsupportedSQL) as refused:
        explained_statement(sql)
    assert refused.value.position == position
    assert refused.value.hint is not None
