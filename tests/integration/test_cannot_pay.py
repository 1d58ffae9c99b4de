"""That an account cannot pay is said before a question is asked, in the words of the refusal, and costs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.answers.workload.workload import WorkloadItem, WorkloadRequest
from server.backends.duckdb import DuckdbBackend
from server.errors import BudgetExhausted, QueryTooExpensive
from server.ledger.account import Grant
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.workers.pool import WorkerPool
from tests.support.asking import ask
from tests.support.visits import PLACES, visits_policy

ACT = Act("cora", "a test")
FOUND = "SELECT town, count(*) AS n FROM person GROUP BY town"
NAMED = "SELECT town, count(*) AS n FROM person WHERE town IN ('Aalen', 'Berne') GROUP BY town"
PER_PLACE = "SELECT place, count(*) AS n FROM visit GROUP BY place"
AGES = "SELECT count(*) AS n FROM person WHERE age > 50"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Ada has delta enough, and a group that has none."""
    made = create_ledger(tmp_path / "ledger.sqlite", tmp_path / "marker.json")
    made.grant("group:lab", Grant(3.0), ACT)
    made.add_analyst("ada", "a" * 64, 5.0, 1e-5, group="lab")
    made.add_analyst("grace", "g" * 64, 5.0, 1e-5)
    yield made
    made.close()


@pytest.fixture
def pipeline(backend: DuckdbBackend, ledger: Ledger, workers: WorkerPool) -> Pipeline:
    return Pipeline(visits_policy(), backend.schema(), backend, ledger, workers)


def asked(sql: str, analyst: str = "ada", **settings: Any) -> QueryRequest:
    return QueryRequest(analyst, sql, request_id="request-1", **settings)


def test_a_group_without_delta_is_told_before_with_the_words_of_the_refusal(
    pipeline: Pipeline, ledger: Ledger
) -> None:
    told = pipeline.explain(asked(FOUND)).cannot_pay
    with pytest.raises(BudgetExhausted) as refused:
        ask(pipeline, asked(FOUND))
    assert told is not None and told.message == refused.value.message
    assert "for the analyst's group" in told.message
    assert not told.without_delta
    assert "With delta 0" in str(refused.value.hint) and "With delta 0" not in told.hint
    assert "This question needs a delta" in told.hint and "top-up group:lab --delta" in told.hint
    shown = "\n".join(str(row[0]) for row in ask(pipeline, asked(f"EXPLAIN {FOUND}")).rows)
    assert "would be refused: " in shown
    assert len(ledger.charges()) == 0


def test_what_can_do_without_a_delta_says_so_and_is_answered_so(pipeline: Pipeline, ledger: Ledger) -> None:
    told = pipeline.explain(asked(PER_PLACE)).cannot_pay
    assert told is not None and told.without_delta and told.hint.startswith("Without a delta it fits")
    assert pipeline.explain(asked(PER_PLACE, delta=0.0)).cannot_pay is None
    assert len(ask(pipeline, asked(PER_PLACE, delta=0.0)).rows) == PLACES
    assert pipeline.explain(asked(NAMED)).cannot_pay is None, "groups that are named take none"
    told = pipeline.explain(asked(PER_PLACE, mechanism="l2_clip")).cannot_pay
    assert told is not None and not told.without_delta, "that mechanism needs one"


def test_who_can_pay_is_told_nothing_and_what_is_paid_for_costs_nothing(pipeline: Pipeline, ledger: Ledger) -> None:
    assert pipeline.explain(asked(FOUND, "grace")).cannot_pay is None
    ask(pipeline, asked(AGES, epsilon=2.0))
    assert pipeline.explain(asked(f"{AGES} AND age < 90", epsilon=2.0)).cannot_pay is not None, "the group has 1 left"
    assert pipeline.explain(asked(AGES, epsilon=2.0)).cannot_pay is None


def test_whether_another_analyst_has_an_answer_is_told_to_nobody_for_nothing(
    pipeline: Pipeline, ledger: Ledger
) -> None:
    """Grace has bought the first of two questions; the dataset could pay for neither now."""
    ledger.grant("dataset", Grant(2.5), ACT)
    ask(pipeline, asked(AGES, "grace", epsilon=2.0))
    both = AGES, f"{AGES} AND age < 90"
    told = [pipeline.explain(asked(sql, epsilon=2.0)).cannot_pay for sql in both]
    assert told[0] is not None and told[0] == told[1]
    assert "for the dataset as a whole" in told[0].message and "another analyst has the answer" in told[0].hint
    ledger.grant("analyst:ada", Grant(1.0, 1e-5), ACT)
    refused = []
    for sql in both:
        with pytest.raises(BudgetExhausted) as raised:
            ask(pipeline, asked(sql, epsilon=2.0))
        refused.append((raised.value.message, raised.value.hint))
    assert refused[0] == refused[1] and "At most epsilon 0.5 still fits." in str(refused[0][1])
    ledger.grant("analyst:ada", Grant(5.0, 1e-5), ACT)
    assert ask(pipeline, asked(AGES, epsilon=2.0)).epsilon == 2.0, "the dataset does not pay again"


def test_a_cap_and_the_parts_of_a_statement_are_foreseen(pipeline: Pipeline, ledger: Ledger) -> None:
    ledger.grant("analyst:grace", Grant(2.5, 1e-5, per_query_epsilon=1.0), ACT)
    told = pipeline.explain(asked(AGES, "grace", epsilon=2.0)).cannot_pay
    with pytest.raises(QueryTooExpensive) as refused:
        ask(pipeline, asked(AGES, "grace", epsilon=2.0))
    assert told is not None and told.message == refused.value.message
    three = " UNION ALL ".join(f"SELECT count(*) AS n FROM person WHERE age > {age}" for age in (20, 40, 60))
    assert pipeline.explain(asked(three, "grace", delta=0.0)).cannot_pay is None
    ledger.grant("analyst:grace", Grant(0.9, 1e-5), ACT)
    assert pipeline.explain(asked(three, "grace", delta=0.0)).cannot_pay is not None, "each part fits, not all three"


def test_a_workload_is_foreseen_as_a_whole(pipeline: Pipeline) -> None:
    def told(*statements: str, **settings: Any) -> Any:
        items = tuple(map(WorkloadItem, statements))
        return pipeline.explain_workload(WorkloadRequest("ada", items, request_id="r", **settings)).cannot_pay

    assert told(AGES, PER_PLACE, delta=0.0, epsilon=2.0) is None
    assert told(AGES, PER_PLACE, delta=0.0, epsilon=3.5) is not None
    found = told(AGES, FOUND, epsilon=2.0)
    assert found is not None and "question 2" in found.hint and not found.without_delta


def test_what_was_asked_alone_is_free_in_a_workload_whatever_its_share_of_delta(
    pipeline: Pipeline, ledger: Ledger
) -> None:
    """Alone it had all of the policy's delta; with others it would have a part."""
    known = ask(pipeline, asked(FOUND, "grace"))
    spent = len(ledger.charges())
    items = tuple(map(WorkloadItem, (FOUND, AGES)))
    answered = pipeline.workload(WorkloadRequest("grace", items, 1.0, request_id="request-2"))
    assert list(answered.answers[0].rows) == list(known.rows)
    assert (answered.answers[0].epsilon, len(ledger.charges()) - spent) == (0.0, 1)
