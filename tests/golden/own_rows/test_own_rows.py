"""Lists and windows over dirty rows on both databases: NULLs, empty and repeated elements, rows of nobody, ties."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from planner.policy.policy import parse_policy
from server.backends.embedded import EmbeddedPostgres
from tests.golden.databases import Engine, engines, in_file, on_server
from tests.golden.executed import Database, assert_same_rows, executed
from tests.golden.untruncated import Rows, postgres

TABLES = (
    "CREATE TABLE users (id int PRIMARY KEY)",
    "CREATE TABLE posts (id int PRIMARY KEY, author int REFERENCES users, tags text[], scores int[], x text,"
    " day date, r double precision[])",
    "CREATE TABLE views (author int NOT NULL REFERENCES users, page text, UNIQUE (author, page))",
)
ROWS = (
    "INSERT INTO users VALUES (1), (2), (3)",
    """INSERT INTO posts (id, author, tags, scores, x, day) VALUES
       (1, 1, ARRAY['a', 'b', 'a'], ARRAY[1, 2], 'a><b', '2024-01-01'),
       (2, 1, ARRAY[]::text[], NULL, '', '2024-01-01'), (3, 2, NULL, ARRAY[3], NULL, NULL),
       (4, 2, ARRAY['b', NULL], ARRAY[1, 1], 'b><', '2024-02-01'), (5, NULL, ARRAY['a'], ARRAY[1], 'a', '2024-02-01'),
       (6, 2, ARRAY['a'], ARRAY[2], '><', '2024-01-31')""",
    "UPDATE posts SET r = ARRAY[1.5, CAST('NaN' AS double precision)] WHERE id IN (1, 4)",
    "INSERT INTO views VALUES (1, 'a'), (2, NULL), (2, NULL)",
)
POLICY = parse_policy("""
name = "posts"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 1.0
[privacy_units]
users = "id"
[tables.users]
[tables.posts]
[tables.views]
""")

QUESTIONS = (
    "SELECT t, count(*) FROM posts, unnest(tags) AS t WHERE t IN ('a', 'b') GROUP BY t",
    "SELECT count(*) FROM posts p CROSS JOIN LATERAL unnest(p.scores) AS s WHERE s = 1",
    "SELECT count(*) FROM posts p LEFT JOIN LATERAL unnest(p.tags) AS t ON true WHERE t IS NULL",
    "SELECT t, count(DISTINCT author) FROM posts, unnest(string_to_array(x, '><')) AS t WHERE t IN ('a', 'b', '')"
    " GROUP BY t",
    "SELECT s, count(*) FROM (SELECT id, unnest(scores) AS s FROM posts) q WHERE s IN (1, 2, 3) GROUP BY s",
    "SELECT count(*) FROM posts, regexp_split_to_table(x, 'b') AS y WHERE y = ''",
    "SELECT count(*) FROM posts, string_to_table(x, 'b') AS y WHERE y = ''",
    "SELECT count(*) FROM posts WHERE 'b' = ANY(string_to_array(x, '><')) OR 'a' <> ALL(string_to_array(x, '><'))",
    "SELECT count(*) FROM posts WHERE cardinality(string_to_array(x, '<')) = 0",
    "SELECT count(*) FROM posts WHERE array_length(string_to_array(x, '<'), 1) = 2",
    "SELECT count(*) FROM posts WHERE NOT (string_to_array(x, '><') @> ARRAY['a', 'b'])",
    "SELECT count(*) FROM (SELECT day - lag(day) OVER (PARTITION BY author ORDER BY id) AS gap FROM posts) t"
    " WHERE gap >= 0",
    "SELECT n, count(*) FROM (SELECT row_number() OVER (PARTITION BY author) AS n FROM posts) t WHERE n <= 3"
    " GROUP BY n",
    "SELECT n, count(*) FROM (SELECT count(*) OVER (PARTITION BY author ORDER BY day DESC) AS n FROM posts) t"
    " WHERE n <= 3 GROUP BY n",
    "SELECT count(*) FROM (SELECT count(*) OVER (PARTITION BY author ORDER BY day RANGE BETWEEN INTERVAL '1 month'"
    " PRECEDING AND CURRENT ROW) AS n FROM posts) t WHERE n = 2",
    "SELECT count(*) FROM (SELECT author, count(*) OVER (PARTITION BY author, page) AS n FROM views) t WHERE n = 2",
    "SELECT count(*) FROM users u CROSS JOIN LATERAL (SELECT count(day) AS n FROM posts p WHERE p.author = u.id) AS l"
    " WHERE n = 0",
    "SELECT count(*) FROM users u LEFT JOIN LATERAL (SELECT id, day FROM posts p WHERE p.author = u.id"
    " ORDER BY day DESC, id LIMIT 1) AS l ON true WHERE l.day IS NULL",
    "SELECT count(*) FROM users u LEFT JOIN posts p ON p.author = u.id AND p.day > '2024-01-15' WHERE p.id IS NULL",
    "SELECT count(*) FROM users u LEFT JOIN posts p ON p.author = u.id WHERE p.author IS NULL AND p.day IS NULL",
    "SELECT count(*) FROM users u LEFT JOIN posts p ON p.author = u.id WHERE p.day IS NULL",
    "SELECT count(*) FROM posts q LEFT JOIN posts p ON p.author = q.author AND p.id > q.id WHERE p.author IS NULL",
)
"""Where an answer does not depend on the order of equal rows. Rows of nobody are in no answer."""


@pytest.fixture(scope="module")
def both(
    embedded_postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Engine, ...]]:
    path = in_file(tmp_path_factory.mktemp("posts") / "posts.duckdb", (*TABLES, *ROWS))
    with on_server(embedded_postgres, "own_rows", (*TABLES, *ROWS)) as url:
        yield engines(url, path)


@pytest.fixture(scope="module")
def truth(embedded_postgres: EmbeddedPostgres) -> Iterator[dict[str, Rows]]:
    with on_server(embedded_postgres, "own_rows_of_somebody", (*TABLES, *ROWS)) as url:
        with psycopg.connect(url) as connection:
            connection.execute("DELETE FROM posts WHERE author IS NULL")
        yield {text: postgres(url)(text) for text in QUESTIONS}


def test_both_databases_say_what_postgresql_says(both: tuple[Engine, ...], truth: dict[str, Rows]) -> None:
    for engine in both:
        database = Database(engine.schema, engine.dialect, engine.run, lambda statement: 1)
        for text in QUESTIONS:
            assert_same_rows(executed(text, database, POLICY), truth[text])


def test_rows_whose_key_may_be_null_are_ordered_by_what_is_read(both: tuple[Engine, ...]) -> None:
    text = "SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY author) AS n FROM views) AS t WHERE n = 1"
    authors = "SELECT count(DISTINCT author) FROM views"
    for engine in both:
        database = Database(engine.schema, engine.dialect, engine.run, lambda statement: 1)
        assert_same_rows(executed(text, database, POLICY), executed(authors, database, POLICY))


def test_elements_that_are_nan_are_null(both: tuple[Engine, ...]) -> None:
    """As in columns: PostgreSQL counts NaN, and takes it for the greatest number."""
    for engine in both:
        database = Database(engine.schema, engine.dialect, engine.run, lambda statement: 1)
        for aggregate, expected in (("count(e)", 2), ("count(*)", 4), ("count(*) FILTER (WHERE e > 1)", 2)):
            text = f"SELECT {aggregate} FROM posts, unnest(r) AS e"
            assert_same_rows(executed(text, database, POLICY), [(expected,)])
