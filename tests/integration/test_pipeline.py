"""What is charged when something fails: a real ledger, real worker processes, a database that breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from planner.errors import SchemaChanged, UnknownTable, UnsupportedSQL
from planner.plan import BackendQuery
from planner.policy import parse_policy
from privacy.errors import SolverFailed
from server.backends.columns import Domain
from server.errors import (
    BackendConnectionLost,
    BackendFailed,
    BackendUnavailable,
    BudgetExhausted,
    NoProposal,
    QueryCancelled,
    QueryFailed,
    TooManyFailures,
    TooManyQueries,
)
from server.failures import MAX_FAILURES
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger
from server.ledger.open_ledger import create_ledger
from server.pipeline import Pipeline
from server.proposals.accuracy import Accuracy
from server.query import QueryRequest
from server.workers import WorkerLimits, WorkerPool
from tests.support.backends import FailingBackend
from tests.support.proxies import POLICY
from tests.support.tpch_schema import tpch_schema

QUESTION = QueryRequest("ada", "SELECT count(*) FROM orders", epsilon=1.0, request_id="request-1")


@pytest.fixture(scope="module")
def workers() -> Iterator[WorkerPool]:
    pool = WorkerPool(WorkerLimits(workers=1, call_s=60.0), preload="server.pipeline")
    pool.warm()
    yield pool
    pool.close()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = create_ledger(tmp_path / "ledger.sqlite", tmp_path / "marker.json")
    ledger.add_analyst("ada", "0" * 64, epsilon=2.0, delta=0.0)
    yield ledger
    ledger.close()


@pytest.fixture
def pipeline(tmp_path: Path, ledger: Ledger, workers: WorkerPool) -> Callable[..., Pipeline]:
    def make(*failures: BaseException) -> Pipeline:
        backend = FailingBackend(tmp_path / "reads", failures)
        return Pipeline(parse_policy(POLICY.read_text()), tpch_schema(), backend, ledger, workers)

    return make


def _left(ledger: Ledger) -> float:
    return ledger.budget("ada").epsilon_left


def test_an_answer_is_charged(pipeline: Callable[..., Pipeline], ledger: Ledger) -> None:
    answer = pipeline().answer(QUESTION)
    assert answer.budget.epsilon_left == _left(ledger) == 1.0
    assert answer.request_id == "request-1"
    low, high = answer.intervals[0][0].low, answer.intervals[0][0].high  # type: ignore[union-attr]
    assert low is not None and high is not None
    assert low <= answer.rows[0][0] <= high  # type: ignore[operator]


@pytest.mark.parametrize("sql", ["EXPLAIN SELECT count(*) FROM orders", " explain (select count(*) from orders);"])
def test_explain_is_free_and_reads_nothing(
    pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path, sql: str
) -> None:
    answer = pipeline().answer(QueryRequest("ada", sql, request_id="request-1"))
    assert [column.name for column in answer.columns] == ["QUERY PLAN"]
    assert any("o_custkey" in str(line) for (line,) in answer.rows)
    assert (answer.epsilon, answer.mechanism, answer.budget.epsilon_left) == (0.0, "none", 2.0)
    assert _left(ledger) == 2.0
    assert not (tmp_path / "reads").exists()


def test_a_refusal_behind_explain_keeps_its_position(pipeline: Callable[..., Pipeline]) -> None:
    sql = "EXPLAIN SELECT count(*) FROM nowhere"
    with pytest.raises(UnknownTable) as refused:
        pipeline().answer(QueryRequest("ada", sql))
    assert refused.value.position == sql.index("nowhere") + 1
    with pytest.raises(UnsupportedSQL):
        pipeline().answer(QueryRequest("ada", "EXPLAIN EXPLAIN SELECT count(*) FROM orders"))


class GroupsBackend(FailingBackend):
    """It knows the groups that a policy declares."""

    def domain(self, query: BackendQuery) -> Domain:
        assert query.values[0] is not None
        return Domain((tuple(query.values[0]),))


@pytest.mark.parametrize("select", ["SELECT o_orderstatus", "SELECT DISTINCT o_orderstatus"])
def test_naming_the_groups_is_free_and_reads_nothing(
    pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path, select: str
) -> None:
    domain = '[tables.orders.columns]\no_orderstatus = { domain = ["F", "O", "P"] }\n'
    policy = parse_policy(POLICY.read_text().replace("[tables.orders]\n", domain))
    tail = "" if "DISTINCT" in select else "GROUP BY 1 "
    asked = QueryRequest("ada", f"{select} FROM orders {tail}ORDER BY o_orderstatus DESC LIMIT 2")
    backend = GroupsBackend(tmp_path / "reads")
    answering = replace(pipeline(), policy=policy, backend=backend)
    for _ in range(2):
        assert answering.kept_answer(asked) is answering.answer_at_hand(asked) is None
        answer = answering.answer(asked)
    assert answer.rows == (("P",), ("O",))
    assert (answer.epsilon, answer.mechanism, answer.covers) == (0.0, "none", "exact")
    explained = answering.explain(asked)
    assert (explained.epsilon, explained.mechanism, explained.n_groups) == (0.0, "none", 3)
    with pytest.raises(NoProposal, match="free"):
        answering.propose(asked, Accuracy(interval_width=5.0))
    assert _left(ledger) == 2.0
    assert not (tmp_path / "reads").exists()


def test_a_refused_query_is_not_charged(pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(UnknownTable):
        pipeline().answer(QueryRequest("ada", "SELECT count(*) FROM nowhere"))
    assert _left(ledger) == 2.0
    assert not (tmp_path / "reads").exists()


def test_beyond_the_budget_nothing_is_read(pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(BudgetExhausted):
        pipeline().answer(QueryRequest("ada", QUESTION.sql, epsilon=3.0))
    assert _left(ledger) == 2.0
    assert not (tmp_path / "reads").exists()


@pytest.mark.parametrize("failure", [BackendUnavailable("no database"), SchemaChanged("changed")])
def test_what_fails_before_a_private_row_is_read_is_given_back(
    pipeline: Callable[..., Pipeline], ledger: Ledger, failure: Exception
) -> None:
    with pytest.raises(type(failure)):
        pipeline(failure).answer(QUESTION)
    assert _left(ledger) == 2.0


@pytest.mark.parametrize(
    "failure",
    [BackendFailed("refused"), QueryCancelled("too long"), SolverFailed("no gap"), ValueError("secret 4711")],
)
def test_what_fails_after_that_is_charged_and_looks_the_same(
    pipeline: Callable[..., Pipeline], ledger: Ledger, failure: Exception
) -> None:
    with pytest.raises(QueryFailed) as caught:
        pipeline(failure).answer(QUESTION)
    assert caught.value.message == "the query could not be finished; it was charged"
    assert "4711" not in repr(caught.value) + repr(caught.value.__cause__)
    assert _left(ledger) == 1.0


def test_a_lost_connection_is_retried_under_one_reservation(
    pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path
) -> None:
    answer = pipeline(BackendConnectionLost("lost")).answer(QUESTION)
    assert (tmp_path / "reads").read_text().splitlines() == ["read", "read"]
    assert answer.budget.epsilon_left == _left(ledger) == 1.0


@pytest.mark.parametrize("second", [BackendConnectionLost("lost again"), BackendUnavailable("gone")])
def test_after_a_lost_connection_the_charge_stands(
    pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path, second: Exception
) -> None:
    with pytest.raises(QueryFailed):
        pipeline(BackendConnectionLost("lost"), second).answer(QUESTION)
    assert len((tmp_path / "reads").read_text().splitlines()) == 2
    assert _left(ledger) == 1.0


def _small(number: int) -> QueryRequest:
    """One question of many, each a plan of its own."""
    return QueryRequest("ada", f"SELECT count(*) FROM orders WHERE o_orderkey < {number}", epsilon=0.001)


def test_failures_are_few(pipeline: Callable[..., Pipeline], ledger: Ledger) -> None:
    failing = pipeline(*[BackendFailed("refused")] * MAX_FAILURES)
    for number in range(MAX_FAILURES):
        with pytest.raises(QueryFailed):
            failing.answer(_small(number))
    left = _left(ledger)
    with pytest.raises(TooManyFailures):
        failing.answer(_small(MAX_FAILURES))
    assert _left(ledger) == left


def test_a_query_that_failed_is_not_asked_again(pipeline: Callable[..., Pipeline], ledger: Ledger) -> None:
    failing = pipeline(BackendFailed("refused"))
    with pytest.raises(QueryFailed):
        failing.answer(_small(1))
    left = _left(ledger)
    with pytest.raises(TooManyFailures, match="failed already"):
        failing.answer(QueryRequest("ada", _small(1).sql, epsilon=0.5))
    assert _left(ledger) == left
    failing.answer(_small(2))


def test_many_at_once_fail_no_oftener(pipeline: Callable[..., Pipeline], ledger: Ledger) -> None:
    failing = pipeline(*[BackendFailed("refused")] * 80)

    def outcome(number: int) -> type[BaseException]:
        with pytest.raises((QueryFailed, TooManyFailures, TooManyQueries)) as refused:
            failing.answer(_small(number))
        return refused.type

    with ThreadPoolExecutor(80) as threads:
        outcomes = list(threads.map(outcome, range(80)))
    assert 0 < outcomes.count(QueryFailed) <= MAX_FAILURES


def test_an_answer_that_says_little_says_so(pipeline: Callable[..., Pipeline]) -> None:
    """A thousand people with one row each: plenty for epsilon 1, next to nothing for epsilon 0.001."""
    assert pipeline().answer(QUESTION).weak == (False,)
    weak = pipeline().answer(QueryRequest("ada", QUESTION.sql, epsilon=0.001))
    assert weak.weak == (True,)
    assert "Too little budget" in weak.notes[-1]


def test_explain_reads_and_charges_nothing(pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path) -> None:
    explained = pipeline().explain(QUESTION)
    assert explained.privacy_units == ("customer",)
    assert explained.expected_noise[0][1]
    assert _left(ledger) == 2.0
    assert not (tmp_path / "reads").exists()


def test_an_answer_is_kept_with_its_charge(pipeline: Callable[..., Pipeline], tmp_path: Path) -> None:
    first = pipeline().answer(QUESTION)
    again = pipeline().answer(replace(QUESTION, request_id="request-2"))
    assert (again.cached, again.epsilon, again.rows, again.request_id) == (True, 0.0, first.rows, "request-2")
    assert (tmp_path / "reads").read_text() == "read\n"


def test_what_is_kept_is_at_hand(pipeline: Callable[..., Pipeline], tmp_path: Path) -> None:
    asked = pipeline()
    assert asked.answer_at_hand(QUESTION) is None
    asked.answer(QUESTION)
    assert asked.answer_at_hand(QUESTION) == asked.answer(QUESTION)
    assert pipeline().answer_at_hand(QUESTION) is None, "it would have to be planned"
    assert asked.answer_at_hand(replace(QUESTION, analyst="eve")) is None, "it would have to be paid"
    assert asked.answer_at_hand(replace(QUESTION, idempotency_key="mine")) is None


def test_what_is_kept_is_found_without_a_worker(pipeline: Callable[..., Pipeline], tmp_path: Path) -> None:
    assert pipeline().kept_answer(QUESTION) is None
    first = pipeline().answer(QUESTION)
    again = replace(pipeline(), workers=cast(WorkerPool, None)).kept_answer(QUESTION)
    assert again is not None
    assert (again.cached, again.epsilon, again.rows) == (True, 0.0, first.rows)
    assert (tmp_path / "reads").read_text() == "read\n"


@pytest.mark.parametrize("sql", ["EXPLAIN SELECT count(*) FROM orders", "SELECT r_name FROM region"])
def test_what_is_free_is_never_kept(pipeline: Callable[..., Pipeline], sql: str) -> None:
    assert pipeline().kept_answer(replace(QUESTION, sql=sql)) is None


def test_an_answer_names_what_the_ledger_was_charged(pipeline: Callable[..., Pipeline], ledger: Ledger) -> None:
    awkward = 0.1 + 0.2  # 0.30000000000000004: the ledger counts in units of 1e-9, rounded up
    answer = pipeline().answer(replace(QUESTION, epsilon=awkward))
    assert answer.epsilon == 0.300000001
    assert _left(ledger) == pytest.approx(2.0 - answer.epsilon, abs=1e-12)


def test_an_analyst_whose_queries_fail_still_gets_what_was_kept(pipeline: Callable[..., Pipeline]) -> None:
    pipeline().answer(QUESTION)
    failing = pipeline(*[BackendFailed("refused")] * 80)
    for number in range(MAX_FAILURES):
        with pytest.raises(QueryFailed):
            failing.answer(_small(number))
    with pytest.raises(TooManyFailures):
        failing.answer(_small(MAX_FAILURES))
    assert failing.answer(QUESTION).cached


def test_a_bump_of_the_data_measures_anew(pipeline: Callable[..., Pipeline], ledger: Ledger) -> None:
    asked = pipeline()
    asked.answer(QUESTION)
    ledger.bump_data(Act("ada", "a new load"))
    assert not asked.answer(QUESTION).cached
    assert _left(ledger) == 0.0


def test_a_clock_that_ticks_asks_another_question(pipeline: Callable[..., Pipeline]) -> None:
    days = [datetime(2024, 5, day, 12, tzinfo=UTC) for day in (17, 17, 18)]
    asked = replace(pipeline(), clock=lambda: days[0])
    question = replace(QUESTION, sql="SELECT count(*) FROM orders WHERE o_orderdate < now()", epsilon=0.5)
    cached = []
    while days:
        cached.append(asked.answer(question).cached)
        days.pop(0)
    assert cached == [False, True, False]
