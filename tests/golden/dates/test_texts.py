"""Columns of texts that the policy declares to be dates: every question reads the date, and NULL for other texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.policy.policy import Policy, parse_policy
from planner.policy.validate import validate
from server.backends.embedded import EmbeddedPostgres
from tests.golden.databases import engines, in_file, on_server
from tests.golden.executed import Database, assert_same_rows, executed

TABLES = (
    "CREATE TABLE person (id int PRIMARY KEY, born text NOT NULL)",
    "CREATE TABLE visit (id int PRIMARY KEY, person int NOT NULL REFERENCES person, day text)",
)
ROWS = (
    "INSERT INTO person VALUES (1, '1980-05-01'), (2, '1980-5-9'), (3, '1981-02-28'), (4, '1981-02-30'), "
    "(5, 'unknown'), (6, ''), (7, '2081-01-01'), (8, '1980-13-01'), (9, '0000-01-01'), (10, '1980-05-01 '), "
    "(11, '1980-05-01x'), (12, '999999-01-01')",
    "INSERT INTO visit SELECT i, 1 + i % 12, CASE WHEN i % 7 = 0 THEN NULL WHEN i % 11 = 0 THEN '31/02/2024' "
    "WHEN i % 2 = 0 THEN (1 + i % 28) || '/0' || (1 + i % 3) || '/2024' "
    "ELSE lpad(CAST(1 + i % 28 AS text), 2, '0') || '/' || lpad(CAST(1 + i % 12 AS text), 2, '0') || '/2024' END "
    "FROM generate_series(1, 300) AS s(i)",
)

POLICY = """
name = "texts"
[database]
url = "env:NOISEGATE_DATABASE_URL"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 8.0
delta = 1e-6
[privacy_units]
person = "id"
[tables.person.columns]
born = {{ {born} }}
[tables.visit.columns]
day = {{ {day} }}
"""

BORN = 'format = "YYYY-MM-DD", range = [1980-01-01, 1989-12-31]'
DAY = 'format = "DD/MM/YYYY", range = [2024-01-01, 2024-12-31], step = "day"'

READ = (
    "(SELECT id, person, CASE WHEN day <> '31/02/2024' THEN to_date(day, 'DD/MM/YYYY') END AS day FROM visit) "
    "AS visit"
)
"""What the column means, in PostgreSQL's own words."""

QUESTIONS = (
    "SELECT date_trunc('month', day)::date AS m, count(*) FROM visit GROUP BY 1",
    "SELECT day, count(*) FROM visit WHERE day < '2024-02-01' GROUP BY day",
    "SELECT extract(dow FROM day) AS d, sum(extract(day FROM day)) FROM visit GROUP BY 1",
    "SELECT count(*) FROM visit WHERE day IS NULL",
    "SELECT count(day), count(DISTINCT day) FROM visit WHERE day >= DATE '2024-03-01'",
    "SELECT to_char(v.d, 'MM') AS m, count(*) FROM (SELECT day::date AS d FROM visit) AS v GROUP BY 1",
    "SELECT avg(DATE '2025-01-01' - day) FROM visit",
)


def declared(born: str = BORN, day: str = DAY) -> Policy:
    return parse_policy(POLICY.format(born=born, day=day))


@pytest.fixture(scope="module")
def databases(
    embedded_postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Database]]:
    path = in_file(tmp_path_factory.mktemp("texts") / "texts.duckdb", (*TABLES, *ROWS))
    with on_server(embedded_postgres, "texts", (*TABLES, *ROWS)) as url:
        yield [
            Database(engine.schema, engine.dialect, engine.run, lambda sql: 0) for engine in engines(url, Path(path))
        ]


@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_question_reads_the_dates(sql: str, databases: list[Database]) -> None:
    on_postgres = databases[0]
    true = [row for row in on_postgres.run(sql.replace("FROM visit", f"FROM {READ}")) if row[0] is not None]
    for database in databases:
        assert_same_rows(executed(sql, database, declared()), true)


def test_texts_that_are_no_date_are_null(databases: list[Database]) -> None:
    """Two of twelve are in the declared range and one beyond it; the check of a text is strict."""
    for database in databases:
        for sql, count in {
            "SELECT count(*) FROM person WHERE born IS NOT NULL": 4,
            "SELECT count(*) FROM person WHERE born < '1990-01-01'": 3,
            "SELECT sum(extract(year FROM born)) FROM person": 1980 + 1980 + 1981,
        }.items():
            assert [list(map(float, row)) for row in executed(sql, database, declared())] == [[count]], sql  # type: ignore[arg-type]


def test_a_policy_without_it_keeps_its_hash() -> None:
    plain = declared(day="null_group = true", born="discover = true")
    assert plain.hash == "96a97a6c62779bba47f9520152493f7797d19421624a146da361b12ea33fee90"
    assert declared().hash != declared(day=DAY.replace("DD/MM", "MM/DD")).hash


@pytest.mark.parametrize(
    ("day", "problem"),
    [
        ('format = "DD/MM"', "a form of YYYY, MM and DD"),
        ('format = "DD Mon YYYY"', "a form of YYYY, MM and DD"),
        ('format = "DD/MM/YYYY", domain = ["01/01/2024"]', "no domain"),
        ('format = "DD/MM/YYYY", range = [1, 2]', "a range needs a number"),
    ],
)
def test_what_makes_no_sense_is_a_problem_of_the_policy(day: str, problem: str, databases: list[Database]) -> None:
    with pytest.raises(Exception, match=problem):
        validate(declared(day=day), databases[0].schema)
