"""Views before a real PostgreSQL: read as it spells them, planned, and executed beside what they stand for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from sqlglot import exp, parse_one

from planner.binding.bind import bind
from planner.errors import PlannerError, PolicyInvalid, UnknownColumn, UnknownTable, UnsupportedSQL
from planner.examine_views import RefusedView, ShownView, check_declared_views, examined_views
from planner.expand_views import expanded
from planner.parsing.parse import private_select, read
from planner.plan import Plan
from planner.planning.make_plan import make_plan
from planner.policy.policy import Policy, parse_policy
from planner.policy.validate import validate
from planner.public.bind import bind_public
from planner.public.route import check_public_grammar
from planner.rewriting.rewrite import rewrite, write_public
from planner.schema import Schema
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres import connected
from server.backends.postgres_catalog import read_schema
from tests.golden.databases import on_server
from tests.golden.untruncated import Run, assert_same, postgres, untruncated
from tests.golden.views.clinic import (
    ANSWERS,
    MATERIALIZED,
    POLICY,
    PUBLIC,
    QUESTIONS,
    REFUSED,
    ROWS,
    SHOWN,
    TABLES,
    TEXT,
    VIEWS,
)


@pytest.fixture(scope="module")
def clinic_url(embedded_postgres: EmbeddedPostgres) -> Iterator[str]:
    views = (f"CREATE VIEW {name} AS {query}" for name, query in VIEWS.items())
    with on_server(embedded_postgres, "clinic_views", (*TABLES, *ROWS, *views, MATERIALIZED)) as url:
        yield url


@pytest.fixture(scope="module")
def schema(clinic_url: str) -> Schema:
    with connected(clinic_url, 10_000) as connection:
        schema = read_schema(connection)
    validate(POLICY, schema)
    return schema


def _plan(sql: str, schema: Schema, policy: Policy = POLICY) -> Plan:
    select = private_select(expanded(read(sql), schema, policy))
    return make_plan(bind(select, schema, policy), schema, policy, epsilon=None, delta=None, mechanism=None)


def _tuples(plan: Plan, run: Run) -> list[Counter[tuple[object, ...]]]:
    query = rewrite(plan)
    found = []
    for text in (query.join, *query.distinct):
        if text is not None:
            read_from = {table.name for table in parse_one(text, dialect="postgres").find_all(exp.Table)}
            assert read_from <= {"lab", "patient", "visit", "ward"}
            found.append(Counter(map(tuple, run(text))))
    return found


def test_a_view_is_what_it_stands_for(clinic_url: str, schema: Schema) -> None:
    """The answer is PostgreSQL's own over the view, and each row's owners and weights are those of the tables."""
    for name in sorted(QUESTIONS):
        over_views, over_tables = QUESTIONS[name]
        run = postgres(clinic_url)
        plan = _plan(over_views, schema)
        assert_same(untruncated(plan, run), plan, run(over_views))
        assert _tuples(plan, run) == _tuples(_plan(over_tables, schema), run)


def test_who_leaves_takes_the_same_rows_along(clinic_url: str, schema: Schema) -> None:
    """Over a view and over its tables, a person's rows go, and those of others stay as they are."""
    for name in sorted(QUESTIONS):
        plans = [_plan(sql, schema) for sql in QUESTIONS[name]]
        with psycopg.connect(clinic_url) as connection:

            def run(statement: str) -> list[tuple[object, ...]]:
                return connection.execute(statement.encode()).fetchall()

            before = _tuples(plans[0], run)
            for table, owned in (
                ("lab", "visit IN (SELECT id FROM visit WHERE patient = 8)"),
                ("visit", "patient = 8"),
                ("patient", "id = 8"),
            ):
                connection.execute(f"DELETE FROM {table} WHERE {owned}".encode())
            after, written_out = (_tuples(plan, run) for plan in plans)
            connection.rollback()
        assert after == written_out
        assert all(not later - earlier for later, earlier in zip(after, before, strict=True)), "nothing appears"
        gone = [earlier - later for later, earlier in zip(after, before, strict=True)]
        assert all("8" in map(str, row) for counter in gone for row in counter), "nothing of others goes"


def test_a_view_of_public_tables_is_exact(clinic_url: str, schema: Schema) -> None:
    for sql in sorted(PUBLIC):
        statement = expanded(read(sql), schema, POLICY)
        check_public_grammar(statement)
        query = bind_public(statement.tree, schema, POLICY)
        assert query.reads == ("ward",)
        assert postgres(clinic_url)(write_public(query).sql) == PUBLIC[sql] == postgres(clinic_url)(sql)


def test_which_views_can_be_asked(schema: Schema) -> None:
    found = examined_views(schema, POLICY)
    assert tuple(view.name for view in found if isinstance(view, ShownView)) == SHOWN
    assert {view.name for view in found if isinstance(view, ShownView) and view.public} == {"wards", "ward_sizes"}
    refused = {view.name: view for view in found if isinstance(view, RefusedView)}
    assert refused.keys() == {*REFUSED, "leaking"}
    assert {name for name, view in refused.items() if view.reads_unnamed} == {"leaking"}
    assert "secret" in refused["leaking"].reason


def test_columns_know_what_they_show(schema: Schema) -> None:
    shown = {view.name: view for view in examined_views(schema, POLICY) if isinstance(view, ShownView)}
    bases = {column.column.name: column.base for column in shown["chained"].columns}
    assert bases == {"person": ("patient", "id"), "twice": None, "ward_name": None}
    renamed = {column.column.name: (column.column.type, column.base) for column in shown["renamed"].columns}
    assert renamed["price"] == ("numeric(10,2)", ("visit", "cost"))


def test_what_cannot_be_planned_is_refused_by_name(schema: Schema) -> None:
    for name in sorted(REFUSED):
        sql = f"SELECT count(*)\nFROM {name}"
        with pytest.raises(UnsupportedSQL) as refused:
            _plan(sql, schema)
        assert refused.value.message.startswith(f"the view '{name}' cannot be queried: ")
        assert REFUSED[name] in refused.value.message
        assert refused.value.position == sql.index(name) + 1
        assert refused.value.hint is not None and "declare it public" in refused.value.hint


def test_of_an_answer_the_rows_alone_are_asked(schema: Schema) -> None:
    """As of a subquery in its place: what is computed over its rows is refused with what can be asked."""
    for name in sorted(ANSWERS):
        assert _plan(f"SELECT * FROM {name}", schema).display.outputs
        for sql in (
            f"SELECT sum(length('x'))\nFROM {name}",
            f"SELECT count(*)\nFROM {name} a JOIN {name} b USING (n)",
        ):
            with pytest.raises(UnsupportedSQL) as refused:
                _plan(sql, schema)
            assert refused.value.message.startswith(ANSWERS[name])
            assert refused.value.position == sql.index(name) + 1
            assert refused.value.hint is not None and refused.value.hint.startswith("select its rows alone or")
        shown = next(view for view in examined_views(schema, POLICY) if view.name == name)
        assert isinstance(shown, ShownView) and shown.answers and not shown.public
        bases = {"per_ward": {"ward": ("visit", "ward"), "n": None}, "over_per_ward": {"n": None}}
        town = {"town": ("patient", "town")}
        assert {column.column.name: column.base for column in shown.columns} == bases.get(name, town)


def test_a_view_that_is_computed_from_several_answers_is_shown(schema: Schema) -> None:
    shown = next(view for view in examined_views(schema, POLICY) if view.name == "shares")
    assert isinstance(shown, ShownView) and shown.answers
    assert [(column.column.name, column.base) for column in shown.columns] == [("ward", None), ("percent", None)]


def test_an_answer_without_a_plan_is_refused_for_its_own_reason(schema: Schema) -> None:
    """A group key that has no domain, say: nothing of the view can be asked then."""
    undeclared = parse_policy(TEXT.replace('town = { domain = ["Ulm", "Bonn", "Kiel"] }\n', ""))
    found = {view.name: view for view in examined_views(schema, undeclared)}
    for name in ("towns", "town_ranks"):
        view = found[name]
        assert isinstance(view, RefusedView) and "are not public" in view.reason


def test_a_view_over_an_answer_may_be_declared_public(schema: Schema) -> None:
    """Its numbers are then exact and free: the custodian's word, as of a materialized one."""
    declared = parse_policy(f"{TEXT}[tables.per_ward]\npublic = true\n")
    check_declared_views(declared, schema.declaring(declared.tables))


def test_a_view_of_what_the_policy_does_not_name_is_not_there(schema: Schema) -> None:
    with pytest.raises(UnknownTable) as refused:
        _plan("SELECT count(*) FROM leaking", schema)
    with pytest.raises(UnknownTable) as unknown:
        _plan("SELECT count(*) FROM leakinh", schema)
    assert refused.value.message == unknown.value.message.replace("leakinh", "leaking")


def test_what_the_role_may_not_read_stays_hidden(schema: Schema) -> None:
    """A view may show a column that the proxy's role cannot read of its table: the view's owner can."""
    patient = schema.tables["patient"]
    fewer = replace(patient, columns=tuple(column for column in patient.columns if column.name != "town"))
    hidden = Schema({**schema.tables, "patient": fewer}, schema.views)
    with pytest.raises(UnknownColumn) as refused:
        _plan("SELECT count(*) FROM with_people", hidden)
    assert "town" not in refused.value.message and refused.value.position == 22
    told = next(view for view in examined_views(hidden, POLICY) if view.name == "with_people")
    assert isinstance(told, RefusedView) and told.reason.startswith(refused.value.message)
    assert "has no column 'town'; check that the proxy's role may SELECT it" in told.reason, "the custodian is told"


def test_a_view_of_public_groups_stands_beside_private_rows(schema: Schema) -> None:
    plan = _plan("SELECT count(*) FROM visit JOIN ward_sizes s ON s.size = visit.ward", schema)
    assert {owner.relation for owner in plan.owners} == {"patient"}


def test_a_view_with_another_text_is_another_schema(clinic_url: str, schema: Schema) -> None:
    def changed(*statements: str) -> Schema:
        with psycopg.connect(clinic_url) as connection:
            for statement in statements:
                connection.execute(statement.encode())
            connection.execute("SET LOCAL search_path = pg_catalog")
            later = read_schema(connection)
            connection.rollback()
        return later

    assert changed().fingerprint == schema.fingerprint
    again = f"CREATE OR REPLACE VIEW dear AS {VIEWS['dear']}"
    assert changed(again).fingerprint == schema.fingerprint, "the same definition"
    assert changed(again.replace("100", "101")).fingerprint != schema.fingerprint
    assert changed("DROP VIEW dear").fingerprint != schema.fingerprint
    before = "DROP MATERIALIZED VIEW ward_costs"
    assert changed(before, MATERIALIZED.replace("sum", "avg")).fingerprint != schema.fingerprint


def test_a_materialized_view_is_public_by_declaration(clinic_url: str, schema: Schema) -> None:
    declared = parse_policy(f"{TEXT}[tables.ward_costs]\npublic = true\n")
    shown = schema.declaring(declared.tables)
    assert shown.fingerprint == schema.fingerprint
    validate(declared, shown)
    check_declared_views(declared, shown)
    query = bind_public(expanded(read("SELECT count(*) FROM ward_costs"), shown, declared).tree, shown, declared)
    assert (query.reads, postgres(clinic_url)(write_public(query).sql)) == (("ward_costs",), [(4,)])
    sql = "SELECT count(*) FROM visit JOIN ward_costs c ON c.ward = visit.ward WHERE c.total > 5000"
    plan = _plan(sql, shown, declared)
    assert_same(untruncated(plan, postgres(clinic_url)), plan, postgres(clinic_url)(sql))


def test_a_view_is_no_private_table(schema: Schema) -> None:
    for section, problem in [
        ("[tables.dear]\npublic = true\n", "shows rows of private tables"),
        ("[tables.dear]\n", "a view has no keys that lead to an owner"),
        ("[tables.ward_costs]\n", "a materialized view has no keys that lead to an owner"),
    ]:  # fmt: skip
        declared = parse_policy(TEXT + section)
        with pytest.raises(PolicyInvalid, match=problem):
            validate(declared, schema.declaring(declared.tables))
            check_declared_views(declared, schema.declaring(declared.tables))


def test_errors_stand_where_the_statement_does(schema: Schema) -> None:
    for sql, words in [
        ("SELECT count(*) FROM dear TABLESAMPLE BERNOULLI (10)", "TABLESAMPLE on a view"),
        ("SELECT count(*) FROM dear WHERE price > 1", "no table of the query has a column 'price'"),
        ("SELECT count(*) FROM dear d WHERE d.price > 1", "'d' has no column 'price'"),
        ("SELECT count(*) FROM other.dear", "there is no table 'other.dear'"),
        ("SELECT sum(cost) FROM dear d, renamed r", "no condition connects"),
        ("SELECT * FROM dear", "would show rows"),
    ]:  # fmt: skip
        with pytest.raises(PlannerError, match=re.escape(words)) as refused:
            _plan(sql, schema)
        assert refused.value.position is not None and refused.value.position <= len(sql)
