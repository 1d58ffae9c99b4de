"""What is charged when something fails: a real ledger, real worker processes, a database that breaks."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from planner.errors import InvalidSetting, SchemaChanged, UnknownTable, UnsupportedSQL
from planner.plan import BackendQuery, Plan
from planner.planning.make_plan import make_plan
from planner.policy.policy import parse_policy
from planner.public.relation import PublicStatement
from privacy.errors import SolverFailed
from server.answers.proposals.accuracy import Accuracy
from server.answers.work import Cached, Explain, ListGroups, Measure
from server.backends.columns import Domain
from server.errors import (
    BackendConnectionLost,
    BackendFailed,
    BackendUnavailable,
    BudgetExhausted,
    KeyReused,
    NoProposal,
    QueryCancelled,
    QueryFailed,
    TooManyFailures,
    TooManyQueries,
)
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger
from server.ledger.question_texts import QuestionKeys, add_key
from server.ledger.writes.reserve import MAX_FAILURES
from server.lru_cache import LruCache
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.workers.pool import WorkerPool
from tests.support.asking import ask
from tests.support.backends import FailingBackend
from tests.support.proxies import POLICY
from tests.support.tpch_schema import tpch_schema

BOUNDED = "[tables.orders]\nrows_per_unit = { customer = 64 }"
QUESTION = QueryRequest("ada", "SELECT count(*) FROM orders", epsilon=1.0, request_id="request-1")


ANALYSTS = {"ada": (2.0, 0.0)}


@pytest.fixture
def pipeline(tmp_path: Path, ledger: Ledger, workers: WorkerPool) -> Callable[..., Pipeline]:
    def make(*failures: BaseException) -> Pipeline:
        backend = FailingBackend(tmp_path / "reads", failures)
        return Pipeline(parse_policy(POLICY.read_text()), tpch_schema(), backend, ledger, workers)

    return make


def _left(ledger: Ledger) -> float:
    return ledger.budget("ada").epsilon_left


def test_an_answer_is_charged(pipeline: Callable[..., Pipeline], ledger: Ledger) -> None:
    answer = ask(pipeline(), QUESTION)
    assert answer.budget.epsilon_left == _left(ledger) == 1.0
    assert answer.request_id == "request-1"
    low, high = answer.intervals[0][0].low, answer.intervals[0][0].high  # type: ignore[union-attr]
    assert low is not None and high is not None
    assert low <= answer.rows[0][0] <= high  # type: ignore[operator]


def test_explain_is_free_and_reads_nothing(pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path) -> None:
    for sql in ("EXPLAIN SELECT count(*) FROM orders", " explain (select count(*) from orders);"):
        answer = ask(pipeline(), QueryRequest("ada", sql, request_id="request-1"))
        assert [column.name for column in answer.columns] == ["QUERY PLAN"]
        assert any("o_custkey" in str(line) for (line,) in answer.rows)
        assert (answer.epsilon, answer.mechanism, answer.budget.epsilon_left) == (0.0, "none", 2.0)
    explained = pipeline().explain(QUESTION)
    assert explained.privacy_units == ("customer",)
    assert explained.expected_noise[0][1]
    assert _left(ledger) == 2.0
    assert not (tmp_path / "reads").exists()


def test_a_refusal_behind_explain_keeps_its_position(pipeline: Callable[..., Pipeline]) -> None:
    sql = "EXPLAIN SELECT count(*) FROM nowhere"
    with pytest.raises(UnknownTable) as refused:
        ask(pipeline(), QueryRequest("ada", sql))
    assert refused.value.position == sql.index("nowhere") + 1
    with pytest.raises(UnsupportedSQL):
        ask(pipeline(), QueryRequest("ada", "EXPLAIN EXPLAIN SELECT count(*) FROM orders"))


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
        assert isinstance(answering.find(asked), ListGroups) and isinstance(answering.find_planned(asked), ListGroups)
        answer = ask(answering, asked)
    assert answer.rows == (("P",), ("O",))
    assert (answer.epsilon, answer.mechanism, answer.covers) == (0.0, "none", "exact")
    explained = answering.explain(asked)
    assert (explained.epsilon, explained.mechanism, explained.n_groups) == (0.0, "none", 3)
    with pytest.raises(NoProposal, match="free"):
        answering.propose(asked, Accuracy(interval_width=5.0))
    assert _left(ledger) == 2.0
    assert not (tmp_path / "reads").exists()


def test_a_question_by_accuracy_finds_out_and_is_free_once_it_is_known(
    pipeline: Callable[..., Pipeline], ledger: Ledger
) -> None:
    """A thousand people: what 5% of them takes is not known before, and is said to be found out."""
    answering = pipeline()
    asked = QueryRequest(
        "ada", QUESTION.sql, request_id="request-1", max_relative_error=0.05, idempotency_key="order-7"
    )
    explained = answering.explain(asked)
    assert "two releases are made and charged" in explained.reason
    assert any(
        "two releases" in str(line) for (line,) in ask(answering, replace(asked, sql=f"EXPLAIN {asked.sql}")).rows
    )
    assert _left(ledger) == 2.0
    answer = ask(answering, asked)
    charges = ledger.charges()
    assert [one.charge.idempotency_key for one in charges] == ["", "order-7"]
    assert charges[0].charge.epsilon == explained.epsilon
    assert answer.epsilon == pytest.approx(sum(one.charge.epsilon for one in charges), abs=1e-8)
    assert answer.budget.epsilon_left == _left(ledger) == pytest.approx(2.0 - answer.epsilon, abs=1e-8)
    assert any(note.startswith("Two releases were made and charged") for note in answer.notes)
    again = ask(answering, asked)
    assert (again.epsilon, again.cached, again.rows) == (0.0, True, answer.rows), "sent again"
    with pytest.raises(KeyReused):
        ask(answering, replace(asked, max_relative_error=0.5))
    coarser = replace(asked, max_relative_error=0.5, idempotency_key="")
    again = ask(answering, coarser)
    assert (again.epsilon, again.cached) == (0.0, True), "what is kept does for less"
    assert len(ledger.charges()) == 2
    told = answering.explain(coarser)  # by the noise it is that very answer, or follows from both
    assert "free (it follows" in told.reason if told.derived else "free (you have this answer" in told.reason


def test_what_no_accuracy_is_of_is_answered_or_refused_as_ever(
    pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path
) -> None:
    answering = replace(pipeline(), backend=GroupsBackend(tmp_path / "reads"))
    with pytest.raises(NoProposal, match="computes with 2 answers"):
        two = f"{QUESTION.sql} UNION ALL SELECT count(*) FROM customer"
        ask(answering, QueryRequest("ada", two, max_relative_error=0.05))
    with pytest.raises(InvalidSetting, match="max_absolute_error"):
        ask(answering, replace(QUESTION, max_relative_error=0.05, max_absolute_error=5.0))
    with pytest.raises(NoProposal, match="the most that you allow this question"):
        bounded = parse_policy(POLICY.read_text().replace("[tables.orders]", BOUNDED))
        ask(replace(answering, policy=bounded), replace(QUESTION, epsilon=0.5, max_absolute_error=1e-3))
    assert ledger.charges() == ()
    assert _left(ledger) == 2.0


def test_the_words_of_a_question_are_sealed_beside_its_charge(
    pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path
) -> None:
    add_key(tmp_path / "questions.key")
    answering = replace(pipeline(), question_keys=QuestionKeys.read(tmp_path / "questions.key"))
    ask(answering, replace(QUESTION, sql="SELECT count(*) FROM orders WHERE o_orderkey > $1", parameters=(3,)))
    (charge,) = ledger.charges()
    words = answering.words(charge)
    assert words is not None
    assert (words.sql, words.parameters) == ("SELECT count(*) FROM orders WHERE o_orderkey > $1", (3,))
    assert "SELECT count" not in (charge.sealed_question or "SELECT count")
    add_key(tmp_path / "other.key")
    other = replace(answering, question_keys=QuestionKeys.read(tmp_path / "other.key"))
    assert other.words(charge) is None, "another key opens nothing"
    assert replace(answering, question_keys=None).words(charge) is None


class ManyGroupsBackend(FailingBackend):
    """A hundred thousand public groups."""

    def domain(self, query: BackendQuery) -> Domain:
        return Domain((tuple(range(100_000)),))


def test_noise_that_cannot_be_drawn_is_refused_and_not_charged(
    pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path
) -> None:
    """A line of an order belongs to its customer and its supplier, who both reach any number of nations."""
    written = POLICY.read_text().replace("[privacy]", "[privacy]\nmin_epsilon = 0.0001")
    backend = ManyGroupsBackend(tmp_path / "reads")
    answering = replace(pipeline(), policy=parse_policy(written), backend=backend)
    sql = (
        "SELECT n_name, count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey "
        "JOIN customer ON o_custkey = c_custkey JOIN nation ON c_nationkey = n_nationkey "
        "JOIN supplier ON l_suppkey = s_suppkey GROUP BY n_name"
    )
    request = QueryRequest("ada", sql, epsilon=1e-4)
    with pytest.raises(InvalidSetting, match="too small for 100,000 groups"):
        ask(answering, request)
    with pytest.raises(InvalidSetting, match="too small for 100,000 groups"):
        answering.explain(request)
    assert _left(ledger) == 2.0
    assert not (tmp_path / "reads").exists()


def test_what_is_refused_or_beyond_the_budget_is_not_charged_and_nothing_is_read(
    pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path
) -> None:
    with pytest.raises(UnknownTable):
        ask(pipeline(), QueryRequest("ada", "SELECT count(*) FROM nowhere"))
    with pytest.raises(BudgetExhausted):
        ask(pipeline(), QueryRequest("ada", QUESTION.sql, epsilon=3.0))
    assert _left(ledger) == 2.0
    assert not (tmp_path / "reads").exists()


def test_what_fails_before_a_private_row_is_read_is_given_back_and_later_it_is_charged_and_looks_the_same(
    pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path
) -> None:
    for early in (BackendUnavailable("no database"), SchemaChanged("changed")):
        with pytest.raises(type(early)):
            ask(pipeline(early), QUESTION)
        assert _left(ledger) == 2.0, early
        (tmp_path / "reads").unlink()
    late = BackendFailed("refused"), QueryCancelled("too long"), SolverFailed("no gap"), ValueError("secret zebra")
    for number, failure in enumerate(late, 1):
        with pytest.raises(QueryFailed) as caught:
            ask(pipeline(failure), replace(QUESTION, sql=f"{QUESTION.sql} WHERE o_orderkey < {number}", epsilon=0.25))
        assert caught.value.message == "the query could not be finished; it was charged", failure
        assert "zebra" not in repr(caught.value) + repr(caught.value.__cause__)
        assert _left(ledger) == 2.0 - 0.25 * number, failure
        (tmp_path / "reads").unlink()


def test_a_lost_connection_is_retried_under_one_reservation(
    pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path
) -> None:
    answer = ask(pipeline(BackendConnectionLost("lost")), QUESTION)
    assert (tmp_path / "reads").read_text().splitlines() == ["read", "read"]
    assert answer.budget.epsilon_left == _left(ledger) == 1.0


def test_after_a_lost_connection_the_charge_stands(
    pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path
) -> None:
    for left, second in ((1.5, BackendConnectionLost("lost again")), (1.0, BackendUnavailable("gone"))):
        question = replace(QUESTION, sql=f"{QUESTION.sql} WHERE o_orderkey > {left}", epsilon=0.5)
        with pytest.raises(QueryFailed):
            ask(pipeline(BackendConnectionLost("lost"), second), question)
        assert len((tmp_path / "reads").read_text().splitlines()) == 2
        assert _left(ledger) == left
        (tmp_path / "reads").unlink()


def _small(number: int) -> QueryRequest:
    """One question of many, each a plan of its own."""
    return QueryRequest("ada", f"SELECT count(*) FROM orders WHERE o_orderkey < {number}", epsilon=0.001)


def test_a_query_that_failed_is_not_asked_again(pipeline: Callable[..., Pipeline], ledger: Ledger) -> None:
    failing = pipeline(BackendFailed("refused"))
    with pytest.raises(QueryFailed):
        ask(failing, _small(1))
    left = _left(ledger)
    with pytest.raises(TooManyFailures, match="failed already"):
        ask(failing, QueryRequest("ada", _small(1).sql, epsilon=0.5))
    assert _left(ledger) == left
    ask(failing, _small(2))


def test_many_at_once_fail_no_oftener(pipeline: Callable[..., Pipeline], ledger: Ledger) -> None:
    failing = pipeline(*[BackendFailed("refused")] * 80)

    def outcome(number: int) -> type[BaseException]:
        with pytest.raises((QueryFailed, TooManyFailures, TooManyQueries)) as refused:
            ask(failing, _small(number))
        return refused.type

    with ThreadPoolExecutor(40) as threads:
        outcomes = list(threads.map(outcome, range(40)))
    assert 0 < outcomes.count(QueryFailed) <= MAX_FAILURES


def test_an_answer_that_says_little_says_so(pipeline: Callable[..., Pipeline]) -> None:
    """A thousand people with one row each: plenty for epsilon 1, next to nothing for epsilon 0.001."""
    assert ask(pipeline(), QUESTION).low_precision == (False,)
    low_precision = ask(pipeline(), QueryRequest("ada", QUESTION.sql, epsilon=0.001, reuse="never"))
    assert low_precision.low_precision == (True,)
    assert any("may be missing" in note for note in low_precision.notes)


def test_an_answer_is_kept_with_its_charge(pipeline: Callable[..., Pipeline], tmp_path: Path) -> None:
    first = ask(pipeline(), QUESTION)
    again = ask(pipeline(), replace(QUESTION, request_id="request-2"))
    assert (again.cached, again.epsilon, again.rows, again.request_id) == (True, 0.0, first.rows, "request-2")
    assert (tmp_path / "reads").read_text() == "read\n"


def test_what_is_kept_is_at_hand(pipeline: Callable[..., Pipeline], tmp_path: Path) -> None:
    asked = pipeline()
    assert asked.find_planned(QUESTION) is None
    ask(asked, QUESTION)
    at_hand = asked.find_planned(QUESTION)
    assert isinstance(at_hand, Cached) and at_hand.paid.small
    assert asked.finish(at_hand, QUESTION) == ask(asked, QUESTION)
    assert pipeline().find_planned(QUESTION) is None, "it would have to be planned"
    assert isinstance(asked.find_planned(replace(QUESTION, analyst="eve")), Measure), "it would have to be paid"
    assert isinstance(asked.find_planned(replace(QUESTION, idempotency_key="mine")), Cached)


def test_a_question_is_planned_once_from_its_look_up_to_its_answer(
    pipeline: Callable[..., Pipeline], monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[Plan] = []

    def counted(*args: Any, **settings: Any) -> Plan:
        planned.append(make_plan(*args, **settings))
        return planned[-1]

    monkeypatch.setattr("server.planning.make_plan", counted)
    forgetful = replace(pipeline(), questions=LruCache(0))
    found = forgetful.find(QUESTION)
    assert isinstance(found, Measure)
    assert not forgetful.finish(found, QUESTION).cached
    assert len(planned) == 1


def test_what_was_bought_while_a_question_waited_for_its_turn_is_free(
    pipeline: Callable[..., Pipeline], ledger: Ledger, tmp_path: Path
) -> None:
    waiting = replace(QUESTION, idempotency_key="order-7")
    asked = pipeline()
    found = asked.find(waiting)
    ask(asked, waiting)
    again = asked.finish(found, waiting)
    assert (again.cached, again.epsilon, _left(ledger)) == (True, 0.0, 1.0)
    assert (tmp_path / "reads").read_text() == "read\n"


def test_what_is_kept_is_found_without_a_worker(pipeline: Callable[..., Pipeline], tmp_path: Path) -> None:
    assert isinstance(pipeline().find(QUESTION), Measure)
    first = ask(pipeline(), QUESTION)
    idle = replace(pipeline(), workers=cast(WorkerPool, None))
    found = idle.find(QUESTION)
    assert isinstance(found, Cached)
    again = idle.finish(found, QUESTION)
    assert (again.cached, again.epsilon, again.rows) == (True, 0.0, first.rows)
    assert (tmp_path / "reads").read_text() == "read\n"


def test_what_is_free_is_never_kept(pipeline: Callable[..., Pipeline]) -> None:
    explaining = replace(QUESTION, sql="EXPLAIN SELECT count(*) FROM orders")
    assert isinstance(pipeline().find(explaining), Explain)
    assert isinstance(pipeline().find(replace(QUESTION, sql="SELECT r_name FROM region")), PublicStatement)


def test_an_answer_names_what_the_ledger_was_charged(pipeline: Callable[..., Pipeline], ledger: Ledger) -> None:
    awkward = 0.1 + 0.2  # 0.30000000000000004: the ledger counts in units of 1e-9, rounded up
    answer = ask(pipeline(), replace(QUESTION, epsilon=awkward))
    assert answer.epsilon == 0.300000001
    assert _left(ledger) == pytest.approx(2.0 - answer.epsilon, abs=1e-12)


def test_failures_are_few_and_who_has_had_them_still_gets_what_was_kept(
    pipeline: Callable[..., Pipeline], ledger: Ledger
) -> None:
    ask(pipeline(), QUESTION)
    failing = pipeline(*[BackendFailed("refused")] * 80)
    for number in range(MAX_FAILURES):
        with pytest.raises(QueryFailed):
            ask(failing, _small(number))
    left = _left(ledger)
    with pytest.raises(TooManyFailures):
        ask(failing, _small(MAX_FAILURES))
    assert _left(ledger) == left
    assert ask(failing, QUESTION).cached


def test_a_bump_of_the_data_measures_anew(pipeline: Callable[..., Pipeline], ledger: Ledger) -> None:
    asked = pipeline()
    ask(asked, QUESTION)
    ledger.bump_data(Act("ada", "a new load"))
    assert not ask(asked, QUESTION).cached
    assert _left(ledger) == 0.0


def test_a_clock_that_ticks_asks_another_question(pipeline: Callable[..., Pipeline]) -> None:
    days = [datetime(2024, 5, day, 12, tzinfo=UTC) for day in (17, 17, 18)]
    asked = replace(pipeline(), clock=lambda: days[0])
    question = replace(QUESTION, sql="SELECT count(*) FROM orders WHERE o_orderdate < now()", epsilon=0.5)
    cached = []
    while days:
        cached.append(ask(asked, question).cached)
        days.pop(0)
    assert cached == [False, True, False]
