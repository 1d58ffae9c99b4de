"""Views before a real database, ledger and workers: asked, explained, shown, redefined under a running proxy."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import psycopg
import pytest

from planner.errors import SchemaChanged, UnknownTable, UnsupportedSQL
from planner.expand_views import expanded
from planner.parsing.parse import read
from planner.policy.policy import parse_policy
from planner.public.bind import bind_public
from server.backends.duckdb import DuckdbBackend
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres import PostgresBackend, connected
from server.backends.postgres_catalog import read_schema
from server.backends.postgres_custody import PostgresCustody
from server.ledger.ledger import Ledger
from server.pgwire.errors import CatalogRefused
from server.pgwire.shadow import ShadowDatabase
from server.pgwire.shadow_setup import create_shadow
from server.pipeline import Pipeline
from server.policy.check_data import check_policy
from server.query import QueryRequest
from server.workers.pool import WorkerPool
from tests.golden.views.clinic import ANSWERS, MATERIALIZED, POLICY, REFUSED, ROWS, SHOWN, TABLES, TEXT, VIEWS
from tests.support.asking import ask

_FEW_VISITS = replace(
    POLICY, tables={**POLICY.tables, "visit": replace(POLICY.tables["visit"], rows_per_unit={"patient": 16})}
)
"""With a bound on tau, so that noise is small for certain: without one, one answer in some thousand is far off."""


ANALYSTS = {"ada": (2000.0, 0.0)}


@pytest.fixture
def url(scratch_url: str) -> str:
    with psycopg.connect(scratch_url) as connection:
        views = (f"CREATE VIEW {name} AS {query}" for name, query in VIEWS.items())
        for statement in (*TABLES, *ROWS, *views, MATERIALIZED):
            connection.execute(statement.encode())
    return scratch_url


@pytest.fixture
def pipeline(url: str, ledger: Ledger, workers: WorkerPool) -> Pipeline:
    with connected(url, 10_000) as connection:
        schema = read_schema(connection)
    return Pipeline(_FEW_VISITS, schema, PostgresBackend(url), ledger, workers)


def _asked(sql: str) -> QueryRequest:
    return QueryRequest("ada", sql, epsilon=500.0, request_id="request-1")


def _count(answer: object) -> float:
    return answer.rows[0][0]  # type: ignore[attr-defined, no-any-return]


def test_a_view_is_asked_and_charged_as_its_tables_are(pipeline: Pipeline, url: str, ledger: Ledger) -> None:
    """Over the tables the same question is the same answer, and paid for."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM dear").fetchone()
    assert row is not None
    answer = ask(pipeline, _asked("SELECT count(*) FROM dear"))
    assert abs(_count(answer) - row[0]) < 3
    left = ledger.budget("ada").epsilon_left
    assert left == 1500.0
    again = ask(pipeline, _asked("SELECT count(*) FROM visit WHERE cost > 100 AND state IN ('in', 'done')"))
    assert (again.rows, ledger.budget("ada").epsilon_left) == (answer.rows, left)
    assert ask(pipeline, _asked("SELECT name FROM wards ORDER BY 1")).rows == (("ward 2",), ("ward 3",), ("ward 4",))
    assert ledger.budget("ada").epsilon_left == left


def test_it_is_explained_and_described_by_its_tables(pipeline: Pipeline) -> None:
    sql = "SELECT ward_name, count(*) FROM with_people WHERE sex = $1 GROUP BY ward_name"
    assert pipeline.describe(sql).parameters == ("text",)
    explained = pipeline.explain(_asked(sql.replace("$1", "'f'")))
    assert "with_people" not in explained.rewritten_sql
    assert explained.privacy_units == ("patient",)


def test_a_view_that_changes_is_no_longer_the_one_that_was_planned(pipeline: Pipeline, url: str) -> None:
    """Nothing is read by a new definition until the schema is read again; then by that one alone."""
    before = _count(ask(pipeline, _asked("SELECT count(*) FROM dear")))
    with psycopg.connect(url) as connection:
        connection.execute("CREATE OR REPLACE VIEW dear AS SELECT * FROM visit WHERE cost > 250")
    with pytest.raises(SchemaChanged):
        ask(pipeline, _asked("SELECT count(*) FROM dear WHERE cost > 0"))
    with connected(url, 10_000) as connection:
        renewed = replace(pipeline, schema=read_schema(connection))
    after = _count(ask(renewed, _asked("SELECT count(*) FROM dear WHERE cost > 0")))
    assert before > 50 > 20 > after > 0


def test_a_refusal_names_the_view_and_is_free(pipeline: Pipeline, ledger: Ledger) -> None:
    for name, words in REFUSED.items():
        with pytest.raises(UnsupportedSQL) as refused:
            ask(pipeline, _asked(f"SELECT count(*) FROM {name}"))
        assert name in refused.value.message and words in refused.value.message
    for name, words in ANSWERS.items():
        with pytest.raises(UnsupportedSQL) as refused:
            ask(pipeline, _asked(f"SELECT count(*) FROM visit LEFT JOIN {name} ON true"))
        assert words in refused.value.message
    with pytest.raises(UnknownTable):
        ask(pipeline, _asked("SELECT count(*) FROM leaking"))
    assert ledger.budget("ada").epsilon_left == 2000.0


@pytest.mark.slow
def test_a_view_that_is_an_answer_is_asked_for_its_rows_and_what_is_computed_from_them(pipeline: Pipeline) -> None:
    rows = ask(pipeline, _asked("SELECT * FROM per_ward ORDER BY ward")).rows
    counts = [_number(row[1]) for row in rows]
    assert [row[0] for row in rows] == [1, 2, 3, 4] and all(abs(count - 37.5) < 3 for count in counts)
    total = ask(pipeline, _asked("SELECT sum(n) FROM per_ward")).rows
    assert _number(total[0][0]) == sum(counts), "of the answer that is kept"
    percent = ask(pipeline, _asked("SELECT sum(percent) FROM shares WHERE ward IS NOT NULL")).rows
    assert abs(_number(percent[0][0]) - 100) < 1e-6


def _number(cell: object) -> float:
    return float(str(cell))


def test_clients_are_shown_views_as_such(pipeline: Pipeline, embedded_postgres: EmbeddedPostgres) -> None:
    shown = {table.name: table for table in pipeline.catalog().tables}
    assert tuple(sorted(name for name, table in shown.items() if table.kind == "view")) == SHOWN
    assert shown["wards"].public and not shown["dear"].public and shown["visit"].kind == "table"
    columns = {column.name: column for column in shown["renamed"].columns}
    assert (columns["price"].type, columns["price"].low, columns["price"].high) == ("numeric(10,2)", 0, 300)
    assert columns["state"].domain == ("waiting", "in", "done")
    with closing(ShadowDatabase(partial(create_shadow, embedded_postgres.url()), pipeline.schema, POLICY)) as shadow:
        kinds = "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public'"
        rows = {(row[0], row[1]) for row in shadow.ask(kinds, (), (), (), 0).cells}
        assert {(name.encode(), b"VIEW") for name in SHOWN} <= rows and (b"visit", b"BASE TABLE") in rows
        views = "SELECT table_name FROM information_schema.views WHERE table_schema = 'public' ORDER BY 1"
        assert [row[0] for row in shadow.ask(views, (), (), (), 0).cells] == [name.encode() for name in SHOWN]
        relation = "SELECT relkind, obj_description(oid) FROM pg_class WHERE relname = 'dear'"
        assert shadow.ask(relation, (), (), (), 0).cells[0][0] == b"v"
        described = "SELECT obj_description('per_ward'::regclass)"
        assert b"SELECT its rows" in (shadow.ask(described, (), (), (), 0).cells[0][0] or b"")
        types = (
            "SELECT attname, format_type(atttypid, atttypmod), col_description(attrelid, attnum) FROM pg_attribute"
            " WHERE attrelid = 'renamed'::regclass AND attnum > 0 ORDER BY attnum"
        )
        found = shadow.ask(types, (), (), (), 0).cells
        assert [row[0] for row in found] == [b"visit_id", b"who", b"price", b"state", b"ward"]
        assert tuple(found[2][1:]) == (b"numeric(10,2)", b"from 0 to 300")
        rights = "has_table_privilege(oid, 'SELECT'), has_table_privilege(oid, 'INSERT, UPDATE, DELETE')"
        readable = f"SELECT DISTINCT relkind, {rights} FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        of_tables_and_views = {row for row in shadow.ask(readable, (), (), (), 0).cells if row[0] in (b"r", b"v")}
        assert of_tables_and_views == {(b"r", b"t", b"f"), (b"v", b"t", b"f")}
        for name in SHOWN:
            with pytest.raises(CatalogRefused, match="with catalogs") as refused:
                shadow.ask(f"SELECT count(*) FROM {name} WHERE false", (), (), (), 0)
            assert refused.value.hint == f"query {name} separately"
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE clinic WITH (FORCE)")


def test_the_check_says_which_views_cannot_be_asked(url: str) -> None:
    declared = parse_policy(f"{TEXT}[tables.ward_costs]\npublic = true\n")
    with connected(url, 10_000) as connection:
        schema = read_schema(connection).declaring(declared.tables)
        findings = check_policy(PostgresCustody(connection), declared, schema)
    assert {finding.severity for finding in findings} == {"warning"}
    found = {finding.subject: finding.message for finding in findings}
    assert found.keys() == {*REFUSED.keys() - {"ward_costs"}, "tables.ward_costs"}
    assert "it reads visit, and its answers are exact, free and unprotected" in found["tables.ward_costs"]
    for name in REFUSED.keys() - {"ward_costs"}:
        assert REFUSED[name] in found[name] and "declare it public" in found[name]


def test_of_duckdb_only_declared_views_are_there(tmp_path: Path) -> None:
    """Its SQL means other things: 5 / 2 is 2.5."""
    path = tmp_path / "wards.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE SCHEMA public; USE public")
        connection.execute("CREATE TABLE ward (id bigint PRIMARY KEY)")
        connection.execute("INSERT INTO ward VALUES (5)")
        connection.execute("CREATE VIEW halves AS SELECT id / 2 AS half FROM ward")
    backend = DuckdbBackend(path, "public")
    before = backend.schema()
    assert (set(before.tables), set(before.views)) == ({"ward"}, {"halves"})
    with pytest.raises(UnknownTable):
        bind_public(expanded(read("SELECT half FROM halves"), before, POLICY).tree, before, POLICY)
    with duckdb.connect(path) as connection:
        connection.execute("USE public; CREATE OR REPLACE VIEW halves AS SELECT id / 3 AS half FROM ward")
    assert backend.schema().fingerprint != before.fingerprint
