from __future__ import annotations

import pytest
from sqlglot import exp

from planner.errors import InvalidSyntax, ReadOnly, StatementTooComplex, StatementTooLong, UnsupportedSQL
from planner.limits import MAX_LENGTH, MAX_NESTING
from planner.parsing.parse import parse
from tests.support.refused import assert_refused

# statement, error, a word of its message, the text at its position
REFUSED = [
    ("DELETE FROM orders", ReadOnly, "DELETE", "DELETE"), ("  create table x (a int)", ReadOnly, "CREATE", "create"),
    ("WITH x AS (INSERT INTO a VALUES (1) RETURNING 1) SELECT 1", ReadOnly, "INSERT", "INSERT"),
    ("SELECT 1 UNION SELECT 2", UnsupportedSQL, "UNION", "UNION"),
    ("SELECT 1 EXCEPT ALL SELECT 2", UnsupportedSQL, "EXCEPT", "EXCEPT"),
    ("EXPLAIN SELECT 1", UnsupportedSQL, "EXPLAIN", "EXPLAIN"), ("SET x = 1", UnsupportedSQL, "SET", "SET"),
    ("WITH RECURSIVE x AS (SELECT b FROM a UNION SELECT b FROM x) SELECT count(*) FROM x", UnsupportedSQL,
     "RECURSIVE", "RECURSIVE"),
    ("SELECT DISTINCT ON (x) x, count(*) FROM a GROUP BY x", UnsupportedSQL, "DISTINCT ON", "DISTINCT"),
    ("SELECT count(*) FROM a TABLESAMPLE SYSTEM (1)", UnsupportedSQL, "TABLESAMPLE", "TABLESAMPLE"),
    ("SELECT string_agg(x, ',') FROM a", UnsupportedSQL, "function string_agg", "string_agg"),
    ("SELECT count(*) FROM a semi JOIN b ON true", UnsupportedSQL, "SEMI JOIN", "semi"),
    ("SELECT count(*) FROM a WHERE x = ARRAY[1]", UnsupportedSQL, "array", None),
    ("SELECT count(*) FROM a WHERE x[1] = 1", UnsupportedSQL, "array", "["),
    ("SELECT count(*) FROM a WHERE x = ANY(y)", UnsupportedSQL, "ANY", "ANY"),
    ("SELECT count(*) FROM a WHERE x = ANY('{{1},{2}}')", UnsupportedSQL, "ANY", "ANY"),
    ("SELECT count(*) FROM a WHERE x < ANY(ARRAY[1])", UnsupportedSQL, "ANY", "ANY"),
    ("SELECT count(*) FROM a FOR UPDATE", UnsupportedSQL, "FOR UPDATE", "FOR"),
    ("SELECT count(*) FROM ONLY a", UnsupportedSQL, "ONLY", "ONLY"),
    ("SELECT count(*) FROM f(1)", UnsupportedSQL, "function f", "f("),
    ("SELECT count(*) OVER () FROM a", UnsupportedSQL, "window", None),
    ("SELECT count(*) FROM a WHERE random() < 1", UnsupportedSQL, "function random", "random"),
    ("SELECT count(*) FROM a WHERE pg_sleep(1) IS NULL", UnsupportedSQL, "function pg_sleep", "pg_sleep"),
    ("SELECT count(*) FROM a WHERE x ~ 'y+'", UnsupportedSQL, "regular expression", "x ~"),
    ("SELECT count(*) FROM a WHERE x = E'y'", UnsupportedSQL, "escape string", "E'y'"),
    ("SELECT count(*) FROM a GROUP BY ROLLUP (x)", UnsupportedSQL, "ROLLUP", "ROLLUP"),
    ("SELECT count(*) FROM a; SELECT 1", InvalidSyntax, "more than one", ";"),
    ("SELECT count(*) FROM a WHERE", InvalidSyntax, "ends too early", "E"),
    ("SELECT FROM WHERE", InvalidSyntax, "syntax error at WHERE", "WHERE"),
    ("SELECT sum(var_map(a)) FROM t", InvalidSyntax, "cannot be parsed", "SELECT"),
    ("SELECT date_part('', a) FROM t", InvalidSyntax, "cannot be parsed", "SELECT"),
    ("SELECT 'abc", InvalidSyntax, "does not end", "'abc"), ("", InvalidSyntax, "empty", None),
    (" ; ", InvalidSyntax, "empty", None), ("SELECT 'a\0b'", InvalidSyntax, "character", "\0"),
    ("SELECT '\ud800'", InvalidSyntax, "character", "\ud800"),
]  # fmt: skip


def test_refuses_by_name_and_place() -> None:
    for sql, error, word, at in REFUSED:
        assert_refused(parse, sql, error, word, at)


def test_position_survives_several_lines() -> None:
    sql = "SELECT count(*)\nFROM a\n  , b é\nWHERE f(x) = 1"
    with pytest.raises(UnsupportedSQL) as caught:
        parse(sql)
    assert caught.value.position == sql.index("f(x)") + 1


def test_reads_what_the_grammar_allows() -> None:
    for sql in [
        "SELECT count(*) FROM a;",
        "-- why\nSELECT /* what */ sum(x * (1 - y) / 2) AS s, g FROM a JOIN b USING (z), c CROSS JOIN d GROUP BY g",
        "SELECT count(x) FROM s.a AS q WHERE NOT (x IN (1, 2) OR y BETWEEN 1 AND 2) AND w NOT LIKE 'a'",
        "WITH x AS (SELECT y FROM a) SELECT count(DISTINCT y) FILTER (WHERE y > 1) FROM x NATURAL JOIN (SELECT 1) b",
        "(SELECT DISTINCT g, avg(y) FROM a LEFT JOIN b ON a.x = b.x GROUP BY g HAVING avg(y) > 1 ORDER BY 2 LIMIT 3)",
        "SELECT count(*) FROM a OFFSET 3 ROWS FETCH NEXT 2 ROWS ONLY",
        "SELECT sum(CASE WHEN a > DATE '1994-01-01' + INTERVAL '1' YEAR THEN 1 ELSE -2.5 END) FROM a",
    ]:  # fmt: skip
        assert isinstance(parse(sql), exp.Select)


def test_length_limit_is_exact() -> None:
    base = "SELECT count(*) FROM a"
    assert parse(base + " " * (MAX_LENGTH - len(base)))
    with pytest.raises(StatementTooLong):
        parse(base + " " * (MAX_LENGTH - len(base) + 1))


def test_nesting_limit_is_exact_and_comes_before_the_parser() -> None:
    for opening, closing in (("(", ")"), ("NOT ", ""), ("- ", ""), ("CASE WHEN ", " THEN 1 END")):
        assert parse(f"SELECT {opening * MAX_NESTING}x{closing * MAX_NESTING} FROM a")
        with pytest.raises(StatementTooComplex):
            parse(f"SELECT {opening * (MAX_NESTING + 1)}x{closing * (MAX_NESTING + 1)} FROM a")


def test_parentheses_in_strings_and_names_do_not_nest() -> None:
    assert parse(f"SELECT count(*) FROM a WHERE x = '{'(' * 100}' AND \"{'(' * 50}\" = 1")


def test_a_chain_of_queries_in_with_is_as_deep_as_it_is_long() -> None:
    for count in (65, 400):
        chain = ", ".join(f"t{n} AS (SELECT * FROM {f't{n - 1}' if n else 'orders'})" for n in range(count))
        with pytest.raises(StatementTooComplex, match="64 queries in WITH"):
            parse(f"WITH {chain} SELECT count(*) FROM t{count - 1}")
    assert parse(f"WITH {chain.split(', t64 ')[0]} SELECT count(*) FROM t63")


def test_deepest_statement_parses_far_down_the_stack() -> None:
    def below(frames: int) -> exp.Select:
        if frames:
            return below(frames - 1)
        return parse(f"SELECT {'(' * MAX_NESTING}x{')' * MAX_NESTING} FROM a")

    assert below(200)


def test_running_out_of_stack_is_the_planners_own_error() -> None:
    def below(frames: int) -> exp.Select:
        if frames:
            return below(frames - 1)
        return parse(f"SELECT {'(' * MAX_NESTING}x{')' * MAX_NESTING} FROM a")

    refused = 0
    for frames in range(600, 880, 20):
        try:
            below(frames)
        except StatementTooComplex:
            refused += 1
        except RecursionError:
            break  # the stack ended before the planner was entered, or inside its first lines
    assert refused


def test_a_long_case_is_planned_and_a_longer_one_is_refused_where_it_becomes_too_long() -> None:
    def branches(number: int) -> str:
        whens = (f"WHEN a > {n} AND b < {n} THEN a * {n}.5" for n in range(number))
        return f"SELECT sum(CASE {' '.join(whens)} END) FROM t"

    parse(branches(300))
    with pytest.raises(StatementTooComplex, match="3,300 words and signs") as failed:
        parse(branches(1200))
    assert branches(1200)[: failed.value.position].count("WHEN") == 314


def test_the_values_of_a_list_count_half() -> None:
    def among(number: int, *, spaced: str = ", ") -> str:
        return f"SELECT count(*) FROM t WHERE a IN ({spaced.join(map(str, range(number)))})"

    parse(among(6_500))
    with pytest.raises(StatementTooComplex, match="words and signs"):
        parse(among(6_600))
    parse(f"SELECT count(*) FROM t WHERE a = ANY('{{{','.join(['1'] * 6_600)}}}')")
    with pytest.raises(StatementTooComplex, match="more than 6,600 elements"):
        parse(f"SELECT count(*) FROM t WHERE a = ANY('{{{','.join(['1'] * 6_601)}}}')")
