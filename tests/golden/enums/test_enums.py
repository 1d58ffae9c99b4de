"""Enums on both databases: their labels are the groups, and conditions over them are those of SQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
from planner.rewriting.rewrite import rewrite, write_public
from planner.schema import Schema
from server.backends.backend import Backend
from server.backends.duckdb import DuckdbBackend
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_schema
from server.pipeline import Pipeline
from server.query import Budget, QueryRequest
from server.results.response import response
from server.workers.measure import measure, plan_measurements
from tests.golden.collected.before_noise import answered
from tests.golden.databases import Engine, engines, in_file, on_server
from tests.golden.released_arithmetic import plain
from tests.golden.untruncated import Run, assert_same, untruncated
from tests.support.memory_ledger import MemoryLedger
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
def backends(wards_url: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Backend, Backend]:
    path = in_file(tmp_path_factory.mktemp("wards") / "tables.duckdb", (*TABLES, *ROWS))
    return PostgresBackend(wards_url), DuckdbBackend(path, "public")


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


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("state = 'in'::varchar", "state = 'in'"),
        ("'in'::text <> state", "'in' <> state"),
        ("state IN ('in'::varchar, 'lost'::text)", "state IN ('in', 'lost')"),
        ("state < CAST('lost' AS text)", "state < 'lost'"),
    ],
)
def test_a_constant_cast_to_text_is_a_label(schema: Schema, written: str, label: str) -> None:
    """Clients that read the catalog take the column for text, and cast what they compare it with."""
    asked, plain_label = (
        rewrite(planned(f"SELECT count(*) FROM visit WHERE {one}", schema, POLICY)) for one in (written, label)
    )
    assert list(asked.texts) == list(plain_label.texts)


def test_a_value_that_comes_as_varchar_is_a_label(schema: Schema) -> None:
    filled = substitute(parse("SELECT count(*) FROM visit WHERE state = $1::VARCHAR"), ("in",))
    bind(filled, schema, POLICY)
    with pytest.raises(UnreadableValue):
        bind(substitute(parse("SELECT count(*) FROM visit WHERE state = $1::VARCHAR"), ("gone",)), schema, POLICY)


def test_what_has_no_meaning_here_is_refused_with_what_to_write(schema: Schema) -> None:
    for condition, error, words in [
        ("state = 'wating'", UnreadableValue, "did you mean waiting"),
        ("state IN ('in', 'gone for good')", UnreadableValue, "write one of its labels: 'waiting', 'in'"),
        ("state < 'inn'", UnreadableValue, "did you mean in"),
        ("greatest(state, 'in') = 'in'", UnsupportedSQL, "write CASE"),
        ("state = 'in'::kind", UndefinedOperator, "its own type"),
        ("note = 'in'::state", UnsupportedSQL, "a column of that type"),
        ("state = kind", UndefinedOperator, "status::text"), ("state = note", UndefinedOperator, "as text"),
        ("upper(state) = 'IN'", UnsupportedSQL, "status::text"), ("state LIKE 'i%'", UnsupportedSQL, "status::text"),
    ]:  # fmt: skip
        with pytest.raises(error) as refused:
            planned(f"SELECT count(*) FROM visit WHERE {condition}", schema, POLICY)
        assert words in str(refused.value.hint)


def test_a_policy_may_name_some_of_the_labels(both: tuple[Engine, Engine]) -> None:
    cases: list[tuple[str, str | None]] = [
        ('state = { domain = ["in", "lost"], other = "rest" }', None),
        ('state = { domain = ["in", "gone"] }', "not a label of enum"),
        ("state = { discover = true }", "`discover` supports"),
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


ORDERED = (
    "state < 'in'", "state <= 'in'", "state > 'in'", "state >= 'lost'", "'in' < state", "state < 'waiting'",
    "state BETWEEN 'in' AND 'lost'", "state NOT BETWEEN 'waiting' AND 'in'", "NOT state > 'in'", "state < NULL",
    "state BETWEEN SYMMETRIC 'lost' AND 'in'", "state > 'in'::state", "p.kind < 'a'",
    "p.kind > visit.kind", "CASE WHEN state < 'lost' THEN p.kind ELSE 'a' END > 'b'", "state <> 'in'::state",
    "state = CAST('in' AS \"state\")", "state = 'in'::public.state",
    "state IN ('in'::state, 'lost')", "state::state = 'in'", "coalesce(state, 'lost'::state) > 'in'",
)  # fmt: skip


def test_labels_are_compared_in_the_order_of_their_declaration(both: tuple[Engine, Engine]) -> None:
    counted = ", ".join(f"count(*) FILTER (WHERE {condition})" for condition in ORDERED)
    sql = f"SELECT {counted} FROM visit JOIN patient p ON visit.patient = p.id"
    expected = both[0].run(sql)
    for schema, run, dialect in both:
        plan = planned(sql, schema, POLICY)
        assert_same(untruncated(plan, run, rewrite(plan, dialect=dialect, schema=schema)), plan, expected)


def test_groups_of_labels_sort_in_the_order_of_their_declaration(both: tuple[Engine, Engine]) -> None:
    known = "WHERE state IS NOT NULL"
    for sql in [
        "SELECT kind, count(*) FROM visit GROUP BY kind ORDER BY kind LIMIT 1",
        "SELECT kind AS k, count(*) FROM visit GROUP BY kind ORDER BY k DESC LIMIT 1",
        "SELECT kind, count(*) FROM visit GROUP BY kind ORDER BY 1",
        f"SELECT state, count(*) FROM visit {known} GROUP BY state HAVING state > 'waiting' ORDER BY state",
        f"SELECT state, count(*) FROM visit {known} GROUP BY state HAVING state < 'in'::state",
        "SELECT k FROM (SELECT kind AS k, count(*) AS n FROM visit GROUP BY kind) a WHERE k < 'a' ORDER BY k",
        "SELECT kind FROM visit GROUP BY kind ORDER BY kind",
    ]:
        expected = both[0].run(sql)
        for schema, run, dialect in both:
            plan = planned(sql, schema, POLICY)
            answer = untruncated(plan, run, rewrite(plan, dialect=dialect, schema=schema))
            shown = [row[0] for group, row in answer.rows.items() if group not in answer.empty or not plan.releases]
            assert shown == [row[0] for row in expected], sql


def test_public_labels_sort_in_the_order_of_their_declaration(both: tuple[Engine, Engine]) -> None:
    """b comes before a."""
    for sql in [
        "SELECT kind FROM ward WHERE id = 1 UNION SELECT kind FROM ward WHERE kind = 'b' ORDER BY 1",
        "SELECT kind, count(*) FROM ward GROUP BY kind ORDER BY kind",
        "SELECT DISTINCT kind FROM ward ORDER BY kind DESC",
        "SELECT id FROM ward ORDER BY kind",
        "SELECT id FROM ward WHERE kind < 'a'",
        "SELECT id FROM ward WHERE kind = 'a'::kind OR kind IN (SELECT kind FROM ward WHERE id = 1)",
        "SELECT x FROM (SELECT kind AS x FROM ward ORDER BY kind LIMIT 1) s WHERE x < 'a'",
    ]:
        expected = both[0].run(sql)
        for schema, run, dialect in both:
            query = bind_public(read(sql).tree, schema, POLICY)
            assert run(write_public(query, dialect=dialect).sql) == expected, sql


BY_KIND = "(SELECT kind, count(*) AS n FROM visit GROUP BY kind) a"
AROUND = (
    f"SELECT kind, n, rank() OVER (ORDER BY kind) AS place FROM {BY_KIND} ORDER BY kind",
    f"SELECT max(kind) AS last, min(kind) AS first FROM {BY_KIND}",
    f"SELECT a.kind, w.id, rank() OVER (ORDER BY w.kind) FROM {BY_KIND} JOIN ward w USING (kind) ORDER BY a.kind",
    f"SELECT kind, sum(n) OVER (ORDER BY kind) FROM {BY_KIND} WHERE kind IN ('a', 'b') ORDER BY 1 DESC",
)


def test_labels_keep_their_order_around_answers(
    both: tuple[Engine, Engine], backends: tuple[Backend, Backend]
) -> None:
    for sql in AROUND:
        expected = [tuple(map(plain, row)) for row in both[0].run(sql)]
        for (schema, run, _), backend in zip(both, backends, strict=True):
            assert [tuple(map(plain, row)) for row in _computed(sql, schema, run, backend)] == expected, sql


def test_a_text_beside_labels_around_answers_means_a_label_or_is_refused(
    both: tuple[Engine, Engine], backends: tuple[Backend, Backend]
) -> None:
    sql = f"SELECT kind, rank() OVER (ORDER BY n) FROM {BY_KIND} WHERE kind < 'a'"
    (schema, run, _), (file_schema, file_run, _) = both
    assert [row[0] for row in _computed(sql, schema, run, backends[0])] == ["b"]
    with pytest.raises(UnsupportedSQL, match="comparing a text with labels"):
        _computed(sql, file_schema, file_run, backends[1])


def _computed(sql: str, schema: Schema, run: Run, backend: Backend) -> list[tuple[Any, ...]]:
    pipeline = Pipeline(POLICY, schema, backend, MemoryLedger({"ada": 1e6}), None)  # type: ignore[arg-type]
    return answered(pipeline.find(QueryRequest("ada", sql, request_id="r")), run, backend)
