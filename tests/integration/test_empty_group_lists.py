"""Groups that a public table lists, while it lists none: nothing is released of them, so nothing is charged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from planner.policy.policy import parse_policy
from server.answers.proposals.accuracy import Accuracy
from server.answers.work import Compose, measures
from server.answers.workload.workload import WorkloadItem, WorkloadRequest
from server.backends.duckdb import DuckdbBackend
from server.backends.postgres import PostgresBackend, connected
from server.backends.postgres_catalog import read_schema
from server.errors import BudgetExhausted, NoGroups, NoProposal
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import QueryRequest, QueryResponse
from server.workers.pool import WorkerPool
from tests.support.asking import ask

ANALYSTS = {"ada": (3.0, 0.0)}

POLICY = """
name = "wards"
[database]
url = "env:NOISEGATE_DATABASE_URL"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 4.0
[privacy_units]
patient = "id"
[tables.ward]
public = true
[tables.visit.columns]
days = { range = [0, 10] }
kind = { domain = ["day", "night"] }
"""

TABLES = (
    "CREATE TABLE patient (id bigint PRIMARY KEY)",
    "CREATE TABLE ward (id bigint PRIMARY KEY, floor bigint)",
    "CREATE TABLE visit (id bigint PRIMARY KEY, patient_id bigint NOT NULL REFERENCES patient, "
    "ward_id bigint REFERENCES ward, days bigint NOT NULL, kind text NOT NULL)",
    "INSERT INTO patient SELECT g FROM generate_series(1, 50) AS s(g)",
    "INSERT INTO visit SELECT g, g, NULL, 2, 'day' FROM generate_series(1, 50) AS s(g)",
)

COUNTS = "SELECT w.floor, count(*) AS n FROM visit v JOIN ward w ON v.ward_id = w.id GROUP BY w.floor"
AVERAGES = "SELECT w.floor, avg(v.days) AS a FROM visit v JOIN ward w ON v.ward_id = w.id GROUP BY w.floor"
BY_KIND = COUNTS.replace("w.floor", "v.kind, w.floor")
TOTAL = "SELECT count(*) AS n FROM visit"


@dataclass(frozen=True)
class Wards:
    """A database in which no ward is listed yet, and a proxy before it.

    Attributes:
      run: changes the rows.
    """

    pipeline: Pipeline
    run: Callable[[str], object]

    def ask(self, sql: str, **settings: Any) -> QueryResponse:
        return ask(self.pipeline, request(sql, **settings))

    @property
    def left(self) -> float:
        return self.pipeline.ledger.budget("ada").epsilon_left


def request(sql: str, **settings: Any) -> QueryRequest:
    return QueryRequest("ada", sql, request_id="request-1", **settings)


@pytest.fixture(params=["duckdb", pytest.param("postgres", marks=pytest.mark.slow)])
def wards(request: pytest.FixtureRequest, tmp_path: Path, ledger: Ledger, workers: WorkerPool) -> Wards:
    if request.param == "postgres":
        url = request.getfixturevalue("scratch_url")

        def on_server(sql: str) -> None:
            with psycopg.connect(url) as connection:
                connection.execute(sql.encode())

        for statement in TABLES:
            on_server(statement)
        with connected(url, 10_000) as connection:
            schema = read_schema(connection)
        return Wards(Pipeline(parse_policy(POLICY), schema, PostgresBackend(url), ledger, workers), on_server)
    path = tmp_path / "wards.duckdb"

    def in_file(sql: str) -> None:
        with duckdb.connect(path) as connection:
            connection.execute(sql)

    for statement in TABLES:
        in_file(statement)
    backend = DuckdbBackend(path)
    return Wards(Pipeline(parse_policy(POLICY), backend.schema(), backend, ledger, workers), in_file)


FREE = (COUNTS, AVERAGES, BY_KIND, "SELECT kind, count(*) FROM visit WHERE kind = 'dusk' GROUP BY kind")


def test_nothing_is_charged_and_explain_says_so(wards: Wards) -> None:
    for sql in FREE:
        answer = wards.ask(sql)
        assert (list(answer.rows), answer.epsilon, answer.mechanism) == ([], 0.0, "none"), sql
        assert answer.notes[0].startswith("There is no group"), sql
        for settings in ({}, {"mechanism": "group_lp"}, {"epsilon": 0.01}, {"max_relative_error": 0.1}):
            told = wards.pipeline.explain(request(sql, **settings))
            assert (told.epsilon, told.mechanism, told.n_groups, told.cannot_pay) == (0.0, "none", 0, None), sql
        said = [str(line) for (line,) in wards.ask(f"EXPLAIN {sql}").rows]
        assert "groups: 0, before HAVING and LIMIT" in said and "would charge: epsilon 0" in said, sql
    answer = wards.ask(f"SELECT count(*) AS n FROM ({COUNTS}) AS s")
    assert (list(answer.rows), answer.epsilon) == ([(0,)], 0.0)
    answer = wards.ask(COUNTS, max_relative_error=0.1)
    assert (list(answer.rows), answer.epsilon) == ([], 0.0)
    with pytest.raises(NoProposal, match="free"):
        wards.pipeline.propose(request(COUNTS), Accuracy(interval_width=5.0))
    assert wards.left == 3.0


def test_explain_of_no_rows_says_that_they_are_free(wards: Wards) -> None:
    told = wards.pipeline.explain(request(f"{TOTAL} LIMIT 0"))
    assert (told.epsilon, told.mechanism, told.n_groups) == (0.0, "none", 1)
    assert "the answer shows no row" in told.reason


def test_a_part_without_groups_is_free_beside_others(wards: Wards) -> None:
    both = f"SELECT t.n, (SELECT max(s.n) FROM ({COUNTS}) AS s) AS most FROM ({TOTAL}) AS t"
    assert wards.pipeline.explain(request(both, epsilon=0.5)).epsilon == 0.25
    answer = wards.ask(both, epsilon=0.5)
    assert answer.rows[0][1] is None and answer.epsilon == 0.25
    together = wards.pipeline.workload(
        WorkloadRequest("ada", (WorkloadItem(COUNTS), WorkloadItem(TOTAL)), request_id="request-1", epsilon=1.0)
    )
    assert [one.epsilon for one in together.answers] == [0.0, 1.0]
    assert list(together.answers[0].rows) == [] and len(together.answers[1].rows) == 1
    assert wards.left == 1.75


def test_who_has_nothing_left_is_told_the_same(wards: Wards) -> None:
    assert wards.ask(TOTAL, epsilon=3.0).epsilon == 3.0
    assert wards.ask(COUNTS).epsilon == 0.0
    wards.run("INSERT INTO ward VALUES (1, 1)")
    with pytest.raises(BudgetExhausted):
        wards.ask(COUNTS)


def test_what_is_charged_follows_from_the_list_that_is_answered_by(wards: Wards) -> None:
    """The list is read once, with the rows: whatever it was when the question was looked up."""
    asked = request(COUNTS)
    found = wards.pipeline.find(asked)
    wards.run("INSERT INTO ward VALUES (1, 1), (2, 2)")
    answer = wards.pipeline.finish(found, asked)
    assert (len(answer.rows), answer.epsilon) == (2, 1.0)
    asked = request(AVERAGES)
    found = wards.pipeline.find(asked)
    wards.run("DELETE FROM ward")
    answer = wards.pipeline.finish(found, asked)
    assert (len(answer.rows), answer.epsilon) == (0, 0.0)
    assert wards.left == 2.0


def test_a_list_that_becomes_empty_between_parts_costs_nothing(wards: Wards) -> None:
    wards.run("INSERT INTO ward VALUES (1, 1)")
    asked = request(f"SELECT max(s.n) AS most FROM ({COUNTS}) AS s")
    found = wards.pipeline.find(asked)
    assert isinstance(found, Compose)
    decided = wards.pipeline.deciding.decide(found, asked)
    wards.run("DELETE FROM ward")
    assert measures(decided)
    with pytest.raises(NoGroups, match="became empty"):
        wards.pipeline.running.run(decided, asked)
    assert wards.left == 3.0
    assert wards.ask(asked.sql).epsilon == 0.0
