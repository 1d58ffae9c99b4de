"""What groups cost: a real ledger, real worker processes, a real database."""

from __future__ import annotations

import pytest

from planner.errors import InvalidSetting
from server.backends.duckdb import DuckdbBackend
from server.errors import BudgetExhausted
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.workers.pool import WorkerPool
from tests.support.asking import ask
from tests.support.visits import PLACES, visits_policy

PER_PLACE = "SELECT place, count(*) AS n, sum(minutes) FROM visit GROUP BY place"
TOWNS = "SELECT town, count(*) FROM person GROUP BY town"


ANALYSTS = {"ada": (10.0, 1.5e-6)}


@pytest.fixture
def pipeline(backend: DuckdbBackend, ledger: Ledger, workers: WorkerPool) -> Pipeline:
    policy = visits_policy(privacy="minimum_frequency = 20\nmin_epsilon = 0.0001")
    return Pipeline(policy, backend.schema(), backend, ledger, workers)


def _left(ledger: Ledger) -> tuple[float, float]:
    budget = ledger.budget("ada")
    return budget.epsilon_left, budget.delta_left


def test_delta_is_charged_where_it_is_spent(pipeline: Pipeline, ledger: Ledger) -> None:
    answer = ask(pipeline, QueryRequest("ada", PER_PLACE, epsilon=4.0, request_id="1"))
    assert answer.mechanism == "l2_clip, group_threshold"
    assert len(answer.rows) == PLACES
    assert (answer.epsilon, answer.delta) == (4.0, 1e-6)
    assert _left(ledger) == pytest.approx((6.0, 0.5e-6))
    free = ask(pipeline, QueryRequest("ada", "SELECT count(*) FROM visit", epsilon=1.0, request_id="2"))
    assert (free.epsilon, free.delta) == (1.0, 0.0)
    assert _left(ledger) == pytest.approx((5.0, 0.5e-6))


def test_found_keys_are_charged_and_beyond_the_budget_refused(pipeline: Pipeline, ledger: Ledger) -> None:
    answer = ask(pipeline, QueryRequest("ada", TOWNS, epsilon=4.0, request_id="1"))
    assert [row[0] for row in answer.rows] == ["Aalen", "Berne", "Calw"]
    assert _left(ledger) == pytest.approx((6.0, 0.5e-6))
    with pytest.raises(BudgetExhausted):
        ask(pipeline, QueryRequest("ada", TOWNS, epsilon=1.0, request_id="2"))
    smaller = ask(pipeline, QueryRequest("ada", TOWNS, epsilon=4.0, delta=0.5e-6, request_id="3"))
    assert smaller.delta == 0.5e-6
    assert _left(ledger) == pytest.approx((2.0, 0.0))


def test_what_is_explained_is_free_and_finds_nothing(pipeline: Pipeline, ledger: Ledger) -> None:
    answer = ask(pipeline, QueryRequest("ada", f"EXPLAIN {TOWNS}", request_id="1"))
    text = "\n".join(str(line) for (line,) in answer.rows)
    assert "would charge: epsilon 1, delta 1e-06" in text
    assert "found by partition selection" in text
    assert "Aalen" not in text
    assert _left(ledger) == (10.0, 1.5e-6)


def test_budgets_that_are_worth_nothing_are_refused_uncharged(pipeline: Pipeline, ledger: Ledger) -> None:
    request = QueryRequest("ada", PER_PLACE, epsilon=1e-4, delta=1e-15, mechanism="pmsja", request_id="1")
    with pytest.raises(InvalidSetting, match="too small for pmsja"):
        ask(pipeline, request)
    assert _left(ledger) == (10.0, 1.5e-6)
