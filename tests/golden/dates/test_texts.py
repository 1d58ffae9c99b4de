"""Columns of texts that the policy declares to be dates: every question reads the date, and NULL for other texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import pytest
from psycopg.sql import Composed

from planner.errors import SensitivityUnbounded
from planner.plan import Plan
from planner.policy.policy import Policy, parse_policy
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from server.backends.embedded import EmbeddedPostgres
from server.explain.catalog import catalog
from server.pgwire.shadow_setup import _words_for_column
from server.policy.check_data import probes
from tests.golden.benchmark import planned
from tests.golden.databases import engines, in_file, on_server
from tests.golden.executed import Database, assert_same_rows, executed

TABLES = (
    "CREATE TABLE person (id int PRIMARY KEY, born text NOT NULL)",
    "CREATE TABLE visit (id int PRIMARY KEY, person int NOT NULL REFERENCES person, day text)",
    "CREATE TABLE stay (id int PRIMARY KEY, person int NOT NULL REFERENCES person, arrived text)",
)
ROWS = (
    "INSERT INTO person VALUES (1, '1980-05-01'), (2, '1980-5-9'), (3, '1981-02-28'), (4, '1981-02-30'), "
    "(5, 'unknown'), (6, ''), (7, '2081-01-01'), (8, '1980-13-01'), (9, '0000-01-01'), (10, '1980-05-01 '), "
    "(11, '1980-05-01x'), (12, '999999-01-01')",
    "INSERT INTO visit SELECT i, 1 + i % 12, CASE WHEN i % 7 = 0 THEN NULL WHEN i % 11 = 0 THEN '31/02/2024' "
    "WHEN i % 2 = 0 THEN (1 + i % 28) || '/0' || (1 + i % 3) || '/2024' "
    "ELSE lpad(CAST(1 + i % 28 AS text), 2, '0') || '/' || lpad(CAST(1 + i % 12 AS text), 2, '0') || '/2024' END "
    "FROM generate_series(1, 300) AS s(i)",
    "INSERT INTO stay SELECT i, 1 + i % 12, CASE WHEN i % 17 = 0 THEN NULL ELSE '2024-0' || (1 + i % 3) || '-' || "
    "lpad(CAST(1 + i % 28 AS text), 2, '0') || 'T' || lpad(CAST(i % 24 AS text), 2, '0') || ':' || "
    "lpad(CAST(i % 60 AS text), 2, '0') || ':' || lpad(CAST((i * 7) % 60 AS text), 2, '0') END "
    "FROM generate_series(1, 400) AS s(i)",
    "INSERT INTO stay VALUES (1001, 1, '2024-02-30T10:00:00'), (1002, 1, '2024-01-10T24:00:00'), "
    "(1003, 2, '2024-01-10T23:60:00'), (1004, 2, '2024-01-10T23:59:60'), (1005, 3, '2024-01-10 10:00:00'), "
    "(1006, 3, '2024-01-10T10:00'), (1007, 4, '2024-01-10T10:00:00Z'), (1008, 4, '2023-02-29T00:00:00'), "
    "(1009, 5, ''), (1010, 5, '2024-01-10T10:00:00\n'), (1011, 6, '2024-13-10T10:00:00'), "
    "(1012, 7, '2024-1-9T9:5:3'), (1013, 8, '9999-12-31T23:59:59'), (1014, 9, '0000-01-01T00:00:00'), "
    "(1015, 9, '-2024-01-10T10:00:00'), (1016, 9, '2024-01-10T-1:00:00'), (1017, 9, '20240-01-10T10:00:00')".replace(
        "'2024-01-10T10:00:00\n'", "'2024-01-10T10:00:00' || chr(10)"
    ),
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

ARRIVED = """
[tables.stay.columns]
arrived = { format = 'YYYY-MM-DD"T"HH24:MI:SS', range = [2024-01-01, 2024-03-31] }
"""

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


READ_TIMES = (
    "(SELECT id, person, CASE WHEN id < 1000 OR id = 1012 THEN arrived::timestamp END AS arrived FROM stay) AS stay"
)
"""What its texts mean. One has single digits; all others with numbers from 1001 state no date."""

TIMES = (
    "SELECT date_trunc('month', arrived)::date AS m, count(*) FROM stay GROUP BY 1",
    "SELECT arrived::date AS d, count(*), count(DISTINCT person) FROM stay GROUP BY 1",
    "SELECT extract(hour FROM arrived) AS h, count(*) FROM stay GROUP BY 1",
    "SELECT date_trunc('month', arrived) AS m, count(*) FROM stay WHERE extract(hour FROM arrived) >= 12 GROUP BY 1",
    "SELECT extract(dow FROM arrived) AS d, sum(extract(second FROM arrived)::int) FROM stay GROUP BY 1",
    "SELECT count(*) FROM stay WHERE arrived BETWEEN '2024-01-10 10:00:00' AND '2024-02-05 06:05:03'",
    "SELECT count(*) FROM stay WHERE arrived + interval '6 hours' < TIMESTAMP '2024-02-01' AND person > 3",
    "SELECT to_char(arrived, 'MM-DD HH24') AS h, count(*) FROM stay WHERE arrived < '2024-01-20' GROUP BY 1",
    "SELECT to_char(arrived, 'Dy HH24') AS h, count(*) FROM stay WHERE extract(minute FROM arrived) > 30 GROUP BY 1",
    "SELECT to_char(arrived, 'MM-DD') AS h, count(*) FROM stay WHERE extract(hour FROM arrived) > 7 GROUP BY 1",
    "SELECT sum(extract(epoch FROM arrived - date_trunc('day', arrived))::bigint) FROM stay",
)


def declared(born: str = BORN, day: str = DAY, more: str = "") -> Policy:
    return parse_policy(POLICY.format(born=born, day=day) + more)


@pytest.fixture(scope="module")
def databases(
    embedded_postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Database]]:
    path = in_file(tmp_path_factory.mktemp("texts") / "texts.duckdb", (*TABLES, *ROWS))
    with on_server(embedded_postgres, "texts", (*TABLES, *ROWS)) as url:
        yield [
            Database(engine.schema, engine.dialect, engine.run, lambda sql: 0) for engine in engines(url, Path(path))
        ]


@pytest.fixture(scope="module")
def kept(
    embedded_postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[list[Database]]]:
    """By engine: without a person, and that person alone."""
    made: list[list[Database]] = [[], []]
    with ExitStack() as stack:
        for place, sign in enumerate(("=", "<>")):
            gone = (
                *(f"DELETE FROM {table} WHERE person {sign} 9" for table in ("visit", "stay")),
                f"DELETE FROM person WHERE id {sign} 9",
            )
            path = in_file(tmp_path_factory.mktemp("kept") / "texts.duckdb", (*TABLES, *ROWS, *gone))
            url = stack.enter_context(on_server(embedded_postgres, f"texts{place}", (*TABLES, *ROWS, *gone)))
            for databases, engine in zip(made, engines(url, Path(path)), strict=True):
                databases.append(Database(engine.schema, engine.dialect, engine.run, lambda sql: 0))
        yield made


@pytest.mark.parametrize("sql", QUESTIONS)
def test_a_question_reads_the_dates(sql: str, databases: list[Database]) -> None:
    on_postgres = databases[0]
    true = [row for row in on_postgres.run(sql.replace("FROM visit", f"FROM {READ}")) if row[0] is not None]
    for database in databases:
        assert_same_rows(executed(sql, database, declared()), true)


@pytest.mark.parametrize("sql", TIMES)
def test_a_question_reads_the_times(sql: str, databases: list[Database]) -> None:
    on_postgres = databases[0]
    true = [row for row in on_postgres.run(sql.replace("FROM stay", f"FROM {READ_TIMES}")) if row[0] is not None]
    assert len(true) > 0
    for database in databases:
        assert_same_rows(executed(sql, database, declared(more=ARRIVED)), true)


@pytest.mark.parametrize(
    ("place", "mutant", "sql"),
    [
        ("group_domains.group_domains._tells", lambda *_: True, TIMES[3]),
        ("group_domains.column_values.finest_step", lambda *_: "day", TIMES[8]),
    ],
)
def test_mutants_are_caught(
    place: str, mutant: object, sql: str, databases: list[Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups listed by midnights where hours count."""
    monkeypatch.setattr(f"planner.{place}", mutant)
    with pytest.raises(AssertionError):
        test_a_question_reads_the_times(sql, databases)


@pytest.mark.parametrize("sql", [sql for sql in TIMES if "DISTINCT" not in sql])
def test_without_a_person_that_persons_texts_are_missing_and_no_others(
    sql: str, databases: list[Database], kept: list[list[Database]]
) -> None:
    """The person with the most kinds of hostile texts: what is left and what is hers add up to the whole."""
    for whole, parts in zip(databases, kept, strict=True):
        sums: dict[object, float] = {}
        for part in parts:
            for *key, value in executed(sql, part, declared(more=ARRIVED)):
                sums[str(key)] = sums.get(str(key), 0) + float(Fraction(str(value)))
        found = {
            str(key): float(Fraction(str(value))) for *key, value in executed(sql, whole, declared(more=ARRIVED))
        }
        assert found == pytest.approx({key: value for key, value in sums.items() if value or key in found})


def test_texts_that_are_no_date_are_null(databases: list[Database]) -> None:
    """Two of twelve are in the declared range and one beyond it; the check of a text is strict."""
    for database in databases:
        for sql, count in {
            "SELECT count(*) FROM person WHERE born IS NOT NULL": 4,
            "SELECT count(*) FROM person WHERE born < '1990-01-01'": 3,
            "SELECT sum(extract(year FROM born)) FROM person": 1980 + 1980 + 1981,
        }.items():
            assert [list(map(float, row)) for row in executed(sql, database, declared())] == [[count]], sql  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sql", "form"),
    [
        ("SELECT count(*) FROM visit WHERE day >= '2024-01-01'", "visit.day are read as DD/MM/YYYY"),
        ("SELECT count(*) FROM person WHERE EXISTS (SELECT 1 FROM visit v WHERE v.person = person.id AND day < "
         "'2024-02-01')", "visit.day are read as DD/MM/YYYY"),
        ("SELECT count(*) FROM (SELECT person, max(day) AS d FROM visit GROUP BY person) p WHERE d < '2024-02-01'",
         "visit.day are read as DD/MM/YYYY"),
        ("SELECT extract(year FROM born), count(*) FROM person GROUP BY 1", "person.born are read as YYYY-MM-DD"),
    ],
)  # fmt: skip
def test_an_answer_says_how_it_reads_texts(sql: str, form: str, databases: list[Database]) -> None:
    plan = planned(sql, databases[0].schema, declared())
    assert isinstance(plan, Plan)
    assert plan.notes == (f"Texts in {form}; other texts count as NULL.",)


def test_an_answer_that_reads_no_such_text_says_nothing(databases: list[Database]) -> None:
    plan = planned("SELECT count(*) FROM visit", databases[0].schema, declared())
    assert isinstance(plan, Plan)
    assert plan.notes == ()


NO_NULL = "Rows whose visit.day is NULL may be left out."
OMITTED = "Rows whose visit.day is NULL or not from 2024-01-01 to 2024-12-31 may be left out."


@pytest.mark.parametrize(
    ("key", "omitted"),
    [
        ("CASE WHEN day < '2024-02-01' THEN 'old' ELSE 'new' END", None),  # other texts are new
        ("day < '2024-02-01'", NO_NULL),
        ("CASE WHEN id > 1 THEN day < '2024-02-01' ELSE false END", NO_NULL),
        ("extract(year FROM day)", OMITTED),
        ("day", OMITTED),
    ],
)
def test_a_key_says_which_texts_are_in_no_group(key: str, omitted: str | None, databases: list[Database]) -> None:
    plan = planned(f"SELECT {key}, count(*) FROM visit GROUP BY 1", databases[0].schema, declared())
    assert isinstance(plan, Plan)
    assert [key.omitted for key in plan.group_keys] == [omitted]


def test_the_catalog_and_comments_show_the_form(databases: list[Database]) -> None:
    shown = {table.name: table.columns for table in catalog(databases[0].schema, declared()).tables}
    words = "a date read as DD/MM/YYYY; 2024-01-01 to 2024-12-31"
    assert [column.note for column in shown["visit"] if column.name == "day"] == [words]
    comment = _words_for_column(declared().column("visit", "day"), ())
    assert comment == "a date read as DD/MM/YYYY; from 2024-01-01 to 2024-12-31; in steps of day"


def test_texts_may_have_several_forms(databases: list[Database]) -> None:
    """Each text is read in the form that it has."""
    policy = declared(born='format = ["DD/MM/YYYY", "YYYY-MM-DD"]', day='format = ["YYYYMMDD", "DD/MM/YYYY"]')
    plan = planned("SELECT count(*) FROM person WHERE born IS NULL", databases[0].schema, policy)
    assert isinstance(plan, Plan)
    assert plan.notes == ("Texts in person.born are read as DD/MM/YYYY or YYYY-MM-DD; other texts count as NULL.",)
    for sql in (
        "SELECT count(*) FROM visit WHERE day < '2024-02-01'",
        "SELECT count(*) FROM person WHERE born IS NULL",
        "SELECT count(*) FROM visit JOIN person ON person.id = visit.person WHERE born < day",
    ):
        for database in databases:
            assert executed(sql, database, policy) == executed(sql, database, declared()), sql


def test_a_joined_table_may_have_texts_of_dates(databases: list[Database]) -> None:
    """A row that finds nothing has NULL, as the date of NULL."""
    for columns, on in (("v.id", ""), ("v.day", " AND v.day < '2024-02-01'")):
        sql = f"SELECT count({columns}) FROM stay s LEFT JOIN visit v ON v.id = s.id AND v.person = s.person{on}"
        [true] = databases[0].run(sql.replace("visit v", READ.replace(") AS visit", ") AS v")))
        for database in databases:
            [[found]] = executed(sql, database, declared(more=ARRIVED))
            assert float(str(found)) == true[0]


@pytest.mark.parametrize(
    "where",
    [
        "day BETWEEN '2023-01-01' AND '2025-12-31'",
        "day IN ('2023-01-01', '2024-02-03', '2025-03-01')",
        "extract(year FROM day) IN (2023, 2024, 2025)",
        "extract(year FROM day) BETWEEN 2023 AND 2025",
        "extract(year FROM day) > 2022 AND extract(year FROM day) < 2026",
        "extract(year FROM day) >= 2022.5 AND extract(year FROM day) <= 2025.9",
    ],
)
def test_conditions_narrow_the_groups(where: str, databases: list[Database]) -> None:
    """The days of a condition, in place of 9,999 years."""
    undeclared = declared(day='format = "DD/MM/YYYY"')
    sql = f"SELECT extract(year FROM day) AS y, count(*) FROM visit WHERE {where} GROUP BY 1"
    for database in databases:
        plan = planned(sql, database.schema, undeclared, database.dialect)
        assert isinstance(plan, Plan)
        query = rewrite(plan, dialect=database.dialect, schema=database.schema)
        assert query.domains[0] is not None and len(query.domains[0]) < 1500
        assert [str(year) for (year,) in database.run(query.domains[0])] == ["2023", "2024", "2025"]
        [[_, count]] = executed(sql, database, undeclared)
        [[true]] = databases[0].run(f"SELECT count(*) FROM {READ} WHERE {where}")
        assert float(str(count)) == true


def test_a_date_that_the_question_reads_from_a_text_has_no_known_groups(databases: list[Database]) -> None:
    """Free, and with a way that works."""
    sql = "SELECT extract(year FROM to_date(day, 'DD/MM/YYYY')), count(*) FROM visit GROUP BY 1"
    with pytest.raises(SensitivityUnbounded, match="not public") as raised:
        planned(sql, databases[0].schema, declared(day="null_group = true"))
    assert "a `format` of visit.day, and narrow it in WHERE by BETWEEN" in str(raised.value.hint)


def test_explain_lists_no_days(databases: list[Database]) -> None:
    """The days are a series, not a list of texts."""
    plan = planned("SELECT extract(year FROM born), count(*) FROM person GROUP BY 1", databases[0].schema, declared())
    assert isinstance(plan, Plan)
    (statement,) = rewrite(plan, schema=databases[0].schema).domains
    assert statement is not None and "GENERATE_SERIES" in statement and "VALUES" not in statement


def test_policy_check_counts_the_texts_that_fit_no_form(databases: list[Database]) -> None:
    policy = declared(born='format = ["YYYY-MM-DD", "DD/MM/YYYY"]')
    (probe,) = (one for one in probes(policy, databases[0].schema) if one.subject == "person.born")
    assert probe.message == "that state no date as YYYY-MM-DD or DD/MM/YYYY: questions read these texts as NULL"
    assert isinstance(probe.count, Composed)
    assert list(databases[0].run(probe.count.as_string())) == [(8,)]


def test_every_row_is_in_one_of_the_branches(databases: list[Database]) -> None:
    sql = "SELECT CASE WHEN day < '2024-02-01' THEN 'old' ELSE 'new' END AS k, count(*) FROM visit GROUP BY 1"
    for database in databases:
        assert sum(float(str(row[1])) for row in executed(sql, database, declared())) == 300


def test_a_group_of_null_has_the_texts_that_are_no_date(databases: list[Database]) -> None:
    """The column itself is never NULL."""
    sql = "SELECT extract(year FROM born) AS y, count(*) FROM person GROUP BY 1"
    for database in databases:
        rows = executed(sql, database, declared(born=f"{BORN}, null_group = true"))
        assert {str(row[0]): float(str(row[1])) for row in rows} == {"1980": 2, "1981": 1, "None": 9}


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
        ("format = []", "a form of YYYY, MM and DD"),
        ('format = ["DD/MM/YYYY", 1]', "a form of YYYY, MM and DD"),
        ('format = ["DD/MM/YYYY", "MM/DD/YYYY"]', "two dates: one as DD/MM/YYYY and another as MM/DD/YYYY"),
        ('format = ["DD/MM/YYYY", "YYYY-MM-DD HH24:MI"]', "all forms of `format` need a time of day, or none"),
    ],
)
def test_what_makes_no_sense_is_a_problem_of_the_policy(day: str, problem: str, databases: list[Database]) -> None:
    with pytest.raises(Exception, match=problem):
        validate(declared(day=day), databases[0].schema)
