"""The groups of an answer are those that SQL shows: none is missing, and none is there that cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb as duckdb_driver
import psycopg
import pytest

from planner.errors import StatementTooComplex, UnsupportedSQL
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from server.backends.catalog import read_schema
from server.backends.duckdb import DuckdbBackend
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres import PostgresBackend
from server.query import Budget, QueryResponse
from server.results.response import response
from server.workers.measure import measure, plan_measurements
from tests.golden.domains.cases import CASES
from tests.golden.domains.hospital import ROWS, TABLES
from tests.golden.untruncated import Run, assert_same, postgres, untruncated
from tests.support.planning import planned

_DRUGS = "FROM visit v JOIN drug d ON v.drug = d.id"
_MAYBE_DIAGNOSED = "FROM visit v LEFT JOIN diagnosis dx ON v.diagnosis = dx.code"

POLICY = parse_policy(Path(__file__).with_name("policy.toml").read_text())


@pytest.fixture(scope="module")
def hospital_url(embedded_postgres: EmbeddedPostgres) -> Iterator[str]:
    """A database with the four tables."""
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS hospital WITH (FORCE)")
        connection.execute("CREATE DATABASE hospital")
        connection.execute("ALTER DATABASE hospital SET timezone = 'UTC'")
        url = embedded_postgres.url(database="hospital")
        with psycopg.connect(url) as loading:
            for statement in (*TABLES, *ROWS):
                loading.execute(statement.encode())
        yield url
        connection.execute("DROP DATABASE hospital WITH (FORCE)")


@pytest.fixture(scope="module")
def hospital_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same tables in a DuckDB file."""
    path = tmp_path_factory.mktemp("hospital") / "hospital.duckdb"
    with duckdb_driver.connect(path) as connection:
        connection.execute("CREATE SCHEMA public; USE public; SET TimeZone = 'UTC'")
        for statement in (*TABLES, *ROWS):
            connection.execute(statement)
    return path


@pytest.fixture(scope="module")
def on_postgres(hospital_url: str) -> tuple[Schema, Run]:
    with psycopg.connect(hospital_url) as connection:
        schema = read_schema(connection)
    validate(POLICY, schema)
    return schema, postgres(hospital_url)


@pytest.fixture(scope="module")
def on_duckdb(hospital_file: Path) -> tuple[Schema, Run]:
    def run(statement: str) -> list[tuple[object, ...]]:
        with duckdb_driver.connect(hospital_file, read_only=True) as connection:
            connection.execute("USE public; SET TimeZone = 'UTC'")
            return connection.execute(statement).fetchall()

    return DuckdbBackend(hospital_file, "public").schema(), run


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_group_and_no_other(name: str, on_postgres: tuple[Schema, Run], on_duckdb: tuple[Schema, Run]) -> None:
    case = CASES[name]
    plain = case.sql
    if case.where:
        head, group = plain.split(" GROUP BY")
        plain = f"{head} {'AND' if ' WHERE ' in head else 'WHERE'} {case.where} GROUP BY{group}"
    expected = on_postgres[1](plain)
    for (schema, run), dialect in ((on_postgres, "postgres"), (on_duckdb, "duckdb")):
        plan = planned(case.sql, schema, POLICY)
        query = rewrite(plan, dialect=dialect, schema=schema)  # type: ignore[arg-type]
        answer = untruncated(plan, run, query)
        assert_same(answer, plan, expected)
        assert not answer.empty, f"{dialect} shows groups that cannot be"
        assert len(answer.rows) == case.groups


@pytest.mark.parametrize(
    ("select", "source", "where", "written", "keys"),
    [
        ("d.id, d.name, d.atc", _DRUGS, "", "d.id", "d.id, d.name, d.atc"),
        ("d.name", _DRUGS, "WHERE d.id < 9", "d.id", "d.id, d.name"),
        ("v.ward, d.name", _DRUGS, "WHERE d.id < 9", "v.ward, d.id", "v.ward, d.id, d.name"),
        ("dx.code, dx.severity", _MAYBE_DIAGNOSED, "", "dx.code", "dx.code, dx.severity"),
        ("dx.code, dx.title", _MAYBE_DIAGNOSED, "", "dx.code", "dx.code, dx.title"),
    ],
)
def test_a_column_that_depends_on_a_primary_key(
    select: str,
    source: str,
    where: str,
    written: str,
    keys: str,
    on_postgres: tuple[Schema, Run],
    on_duckdb: tuple[Schema, Run],
) -> None:
    """PostgreSQL itself takes it; the groups, also that of a missing right side, and the plan are the same."""
    body = f"SELECT {select}, count(*) {source} {where} GROUP BY"
    expected = on_postgres[1](f"{body} {written}")
    for (schema, run), dialect in ((on_postgres, "postgres"), (on_duckdb, "duckdb")):
        plan = planned(f"{body} {written}", schema, POLICY)
        spelled_out = planned(f"{body} {keys}", schema, POLICY)
        query = rewrite(plan, dialect=dialect, schema=schema)  # type: ignore[arg-type]
        assert query == rewrite(spelled_out, dialect=dialect, schema=schema)  # type: ignore[arg-type]
        answer = untruncated(plan, run, query)
        assert_same(answer, plan, expected)
        assert not answer.empty, f"{dialect} shows groups that cannot be"


def test_fields_divided_as_numerics(on_postgres: tuple[Schema, Run]) -> None:
    """As PostgreSQL has it: a group for each twelfth. DuckDB has no such numerics."""
    schema, run = on_postgres
    sql = "SELECT extract(month FROM v.came) / 3, sum(extract(month FROM v.came) / 2) FROM visit v GROUP BY 1"
    plan = planned(sql, schema, POLICY)
    answer = untruncated(plan, run, rewrite(plan))
    assert_same(answer, plan, run(sql))
    assert (len(answer.rows), plan.outputs[0].type) == (12, "numeric")
    with pytest.raises(UnsupportedSQL, match="DuckDB"):
        rewrite(plan, dialect="duckdb", schema=schema)


def test_a_domain_reads_public_tables_only(on_postgres: tuple[Schema, Run]) -> None:
    """Whatever stands in a statement, it is none of the tables of people."""
    schema, _ = on_postgres
    private = [name for name in schema.tables if not POLICY.is_public(name)]
    for case in CASES.values():
        for statement in rewrite(planned(case.sql, schema, POLICY)).domains:
            assert statement is None or not any(f'"public"."{name}"' in statement for name in private)


def _answered(sql: str, url: str, schema: Schema) -> QueryResponse:
    plan = planned(sql, schema, POLICY)
    domain, noisy = measure(PostgresBackend(url), rewrite(plan), plan_measurements(plan, POLICY))
    return response(plan, domain, noisy, Budget(1.0, 0.0, 0.0, 0.0), "r")


def test_an_answer_has_its_groups_and_says_what_it_leaves_out(
    on_postgres: tuple[Schema, Run], hospital_url: str
) -> None:
    """All the way but for ledger and workers."""
    schema, _ = on_postgres
    pairs = _answered(CASES["keys of a public table"].sql, hospital_url, schema)
    assert [row[:2] for row in pairs.rows] == [(key, f"drug{key}") for key in range(1, 41)]
    kinds = _answered(CASES["a group for NULL"].sql, hospital_url, schema)
    assert [row[0] for row in kinds.rows] == ["inpatient", "outpatient", "tele", None]
    assert "Rows whose visit.kind is not among its declared values are left out." in kinds.notes
    smokers = _answered(CASES["a boolean"].sql, hospital_url, schema)
    assert "Rows whose patient.smoker is NULL are left out." in smokers.notes
    assert not any("left out" in note for note in pairs.notes)


def test_where_nothing_can_be_there_is_no_group(on_postgres: tuple[Schema, Run], hospital_url: str) -> None:
    schema, _ = on_postgres
    answer = _answered(
        "SELECT d.name, count(*), avg(v.days), count(DISTINCT v.patient), count(DISTINCT v.kind) "
        "FROM visit v JOIN drug d ON v.drug = d.id WHERE d.id > 99 GROUP BY 1",
        hospital_url,
        schema,
    )
    assert answer.rows == ()


def test_too_many_values_are_refused_before_anything_runs(on_postgres: tuple[Schema, Run]) -> None:
    schema, _ = on_postgres
    key = "extract(minute FROM v.came) + v.days"
    plan = planned(f"SELECT {key}, count(*) FROM visit v GROUP BY 1", schema, POLICY)
    assert plan.domains[0].values == tuple(range(74)), "bounds alone, where values are too many"
    key = "CASE WHEN extract(minute FROM v.came) > 5 THEN p.birth ELSE v.came::date END"
    with pytest.raises(StatementTooComplex, match="a group key over"):
        planned(f"SELECT {key}, count(*) FROM visit v JOIN patient p ON v.patient = p.id GROUP BY 1", schema, POLICY)
