"""Long statements are planned by a worker: the same questions, answers and errors as those that are planned here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from planner.errors import PlannerError, StatementTooComplex
from planner.plan import Plan
from planner.schema import Schema
from server import planning
from server.errors import CancelledEarly, QueryCancelled
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.planning import _LONG
from server.query import QueryRequest
from server.question import Question
from server.workers.pool import WorkerPool
from server.workers.public_reads import MAX_UNANSWERED, PublicReads
from tests.support.backends import FailingBackend
from tests.support.memory_ledger import MemoryLedger
from tests.support.planning import demo_policy
from tests.support.tpch_schema import tpch_schema

SHORT = "SELECT count(*), sum(o_totalprice) FROM orders WHERE o_orderkey < $1"
COMPOSED = "SELECT a / b FROM (SELECT count(*) AS a FROM orders) x, (SELECT count(*) AS b FROM customer) y"
PUBLIC = "SELECT r_name FROM region"


def longer(sql: str) -> str:
    """The same statement with so many spaces after it that a worker plans it."""
    return sql + " " * _LONG


@pytest.fixture
def pipeline(workers: WorkerPool, tmp_path: Path) -> Pipeline:
    """Over a database that refuses every read."""
    ledger = cast("Ledger", MemoryLedger({"ada": 1e9}))
    return Pipeline(demo_policy(), tpch_schema(), FailingBackend(tmp_path / "reads"), ledger, workers)


def test_a_question_is_the_same_from_a_worker(pipeline: Pipeline) -> None:
    here, there = (
        pipeline.planning.planned(QueryRequest("ada", sql, parameters=(9,))) for sql in (SHORT, longer(SHORT))
    )
    assert isinstance(here, Question) and here == there, "but for its number"
    assert isinstance(there, Question) and there.serial != here.serial
    assert there.bound == here.bound
    again = pipeline.planning.planned(QueryRequest("ada", longer(SHORT), parameters=(9,)))
    assert again is there, "it is remembered here"


def test_numbers_of_questions_from_a_worker_are_of_this_process(pipeline: Pipeline) -> None:
    found = [
        pipeline.planning.question(QueryRequest("ada", sql))
        for number in range(3)
        for sql in (f"SELECT count(*) FROM orders WHERE o_orderkey < {number}",)
        for sql in (sql, longer(sql))
    ]
    assert len({one.serial for one in found}) == len(found)


@pytest.mark.parametrize("sql", [COMPOSED, PUBLIC])
def test_other_statements_are_the_same_from_a_worker(pipeline: Pipeline, sql: str) -> None:
    here, there = (pipeline.planning.planned(QueryRequest("ada", one)) for one in (sql, longer(sql)))
    assert here == there and not isinstance(here, Question)


def test_columns_before_values_are_the_same_from_a_worker(pipeline: Pipeline) -> None:
    assert pipeline.describe(SHORT) == pipeline.describe(longer(SHORT))


@pytest.mark.parametrize("sql", ["SELECT sum(o_totalprise) FROM orders", "SELECT count(* FROM orders"])
def test_an_error_from_a_worker_has_its_hint_and_its_place(pipeline: Pipeline, sql: str) -> None:
    errors = []
    for one in (sql, longer(sql)):
        with pytest.raises(PlannerError) as raised:
            pipeline.find(QueryRequest("ada", one))
        errors.append(raised.value)
    here, there = errors
    assert (type(here), here.message, here.hint) == (type(there), there.message, there.hint)
    assert here.position is not None and there.position == here.position


def test_a_statement_that_takes_too_long_is_refused_and_counts_as_no_failure(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_long(*_: object, **__: object) -> None:
        raise QueryCancelled("it took too long")

    monkeypatch.setattr(WorkerPool, "call", too_long)
    for _ in range(MAX_UNANSWERED + 1):
        with pytest.raises(StatementTooComplex, match="to plan"):
            pipeline.find(QueryRequest("ada", longer(SHORT), parameters=(9,)))


def test_who_has_cancelled_does_not_wait_for_a_plan(pipeline: Pipeline) -> None:
    cancelled = threading.Event()
    cancelled.set()
    for sql in (SHORT, longer(SHORT)):
        with pytest.raises(CancelledEarly):
            pipeline.find(QueryRequest("ada", sql, parameters=(9,)), cancelled)


def test_a_statement_that_is_nested_too_deeply_is_refused_by_name(pipeline: Pipeline) -> None:
    steps = ", ".join(f"c{n} AS (SELECT x + 1 + 1 + 1 + 1 + 1 AS x FROM c{n - 1})" for n in range(1, 61))
    sql = f"WITH c0 AS (SELECT count(*) AS x FROM orders), {steps} SELECT x FROM c60"
    with pytest.raises(StatementTooComplex):
        pipeline.find(QueryRequest("ada", sql))


def test_a_plan_that_is_too_large_to_be_sent_is_made_here(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []

    def planned(_: object, plan: Callable[[object], bytes | None], backend: object, *__: object) -> bytes | None:
        sent.append(plan(backend))
        return sent[-1]

    monkeypatch.setattr(PublicReads, "planned", planned)
    here = pipeline.planning.question(QueryRequest("ada", SHORT, parameters=(9,)))
    for most in (planning._MOST_SENT, 10):
        monkeypatch.setattr(planning, "_MOST_SENT", most)
        assert pipeline.planning.question(QueryRequest("ada", longer(SHORT), parameters=(9,))) == here
    assert [made is None for made in sent] == [False, True]


class _Mirror:
    """A mirror that shows for which schema a question was written."""

    def query(self, plan: Plan, schema: Schema) -> object:
        return plan.fingerprint, schema.fingerprint


def test_a_question_from_a_worker_is_also_written_for_the_mirror(pipeline: Pipeline) -> None:
    mirrored = Pipeline(
        pipeline.policy,
        pipeline.schema,
        pipeline.backend,
        pipeline.ledger,
        pipeline.workers,
        mirror=_Mirror(),  # type: ignore[arg-type]
    )
    found = [mirrored.planning.question(QueryRequest("ada", sql, parameters=(9,))) for sql in (SHORT, longer(SHORT))]
    assert found[0].mirrored is not None and found[0].mirrored == found[1].mirrored
