"""What PostgreSQL refuses as a syntax error is refused here: statements, mutated word by word, asked of both."""

from __future__ import annotations

import random
from collections.abc import Iterator

import psycopg
import pytest

from planner.errors import PlannerError
from planner.parsing import lexer
from planner.parsing.lexer import lex
from planner.parsing.parse import private_select, read
from planner.parsing.syntax import check_syntax
from planner.public.route import check_public
from server.backends.embedded import EmbeddedPostgres
from tests.support.seeds import examples

CORPUS = [
    "SELECT count(*) FROM a",
    "SELECT g, sum(x * (1 - y) / 2) AS s FROM a JOIN b USING (z), c CROSS JOIN d WHERE a.x = c.x GROUP BY g",
    "SELECT count(x) n FROM s.a AS q WHERE NOT (x IN (1, 2) OR y BETWEEN 1 AND 2) AND w NOT LIKE 'a%' ESCAPE '!'",
    "WITH x AS (SELECT y FROM a) SELECT count(DISTINCT y) FILTER (WHERE y > 1) FROM x NATURAL JOIN (SELECT 1 AS o) b",
    "(SELECT DISTINCT g, avg(y) FROM a LEFT JOIN b ON a.x = b.x GROUP BY 1 HAVING avg(y) > 1 ORDER BY 2 LIMIT 3)",
    "SELECT count(*) FROM a OFFSET 3 ROWS FETCH NEXT 2 ROWS ONLY",
    "SELECT sum(CASE WHEN a > DATE '1994-01-01' + INTERVAL '1' YEAR THEN 1 ELSE -2.5 END) FROM a",
    "SELECT extract(year FROM d), count(*) FROM a WHERE d IS NOT NULL AND e IS DISTINCT FROM $1 GROUP BY 1",
    "SELECT sum(x::numeric(4, 1) % 3 ^ 2) FROM a TABLESAMPLE BERNOULLI (10) WHERE x::double precision < 1e3",
    "SELECT count(*) FROM a x JOIN b y ON x.i = y.i JOIN c z ON y.i = z.i WHERE x.t || 'b' = y.t AND x.j <> z.j",
    "SELECT count(*) FROM a WHERE substring(t FROM 1 FOR 2) = upper(trim(BOTH 'x' FROM u)) OR position('a' IN t) > 0",
    "SELECT count(*) FROM a WHERE coalesce(x, 0) >= greatest(y, nullif(z, 1)) AND CAST(x AS int) <= 4 AND b IS TRUE",
    "SELECT a.x, b.y FROM a FULL JOIN b ON a.x = b.x WHERE EXISTS (SELECT 1 FROM c WHERE c.x = a.x) ORDER BY 1 DESC",
    "SELECT x FROM a UNION ALL (SELECT y FROM b ORDER BY y LIMIT 1) EXCEPT SELECT z FROM c WHERE z IN (SELECT 1)",
    "SELECT max(x), min(y) FROM ((SELECT x, y FROM a) AS q (x, y) JOIN c USING (x)) WHERE t > timestamp '2020-01-01'",
    "SELECT round(avg(x), 2) FROM a WHERE t::timestamp(3) with time zone > now() - INTERVAL '3' DAY GROUP BY z",
    'SELECT "select" FROM "from" AS f WHERE f."x" = 1 -- why\n /* what */ AND $2 ;',
]  # fmt: skip
_WRITTEN = """
( ) , , , . + - * / % ^ = <> < > <= == != && || ! :: : ; ' " ` # ? @ [ ] $1 $2,$1 $x 0x1F 1_000 1.5e3 1e .5 1.
B'1' E'a' 'a' "A" a b x y SELECT DISTINCT ALL FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET FETCH FIRST NEXT ROWS
ONLY TOP DIV MOD ON USING JOIN INNER LEFT RIGHT FULL OUTER CROSS NATURAL SEMI ANTI ASOF UNION INTERSECT EXCEPT
MINUS AND OR NOT IN IS NULL TRUE BETWEEN SYMMETRIC LIKE ILIKE ESCAPE SIMILAR TO RLIKE REGEXP GLOB CASE WHEN THEN
ELSE END CAST AS COUNT SUM AVG MIN FILTER OVER PARTITION WITH RECURSIVE INTERVAL DATE TIMESTAMP TIME ZONE DAY
MONTH WEEK YEAR EXTRACT SUBSTRING TRIM POSITION COALESCE NULLIF GREATEST INT INTEGER NUMERIC VARCHAR DOUBLE
PRECISION TEXT ASC DESC NULLS LAST ISNULL NOTNULL UNKNOWN TABLESAMPLE BERNOULLI EXISTS ANY ROW VALUES USER DEFAULT
PIVOT QUALIFY LATERAL IF COLLATE /*+ */ -- <=> .. {x} \\ 1,2 (1) ()
"""
_WORDS = _WRITTEN.split()


@pytest.fixture(scope="module")
def connection(embedded_postgres: EmbeddedPostgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(embedded_postgres.url(), autocommit=True, prepare_threshold=None) as connection:
        yield connection


def is_syntax_error(connection: psycopg.Connection, sql: str) -> bool:
    """Does PostgreSQL's parser refuse it? Names that it does not know come after that."""
    try:
        connection.execute(b"PREPARE parsed AS " + sql.encode())
    except psycopg.errors.SyntaxError:
        return True
    except psycopg.Error:
        return False
    connection.execute("DEALLOCATE ALL")
    return False


def accepted(sql: str) -> bool:
    """Does the private grammar or the public one take it?"""
    try:
        statement = read(sql)
        try:
            private_select(statement)
        except PlannerError:
            check_public(statement)
    except PlannerError:
        return False
    return True


def mutated(draw: random.Random, sql: str) -> str:
    """Some words left out, doubled, swapped, or others put in."""
    lexemes = [lexeme.text for lexeme in lex(sql)[:-1]]
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        place = draw.randrange(len(lexemes))
        kind = draw.randrange(5)
        if kind == 0 and len(lexemes) > 1:
            del lexemes[place]
        elif kind == 1:
            lexemes.insert(place, lexemes[draw.randrange(len(lexemes))])
        elif kind == 2:
            other = draw.randrange(len(lexemes))
            lexemes[place], lexemes[other] = lexemes[other], lexemes[place]
        elif kind == 3:
            lexemes.insert(place, draw.choice(_WORDS))
        else:
            lexemes[place] = draw.choice(_WORDS)
    return "".join(text + draw.choice([" ", " ", " ", " ", "", "\n"]) for text in lexemes)


def test_the_corpus_is_read_by_both(connection: psycopg.Connection) -> None:
    for sql in CORPUS:
        check_syntax(sql)
        assert not is_syntax_error(connection, sql), sql


def test_arguments_by_keyword_are_read_as_postgresql_reads_them(connection: psycopg.Connection) -> None:
    for call in (
        "substring(t FROM 1)",
        "substring(t FOR 2)",
        "substring(t FROM 1 FOR 2)",
        "substring(t FOR 2 FROM 1)",
        "substring(t, 1, 2)",
        "substring(t FROM 1 FROM 2)",
        "substring(t FOR 1 FOR 2)",
        "substring(t, 1 FROM 2)",
        "substring(t PLACING 'x' FROM 1)",
        "overlay(t PLACING 'x' FROM 1)",
        "overlay(t PLACING 'x' FROM 1 FOR 2)",
        "overlay(t, 'x', 1)",
        "overlay(t PLACING 'x')",
        "overlay(t FROM 1 PLACING 'x')",
        "overlay(t PLACING 'x' FROM 1 FROM 2)",
    ):
        sql = f"SELECT count(*) FROM a WHERE {call} = 'x'"
        refused = False
        try:
            check_syntax(sql)
        except PlannerError:
            refused = True
        assert refused == is_syntax_error(connection, sql), call


def test_what_postgresql_refuses_is_refused(connection: psycopg.Connection) -> None:
    draw = random.Random(5)
    cases, both = examples(3_000, 300_000), 0
    for _ in range(cases):
        sql = mutated(draw, draw.choice(CORPUS))
        if accepted(sql):
            assert not is_syntax_error(connection, sql), sql
            both += 1
    assert both > cases / 50


def test_keywords_are_postgresqls(connection: psycopg.Connection) -> None:
    rows = connection.execute("SELECT upper(word), catcode FROM pg_get_keywords()").fetchall()
    for code, words in ("R", lexer.RESERVED), ("T", lexer.FUNCTIONS_ONLY):
        assert words == {word for word, catcode in rows if catcode == code}
