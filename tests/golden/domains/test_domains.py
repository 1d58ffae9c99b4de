"""The groups of an answer are those that SQL shows: none is missing, and none is there that cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.errors import StatementTooComplex, UnsupportedSQL
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres import PostgresBackend
from server.errors import NoGroups
from server.query import Budget, QueryResponse
from server.results.response import response
from server.workers.measure import measure, plan_measurements
from tests.golden.databases import Engine, engines, in_file, on_server
from tests.golden.domains.cases import CASES
from tests.golden.domains.hospital import ROWS, TABLES
from tests.golden.untruncated import assert_same, untruncated
from tests.support.planning import planned
from tests.support.seeds import sampled

_DRUGS = "FROM visit v JOIN drug d ON v.drug = d.id"
_MAYBE_DIAGNOSED = "FROM visit v LEFT JOIN diagnosis dx ON v.diagnosis = dx.code"

POLICY = parse_policy(Path(__file__).with_name("policy.toml").read_text())


@pytest.fixture(scope="module")
def hospital_url(embedded_postgres: EmbeddedPostgres) -> Iterator[str]:
    with on_server(embedded_postgres, "hospital", (*TABLES, *ROWS)) as url:
        yield url


@pytest.fixture(scope="module")
def both(hospital_url: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Engine, Engine]:
    path = in_file(tmp_path_factory.mktemp("hospital") / "tables.duckdb", (*TABLES, *ROWS))
    found = engines(hospital_url, path)
    validate(POLICY, found[0].schema)
    return found


@pytest.fixture(scope="module")
def schema(both: tuple[Engine, Engine]) -> Schema:
    """PostgreSQL's."""
    return both[0].schema


def test_every_group_and_no_other(both: tuple[Engine, Engine]) -> None:
    """And whatever stands in a statement for a domain, it is none of the tables of people."""
    private = [f'"public"."{name}"' for name in both[0].schema.tables if not POLICY.is_public(name)]
    for name, case in sampled(list(CASES.items()), 30):
        plain = case.sql
        if case.where:
            head, group = plain.split(" GROUP BY")
            plain = f"{head} {'AND' if ' WHERE ' in head else 'WHERE'} {case.where} GROUP BY{group}"
        expected = both[0].run(plain)
        for schema, run, dialect in both:
            plan = planned(case.sql, schema, POLICY)
            query = rewrite(plan, dialect=dialect, schema=schema)
            answer = untruncated(plan, run, query)
            assert_same(answer, plan, expected)
            assert not answer.empty, f"{name}: {dialect} shows groups that cannot be"
            assert len(answer.rows) == case.groups, name
            assert not any(table in (statement or "") for statement in query.domains for table in private), name


def test_a_column_that_depends_on_a_primary_key(both: tuple[Engine, Engine]) -> None:
    """PostgreSQL itself takes it; the groups, also that of a missing right side, and the plan are the same."""
    for select, source, where, written, keys in [
        ("d.id, d.name, d.atc", _DRUGS, "", "d.id", "d.id, d.name, d.atc"),
        ("d.name", _DRUGS, "WHERE d.id < 9", "d.id", "d.id, d.name"),
        ("v.ward, d.name", _DRUGS, "WHERE d.id < 9", "v.ward, d.id", "v.ward, d.id, d.name"),
        ("dx.code, dx.severity", _MAYBE_DIAGNOSED, "", "dx.code", "dx.code, dx.severity"),
        ("dx.code, dx.title", _MAYBE_DIAGNOSED, "", "dx.code", "dx.code, dx.title"),
    ]:  # fmt: skip
        body = f"SELECT {select}, count(*) {source} {where} GROUP BY"
        expected = both[0].run(f"{body} {written}")
        for schema, run, dialect in both:
            plan = planned(f"{body} {written}", schema, POLICY)
            spelled_out = planned(f"{body} {keys}", schema, POLICY)
            query = rewrite(plan, dialect=dialect, schema=schema)
            assert query == rewrite(spelled_out, dialect=dialect, schema=schema)
            answer = untruncated(plan, run, query)
            assert_same(answer, plan, expected)
            assert not answer.empty, f"{dialect} shows groups that cannot be"


def test_fields_divided_as_numerics(both: tuple[Engine, Engine]) -> None:
    """As PostgreSQL has it: a group for each twelfth. DuckDB has no such numerics."""
    schema, run, _ = both[0]
    sql = "SELECT extract(month FROM v.came) / 3, sum(extract(month FROM v.came) / 2) FROM visit v GROUP BY 1"
    plan = planned(sql, schema, POLICY)
    answer = untruncated(plan, run, rewrite(plan))
    assert_same(answer, plan, run(sql))
    assert (len(answer.rows), plan.display.outputs[0].type) == (12, "numeric")
    with pytest.raises(UnsupportedSQL, match="DuckDB"):
        rewrite(plan, dialect="duckdb", schema=schema)


def _answered(sql: str, url: str, schema: Schema) -> QueryResponse:
    plan = planned(sql, schema, POLICY)
    domain, noisy = measure(PostgresBackend(url), rewrite(plan), plan_measurements(plan, POLICY))
    return response(plan, domain, noisy, Budget(1.0, 0.0, 0.0, 0.0), "r")


def test_an_answer_has_its_groups_and_says_what_it_leaves_out(schema: Schema, hospital_url: str) -> None:
    """All the way but for ledger and workers."""
    pairs = _answered(CASES["keys of a public table"].sql, hospital_url, schema)
    assert [row[:2] for row in pairs.rows] == [(key, f"drug{key}") for key in range(1, 41)]
    kinds = _answered(CASES["a group for NULL"].sql, hospital_url, schema)
    assert [row[0] for row in kinds.rows] == ["inpatient", "outpatient", "tele", None]
    assert "Rows whose visit.kind is not among its declared values are left out." in kinds.notes
    smokers = _answered(CASES["a boolean"].sql, hospital_url, schema)
    assert "Rows whose patient.smoker is NULL are left out." in smokers.notes
    assert not any("left out" in note for note in pairs.notes)


def test_where_nothing_can_be_there_is_no_group(schema: Schema, hospital_url: str) -> None:
    with pytest.raises(NoGroups):  # for which nothing is charged
        _answered(
            "SELECT d.name, count(*), avg(v.days), count(DISTINCT v.patient), count(DISTINCT v.kind) "
            "FROM visit v JOIN drug d ON v.drug = d.id WHERE d.id > 99 GROUP BY 1",
            hospital_url,
            schema,
        )


def test_too_many_values_are_refused_before_anything_runs(schema: Schema) -> None:
    key = "extract(minute FROM v.came) + v.days"
    plan = planned(f"SELECT {key}, count(*) FROM visit v GROUP BY 1", schema, POLICY)
    assert plan.domains[0].values == tuple(range(74)), "bounds alone, where values are too many"
    key = "CASE WHEN extract(minute FROM v.came) > 5 THEN p.birth ELSE v.came::date END"
    with pytest.raises(StatementTooComplex, match="the columns of the group key can have"):
        planned(f"SELECT {key}, count(*) FROM visit v JOIN patient p ON v.patient = p.id GROUP BY 1", schema, POLICY)
