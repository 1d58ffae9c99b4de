"""Questions that start from thresholds of earlier answers, before a real database, a real ledger and real workers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server.backends.duckdb import DuckdbBackend
from server.errors import KeyReused
from server.found import Kept, ToMeasure
from server.ledger.account import Grant
from server.ledger.analyst import CUSTODIAN
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import QueryRequest, QueryResponse
from server.workers.pool import WorkerPool
from tests.golden.tpch.queries import policy
from tests.support.asking import ask
from tests.support.tpch_duckdb import NAMESPACE

COUNT = "SELECT count(*) FROM orders"
BY_SEGMENT = (
    "SELECT c_mktsegment, count(*), sum(o_totalprice) FROM customer JOIN orders ON o_custkey = c_custkey GROUP BY 1"
)
STARTS = "starts from that of your answer of charge"


ANALYSTS = {"ada": (20.0, 1e-3), "grace": (20.0, 1e-3)}


@pytest.fixture
def ledger(ledger: Ledger) -> Ledger:
    """With a budget of the dataset."""
    ledger.grant("dataset", Grant(100.0, 1e-2), CUSTODIAN)
    return ledger


@pytest.fixture
def pipeline(ledger: Ledger, workers: WorkerPool, tpch_duckdb: Path) -> Pipeline:
    file = DuckdbBackend(tpch_duckdb, NAMESPACE)
    return Pipeline(replace(policy(), remember_thresholds=True), file.schema(), file, ledger, workers)


def asked(pipeline: Pipeline, sql: str = COUNT, analyst: str = "ada", **settings: Any) -> QueryResponse:
    return ask(pipeline, QueryRequest(analyst, sql, epsilon=0.5, request_id="request-1", **settings))


def left(ledger: Ledger) -> dict[str, float]:
    return {one.name: round(one.epsilon_left, 6) for one in ledger.accounts()}


def starts(answer: QueryResponse) -> bool:
    return any(STARTS in note for note in answer.notes)


@pytest.mark.slow
@pytest.mark.parametrize("sql", [pytest.param(COUNT, marks=pytest.mark.slow), BY_SEGMENT])
def test_the_next_load_is_measured_with_less_noise_at_the_same_charge(
    pipeline: Pipeline, ledger: Ledger, sql: str
) -> None:
    first = asked(pipeline, sql)
    assert not starts(first)
    ledger.bump_data(CUSTODIAN)
    second = asked(pipeline, sql)
    assert starts(second) and second.epsilon == first.epsilon == 0.5
    for one, other in zip(first.rows, second.rows, strict=True):
        assert other[-1] == pytest.approx(float(str(one[-1])), rel=0.5)  # at twice the threshold less is cut
    (own,) = {taus[-1] for taus in second.taus}
    (before,) = {taus[-1] for taus in first.taus}
    assert own is not None and before is not None
    assert own[0] in (before[0], 2 * before[0])


@pytest.mark.slow
def test_the_same_question_of_a_load_is_charged_once(pipeline: Pipeline, ledger: Ledger) -> None:
    asked(pipeline)
    ledger.bump_data(CUSTODIAN)
    second = asked(pipeline)
    asked(pipeline, nobody_adds_more_than=50.0)
    ask(pipeline, QueryRequest("ada", COUNT, epsilon=0.25))
    spent = left(ledger)
    again = asked(pipeline, f"{COUNT} LIMIT 5")
    fresh = replace(pipeline)  # as after a restart
    afterwards = asked(fresh)
    assert again.cached and afterwards.cached
    assert tuple(again.rows) == tuple(afterwards.rows) == tuple(second.rows)
    assert starts(again) and starts(afterwards)
    assert left(ledger) == spent
    assert isinstance(fresh.find(QueryRequest("ada", COUNT, epsilon=0.5)), Kept)


@pytest.mark.slow
def test_a_request_that_is_sent_twice_is_charged_once(pipeline: Pipeline, ledger: Ledger) -> None:
    asked(pipeline)
    ledger.bump_data(CUSTODIAN)
    first = asked(pipeline, idempotency_key="monday")
    ledger.bump_data(CUSTODIAN)
    again = asked(pipeline, idempotency_key="monday")
    assert again.cached and tuple(again.rows) == tuple(first.rows)
    with pytest.raises(KeyReused):
        ask(pipeline, QueryRequest("ada", COUNT, epsilon=0.25, idempotency_key="monday", request_id="r"))


@pytest.mark.slow
def test_another_analyst_is_not_sold_what_a_memory_decided(pipeline: Pipeline, ledger: Ledger) -> None:
    """The dataset pays for both; before there is a memory it pays once."""
    asked(pipeline)
    bought = asked(pipeline, analyst="grace")
    assert bought.cached
    assert left(ledger) == {"analyst:ada": 19.5, "analyst:grace": 19.5, "dataset": 99.5}
    ledger.bump_data(CUSTODIAN)
    ada, grace = asked(pipeline), asked(pipeline, analyst="grace")
    assert starts(ada) and not starts(grace)
    assert not grace.cached
    assert left(ledger) == {"analyst:ada": 19.0, "analyst:grace": 19.0, "dataset": 98.5}
    assert ledger.verify().fault is None


@pytest.mark.slow
def test_questions_of_a_statement_start_each_by_itself(pipeline: Pipeline, ledger: Ledger) -> None:
    sql = f"SELECT ({COUNT}) AS orders, (SELECT count(*) FROM customer) AS customers"
    asked(pipeline, sql)
    ledger.bump_data(CUSTODIAN)
    spent = left(ledger)["dataset"]
    answer = asked(pipeline, sql)
    assert starts(answer)
    assert left(ledger)["dataset"] == spent - 0.5
    assert asked(pipeline, sql).epsilon == 0.0


@pytest.mark.slow
def test_explain_says_so_and_is_free(pipeline: Pipeline, ledger: Ledger) -> None:
    asked(pipeline)
    ledger.bump_data(CUSTODIAN)
    spent = left(ledger)
    explained = pipeline.explain(QueryRequest("ada", COUNT, epsilon=0.5))
    assert f"{STARTS} 1" in explained.reason
    assert "from your earlier answers" in explained.mechanisms[0].reason
    assert len(explained.expected_noise[0][1]) == 1
    others = pipeline.explain(QueryRequest("grace", COUNT, epsilon=0.5))
    assert STARTS not in others.reason
    assert left(ledger) == spent


@pytest.mark.slow
def test_the_policy_can_forbid_it(pipeline: Pipeline, ledger: Ledger) -> None:
    forbidding = replace(pipeline, policy=replace(pipeline.policy, remember_thresholds=False))
    asked(forbidding)
    ledger.bump_data(CUSTODIAN)
    assert not starts(asked(forbidding))
    found = forbidding.find(QueryRequest("grace", COUNT, epsilon=0.5))
    assert isinstance(found, ToMeasure) and found.question.start is None
