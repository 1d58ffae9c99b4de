"""EXPLAIN takes PostgreSQL's options; none of them runs the statement."""

from __future__ import annotations

import pytest

from planner.errors import InvalidSyntax, PlannerError, UnsupportedSQL
from planner.parsing.explain import explained


def test_the_statement_keeps_its_place() -> None:
    for sql, statement in [
        ("EXPLAIN SELECT 1", "        SELECT 1"),
        ("\n explain\tWITH a AS (SELECT 1) SELECT 1", "\n" + 8 * " " + "\tWITH a AS (SELECT 1) SELECT 1"),
        ("Explain (SELECT 1)", "        (SELECT 1)"), ("EXPLAIN ((select 1))", "        ((select 1))"),
        ("EXPLAIN ( SELECT 1)", "        ( SELECT 1)"), ("/* a */ EXPLAIN SELECT 1", "/* a */         SELECT 1"),
        ("EXPLAIN VERBOSE SELECT 1", 16 * " " + "SELECT 1"), ("EXPLAIN (COSTS) (SELECT 1)", 16 * " " + "(SELECT 1)"),
        ("EXPLAIN\n(VERBOSE,\nFORMAT JSON) SELECT 1", f"{7 * ' '}\n{9 * ' '}\n{13 * ' '}SELECT 1"),
        ("EXPLAIN", "       "), ("SELECT 1", None), ("explaining", None), ("SELECT explain FROM t", None),
    ]:  # fmt: skip
        found = explained(sql)
        assert (None if found is None else found.sql) == statement


def test_options_are_postgresqls_and_format_counts() -> None:
    for options, form in [
        ("(FORMAT JSON)", "json"),
        ("(format 'json', verbose false, costs off)", "json"),
        ('(FORMAT "text", ANALYZE FALSE, BUFFERS 0, SERIALIZE NONE)', "text"),
        ("(ANALYZE off, VERBOSE, COSTS on, TIMING false, SETTINGS, SUMMARY true, FORMAT JSON)", "json"),
        ("(FORMAT JSON, FORMAT TEXT)", "text"),
        ("VERBOSE", "text"),
    ]:
        found = explained(f"EXPLAIN {options} SELECT 1")
        assert found is not None
        assert (found.format, found.sql.strip()) == (form, "SELECT 1"), options


def test_what_would_run_the_statement_and_what_is_no_option_is_refused_in_its_place() -> None:
    cases: list[tuple[str, type[PlannerError], str]] = [
        ("ANALYZE", UnsupportedSQL, "ANALYZE"),
        ("ANALYZE VERBOSE", UnsupportedSQL, "ANALYZE"),
        ("(FORMAT JSON, ANALYZE)", UnsupportedSQL, "ANALYZE"),
        ("(analyse on)", UnsupportedSQL, "analyse"),
        ("(FORMAT XML)", UnsupportedSQL, "FORMAT"),
        ("(VERBOSE maybe)", InvalidSyntax, "VERBOSE"),
        ("(COLOUR)", InvalidSyntax, "COLOUR"),
        ("()", InvalidSyntax, ")"),
        ("(VERBOSE,)", InvalidSyntax, ")"),
    ]
    for options, error, place in cases:
        sql = f"EXPLAIN {options} SELECT 1"
        with pytest.raises(error) as refused:
            explained(sql)
        assert refused.value.position == sql.index(place) + 1, options
        assert refused.value.hint is not None
