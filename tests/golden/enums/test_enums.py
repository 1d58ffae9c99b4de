"""Enums on both databases: their labels are the groups, and conditions over them are those of SQL."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from planner.binding.bind import bind
from planner.binding.placeholders import substitute
from planner.describe import describe
from planner.errors import PolicyInvalid, UndefinedOperator, UnreadableValue, UnsupportedSQL
from planner.parsing.parse import parse, read
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.public.bind import bind_public
from planner.rewriting.rewrite import rewrite
from planner.rewriting.write_public import write_public
from planner.schema import Schema
from server.backends.catalog import read_schema
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres import PostgresBackend
from server.query import Budget
from server.results.response import response
from server.workers.measure import measure, plan_measurements
from tests.golden.databases import Engine, engines, in_file, on_server
from tests.golden.untruncated import assert_same, untruncated
from tests.support.planning import planned

TABLES = (
    "CREATE TYPE state AS ENUM ('waiting', 'in', 'it''s, done', 'lost')",
    "CREATE TYPE kind AS ENUM ('b', 'a')",
    "CREATE TABLE ward (id bigint PRIMARY KEY, kind kind NOT NULL)",
    "CREATE TABLE patient (id bigint PRIMARY KEY, kind kind NOT NULL)",
    """CREATE TABLE visit (id bigint PRIMARY KEY, patient bigint NOT NULL REFERENCES patient,
       ward bigint NOT NULL REFERENCES ward, state state, kind kind NOT NULL, note text)""",
)
ROWS = (
    "INSERT INTO ward VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO patient VALUES (1, 'a'), (2, 'b'), (3, 'b')",
    """INSERT INTO visit VALUES (1, 1, 1, 'waiting', 'a', 'x'), (2, 1, 2, 'in', 'b', 'in'),
       (3, 2, 1, 'in', 'b', NULL), (4, 3, 2, 'it''s, done', 'a', 'y'), (5, 3, 2, NULL, 'b', 'z')""",
)
TEXT = """
name = "wards"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 1000.0
[privacy_units]
patient = "id"
[tables.ward]
public = true
[tables.patient]
[tables.visit]
"""
POLICY = parse_policy(TEXT)

QUESTIONS = {
    "its labels are the groups": ("SELECT state, count(*) FROM visit {} GROUP BY state", "state IS NOT NULL", 4),
    "of a public table": ("SELECT w.kind, count(*) FROM visit v JOIN ward w ON v.ward = w.id GROUP BY 1", "", 2),
    "that of a public row": (
        "SELECT v.kind, count(*) FROM visit v JOIN ward w ON v.ward = w.id AND v.kind = w.kind GROUP BY v.kind",
        "",
        2,
    ),
    "beside another": ("SELECT state, kind, count(*) FROM visit {} GROUP BY 1, 2", "state IS NOT NULL", 8),
    "under a condition": ("SELECT state, count(*) FROM visit WHERE state IN ('in', 'lost') GROUP BY 1", "", 2),
    "but one": ("SELECT kind, count(*) FROM visit WHERE state <> 'in' AND kind = 'a' GROUP BY kind", "", 1),
    "as text": ("SELECT upper(kind::text), count(*) FROM visit GROUP BY 1", "", 2),
    "of one another": ("SELECT count(*) FROM visit v JOIN patient p ON v.patient = p.id AND v.kind = p.kind", "", 1),
    "with a text": ("SELECT count(*) FROM visit WHERE state::text = note", "", 1),
    "counted": (
        "SELECT count(state), count(DISTINCT state), count(*) FILTER (WHERE state IS NULL) FROM visit",
        "",
        1,
    ),
    "in a CASE": ("SELECT CASE state WHEN 'in' THEN 'now' ELSE 'other' END, count(*) FROM visit GROUP BY 1", "", 2),
    "chosen": ("SELECT count(*) FROM visit WHERE coalesce(state, 'lost') = 'lost'", "", 1),
}


@pytest.fixture(scope="module")
def wards_url(embedded_postgres: EmbeddedPostgres) -> Iterator[str]:
    with on_server(embedded_postgres, "wards", (*TABLES, *ROWS)) as url:
        yield url


@pytest.fixture(scope="module")
def both(wards_url: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Engine, Engine]:
    path = in_file(tmp_path_factory.mktemp("wards") / "tables.duckdb", (*TABLES, *ROWS))
    found = engines(wards_url, path)
    validate(POLICY, found[0].schema)
    return found


@pytest.fixture(scope="module")
def schema(both: tuple[Engine, Engine]) -> Schema:
    """PostgreSQL's."""
    return both[0].schema


def test_the_answer_is_that_of_sql(both: tuple[Engine, Engine]) -> None:
    for name in sorted(QUESTIONS):
        sql, known, groups = QUESTIONS[name]
        expected = both[0].run(sql.format(f"WHERE {known}" if known else ""))
        for schema, run, dialect in both:
            plan = planned(sql.format(""), schema, POLICY)
            answer = untruncated(plan, run, rewrite(plan, dialect=dialect, schema=schema))
            assert_same(answer, plan, expected)
            assert len(answer.rows) == groups


def test_both_databases_say_the_labels_in_their_order(both: tuple[Engine, Engine]) -> None:
    for schema, _, _ in both:
        column = schema.tables["visit"].column("state")
        assert column is not None and column.type == "enum('waiting', 'in', 'it''s, done', 'lost')"


def test_a_new_label_is_another_structure(schema: Schema, wards_url: str) -> None:
    with psycopg.connect(wards_url) as connection:
        connection.execute("ALTER TYPE state ADD VALUE 'later'")
        later = read_schema(connection)
        connection.rollback()
    assert later.fingerprint != schema.fingerprint


def test_values_come_with_the_statement_and_are_labels(schema: Schema) -> None:
    described = describe(parse("SELECT count(*) FROM visit WHERE state = $1"), schema, POLICY)
    assert described.parameters == ("text",)
    filled = substitute(parse("SELECT count(*) FROM visit WHERE state = $1"), ("gone",))
    with pytest.raises(UnreadableValue):
        bind(filled, schema, POLICY)


def test_an_answer_shows_labels_and_says_whose_rows_are_left_out(schema: Schema, wards_url: str) -> None:
    plan = planned(QUESTIONS["its labels are the groups"][0].format(""), schema, POLICY, epsilon=1000.0)
    domain, noisy = measure(PostgresBackend(wards_url), rewrite(plan), plan_measurements(plan, POLICY))
    answer = response(plan, domain, noisy, Budget(1.0, 0.0, 0.0, 0.0), "r")
    assert [row[0] for row in answer.rows] == ["waiting", "in", "it's, done", "lost"]
    assert [column.type for column in answer.columns] == ["text", "int8"]
    assert "Rows whose visit.state is NULL are left out." in answer.notes
    assert plan.domains[0].why == "the column's enum has {n} labels"


def test_what_has_no_meaning_here_is_refused_with_what_to_write(schema: Schema) -> None:
    for condition, error, words in [
        ("state = 'wating'", UnreadableValue, "did you mean waiting"),
        ("state IN ('in', 'gone for good')", UnreadableValue, "write one of its labels: 'waiting', 'in'"),
        ("state < 'in'", UnsupportedSQL, "compare it with =, <> or IN"),
        ("state BETWEEN 'in' AND 'lost'", UnsupportedSQL, "compare it with"),
        ("greatest(state, 'in') = 'in'", UnsupportedSQL, "compare it with"),
        ("state = kind", UndefinedOperator, "status::text"), ("state = note", UndefinedOperator, "as text"),
        ("upper(state) = 'IN'", UnsupportedSQL, "status::text"), ("state LIKE 'i%'", UnsupportedSQL, "status::text"),
    ]:  # fmt: skip
        with pytest.raises(error) as refused:
            planned(f"SELECT count(*) FROM visit WHERE {condition}", schema, POLICY)
        assert words in str(refused.value.hint)


def test_a_policy_may_name_some_of_the_labels(both: tuple[Engine, Engine]) -> None:
    cases: list[tuple[str, str | None]] = [
        ('state = { domain = ["in", "lost"], other = "rest" }', None),
        ('state = { domain = ["in", "gone"] }', "no label of enum"),
        ("state = { discover = true }", "`discover` is for"),
        ("state = { range = [0, 1] }", "a range needs a number"),
    ]  # fmt: skip
    schema, run, _ = both[0]
    for settings, problem in cases:
        policy = parse_policy(f"{TEXT}\n[tables.visit.columns]\n{settings}")
        if problem is not None:
            with pytest.raises(PolicyInvalid, match=problem):
                validate(policy, schema)
            continue
        validate(policy, schema)
        plan = planned("SELECT state, count(*) FROM visit GROUP BY state", schema, policy)
        answer = untruncated(plan, run)
        counts = {group: int(row[1]) for group, row in answer.rows.items()}  # type: ignore[arg-type]
        assert counts == {("in",): 2, ("lost",): 0, ("rest",): 3}


def test_public_tables_are_answered_exactly(both: tuple[Engine, Engine]) -> None:
    for sql in [
        "SELECT id, kind FROM ward ORDER BY id",
        "SELECT kind, count(*) FROM ward WHERE kind IN ('a', 'b') GROUP BY kind ORDER BY kind::text",
        "SELECT count(*) FROM ward a JOIN ward b ON a.kind = b.kind WHERE a.kind <> 'a'",
        "SELECT s.kind, count(*) FROM (SELECT kind FROM ward) s WHERE s.kind = 'b' GROUP BY s.kind",
        "SELECT id FROM ward w WHERE EXISTS (SELECT 1 FROM ward o WHERE o.kind = w.kind AND o.id > 1)",
    ]:  # fmt: skip
        expected = both[0].run(sql)
        for schema, run, dialect in both:
            query = bind_public(read(sql).tree, schema, POLICY)
            assert run(write_public(query, dialect=dialect).sql) == expected


def test_labels_sort_as_texts(both: tuple[Engine, Engine]) -> None:
    """In the databases b comes before a."""
    for sql in [
        "SELECT kind FROM ward WHERE id = 1 UNION SELECT kind FROM ward WHERE kind = 'b' ORDER BY 1",
        "SELECT kind, count(*) FROM ward GROUP BY kind ORDER BY kind",
    ]:  # fmt: skip
        for schema, run, dialect in both:
            query = bind_public(read(sql).tree, schema, POLICY)
            rows = run(write_public(query, dialect=dialect).sql)
            assert [row[0] for row in rows] == ["a", "b"]
