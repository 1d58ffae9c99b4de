"""Questions that read released values: both are charged, the price is known before, the second follows the first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from planner.errors import PlannerError
from server.answers.decide import Deciding
from server.answers.work import Cached, Compose, Measure
from server.answers.workload.workload import WorkloadItem, WorkloadRequest
from server.backends.duckdb import DuckdbBackend
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_schema
from server.errors import BackendUnavailable, BudgetExhausted, NotDerivable, QueryFailed, WorkerFailed
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import QueryRequest, QueryResponse
from server.workers.pool import WorkerPool
from tests.golden.tpch.queries import policy
from tests.support.asking import ask
from tests.support.planning import people_policy
from tests.support.tpch_duckdb import NAMESPACE

ANALYSTS = {"ada": (20.0, 1e-3), "bea": (20.0, 1e-3), "poor": (0.9, 1e-3)}

MEAN = "SELECT avg(c_acctbal) FROM customer"
ABOVE = f"SELECT count(*) FROM customer WHERE c_acctbal > ({MEAN})"
BY_KEY = (
    "SELECT count(*) FROM customer c WHERE c_acctbal > "
    "(SELECT 1.1 * avg(x.c_acctbal) FROM customer x WHERE x.c_mktsegment = c.c_mktsegment)"
)


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.slow), "duckdb"])
def pipeline(
    request: pytest.FixtureRequest, ledger: Ledger, workers: WorkerPool, tpch_url: str, tpch_duckdb: Path
) -> Pipeline:
    if request.param == "duckdb":
        file = DuckdbBackend(tpch_duckdb, NAMESPACE)
        return Pipeline(policy(), file.schema(), file, ledger, workers)
    with psycopg.connect(tpch_url) as connection:
        schema = read_schema(connection)
    return Pipeline(policy(), schema, PostgresBackend(tpch_url), ledger, workers)


GRADES = """
    [tables.person.columns]
    pay = { range = [0, 100] }
"""
STAFF = """
    CREATE TYPE grade AS ENUM ('junior', 'senior', 'chief');
    CREATE TABLE person (id bigint PRIMARY KEY, grade grade NOT NULL, pay double precision NOT NULL);
    INSERT INTO person SELECT i, (ARRAY['junior', 'senior', 'chief'])[1 + i % 3]::grade, 30 * (i % 3) + i % 2
        FROM generate_series(1, 6000) t(i);
"""


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.slow), "duckdb"])
def staff(request: pytest.FixtureRequest, ledger: Ledger, workers: WorkerPool, tmp_path: Path) -> Pipeline:
    """Two thousand of each grade; half of them have 1 more than the others."""
    if request.param == "duckdb":
        with duckdb.connect(tmp_path / "staff.duckdb") as connection:
            connection.execute(STAFF)
        file = DuckdbBackend(tmp_path / "staff.duckdb", "main")
        return Pipeline(people_policy(GRADES), file.schema(), file, ledger, workers)
    url = request.getfixturevalue("scratch_url")
    with psycopg.connect(url) as connection:
        connection.execute(STAFF)
    with psycopg.connect(url) as connection:
        schema = read_schema(connection)
    return Pipeline(people_policy(GRADES), schema, PostgresBackend(url), ledger, workers)


def test_a_label_is_compared_with_the_labels_of_an_answer(staff: Pipeline) -> None:
    """As key of the answer, beside a joined answer, in a list, and by the order of the labels."""
    mean = "SELECT avg(x.pay) FROM person x WHERE x.grade = p.grade"
    above = _asked(staff, f"SELECT count(*) FROM person p WHERE p.pay > ({mean})", epsilon=4.0)
    joined = "JOIN (SELECT grade, avg(pay) AS a FROM person GROUP BY grade) g ON g.grade = p.grade WHERE p.pay > g.a"
    by_grade = _asked(staff, f"SELECT p.grade, count(*) FROM person p {joined} GROUP BY p.grade", epsilon=4.0)
    paid = "SELECT grade FROM person GROUP BY grade HAVING avg(pay) > 20"
    listed = _asked(staff, f"SELECT count(*) FROM person WHERE grade IN ({paid})", epsilon=4.0)
    most = "SELECT max(grade) FROM (SELECT grade, avg(pay) AS a FROM person GROUP BY grade) t"
    below = _asked(staff, f"SELECT count(*) FROM person WHERE grade < ({most})", epsilon=4.0)
    for answer, true in ((above, 3000), (listed, 4000), (below, 4000)):
        assert int(str(answer.rows[0][0]).partition(".")[0]) == pytest.approx(true, abs=60), answer.rows
    assert {grade: int(str(n)) for grade, n in by_grade.rows} == pytest.approx(
        dict.fromkeys(("junior", "senior", "chief"), 1000), abs=60
    )


def _asked(pipeline: Pipeline, sql: str, analyst: str = "ada", **settings: Any) -> QueryResponse:
    return ask(pipeline, QueryRequest(analyst, sql, request_id="request-1", **settings))


def _charges(ledger: Ledger, analyst: str = "ada") -> list[tuple[float, str]]:
    return [(one.charge.epsilon, one.state) for one in ledger.charges(analyst)]


def test_both_are_charged_and_free_again(pipeline: Pipeline, ledger: Ledger) -> None:
    told = pipeline.explain(QueryRequest("ada", ABOVE, epsilon=1.0))
    answer = _asked(pipeline, ABOVE, epsilon=1.0)
    assert told.charge_epsilon == answer.epsilon == 1.0
    assert _charges(ledger) == [(0.5, "committed")] * 2
    again = _asked(pipeline, ABOVE, epsilon=1.0)
    assert (again.rows, again.epsilon, again.cached) == (answer.rows, 0.0, True)
    assert pipeline.explain(QueryRequest("ada", ABOVE, epsilon=1.0)).charge_epsilon == 0.0
    (released,) = _asked(pipeline, MEAN, epsilon=0.5).rows
    told_value = f"WHERE c_acctbal > {float(str(released[0])):.10g}"
    assert any(note.startswith("Measured: SELECT AVG(c_acctbal) FROM customer; then") for note in answer.notes)
    assert told_value in answer.notes[1], (told_value, answer.notes[1])
    assert any("hold for these values" in note for note in answer.notes)
    assert len(_charges(ledger)) == 2


def test_the_second_follows_the_released_value(pipeline: Pipeline) -> None:
    """With noise of some 0.1: what counts customers above the first answer is near the true count above it."""
    found = _asked(pipeline, ABOVE, epsilon=4.0)
    (mean,) = _asked(pipeline, MEAN, epsilon=2.0).rows
    (literal,) = _asked(pipeline, f"SELECT count(*) FROM customer WHERE c_acctbal > {mean[0]}", epsilon=4.0).rows
    assert abs(float(str(found.rows[0][0])) - float(str(literal[0]))) < 40  # of 1,500; chance below 1e-6


def test_what_is_paid_for_is_not_paid_again(pipeline: Pipeline, ledger: Ledger) -> None:
    _asked(pipeline, MEAN, epsilon=0.5)
    assert pipeline.explain(QueryRequest("ada", ABOVE, epsilon=1.0)).charge_epsilon == 0.5
    assert _asked(pipeline, ABOVE, epsilon=1.0).epsilon == 0.5
    other = _asked(pipeline, ABOVE.replace("count(*)", "sum(c_acctbal)"), epsilon=1.0)
    assert other.epsilon == 0.5, "the first answer is the same"
    assert len(_charges(ledger)) == 3


def test_a_new_measurement_of_the_first_has_a_second_of_its_own(pipeline: Pipeline, ledger: Ledger) -> None:
    first = _asked(pipeline, ABOVE, epsilon=1.0)
    anew = _asked(pipeline, ABOVE, epsilon=1.0, reuse="never")
    assert (anew.epsilon, len(_charges(ledger))) == (1.0, 4)
    newest = _asked(pipeline, ABOVE, epsilon=1.0)
    assert (newest.epsilon, newest.rows, newest.notes[1]) == (0.0, anew.rows, anew.notes[1])
    assert first.notes[1] != anew.notes[1], "another value was released"


def test_what_else_is_asked_meanwhile_does_not_change_which_answer_the_second_reads(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another analyst who buys both gets the second answer that was computed from the first that is sold."""
    own = Deciding._tried
    means: list[QueryResponse] = []

    def tried(self: Deciding, *arguments: Any) -> Any:
        if not means:
            means.extend([_asked(pipeline, MEAN, epsilon=0.5), _asked(pipeline, MEAN, epsilon=0.5, reuse="never")])
        return own(self, *arguments)

    monkeypatch.setattr(Deciding, "_tried", tried)
    answer = _asked(pipeline, ABOVE, epsilon=1.0)
    first, newer = (f"{float(str(one.rows[0][0])):.6f}" for one in means)
    assert first != newer
    told = next(note for note in answer.notes if "c_acctbal > " in note)
    assert f"> {first}"[:12] in told and f"> {newer}"[:12] not in told


def test_without_the_budget_for_both_nothing_is_charged(pipeline: Pipeline, ledger: Ledger) -> None:
    assert pipeline.explain(QueryRequest("poor", ABOVE, epsilon=1.0)).cannot_pay is not None
    with pytest.raises(BudgetExhausted):
        _asked(pipeline, ABOVE, "poor", epsilon=1.0)
    assert {state for _, state in _charges(ledger, "poor")} <= {"released"}
    with pytest.raises(NotDerivable):
        _asked(pipeline, ABOVE, epsilon=1.0, reuse="only")
    assert _charges(ledger) == []


def test_another_analyst_buys_both(pipeline: Pipeline, ledger: Ledger) -> None:
    first, second = (_asked(pipeline, ABOVE, analyst, epsilon=1.0) for analyst in ("ada", "bea"))
    assert (second.rows, second.epsilon, second.notes) == (first.rows, 1.0, first.notes)
    assert [one.charge.repeats is None for one in ledger.charges("bea")] == [False, False]


def test_a_key_repeats_both(pipeline: Pipeline, ledger: Ledger) -> None:
    answers = [_asked(pipeline, ABOVE, epsilon=1.0, idempotency_key="once") for _ in range(2)]
    assert answers[0].rows == answers[1].rows and answers[1].epsilon == 0.0
    assert len(_charges(ledger)) == 2


@pytest.mark.parametrize(
    ("error", "state"), [(WorkerFailed("gone"), "failed"), (BackendUnavailable("gone"), "released")]
)
def test_where_the_second_fails_the_first_stands(
    pipeline: Pipeline, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, error: Exception, state: str
) -> None:
    """After a row could have been read its charge stands too; before, it is given back."""
    own, calls = pipeline.workers.call, list[object]()

    def call(task: Any, *values: Any, **settings: Any) -> Any:
        calls.append(task)
        if (
            getattr(task, "__name__", "") == "measure"
            and sum(getattr(one, "__name__", "") == "measure" for one in calls) == 2
        ):
            raise error
        return own(task, *values, **settings)

    with monkeypatch.context() as patched:
        patched.setattr(pipeline.workers, "call", call)
        with pytest.raises((QueryFailed, BackendUnavailable)):
            _asked(pipeline, ABOVE, epsilon=1.0)
    assert _charges(ledger) == [(0.5, "committed"), (0.5, state)]
    if state == "released":
        assert _asked(pipeline, ABOVE, epsilon=1.0).epsilon == 0.5


def test_a_value_per_key_is_a_list_that_the_second_joins(pipeline: Pipeline, ledger: Ledger) -> None:
    answer = _asked(pipeline, BY_KEY, epsilon=4.0)
    assert _charges(ledger) == [(2.0, "committed")] * 2
    assert 300 < float(str(answer.rows[0][0])) < 1200  # of 1,500; the noise is some 10
    grouped = BY_KEY.replace("SELECT count(*)", "SELECT c_mktsegment, count(*)") + " GROUP BY c_mktsegment"
    assert len(_asked(pipeline, grouped, epsilon=4.0).rows) == 5


def test_the_work_is_known_before(pipeline: Pipeline) -> None:
    request = QueryRequest("ada", ABOVE, epsilon=1.0)
    work = pipeline.deciding.decide(pipeline.find(request), request, together=True)
    assert isinstance(work, Compose)
    first, second = work.parts
    assert isinstance(first, Measure) and isinstance(second, Measure) and len(second.before) == 1
    ask(pipeline, request)
    work = pipeline.deciding.decide(pipeline.find(request), request, together=True)
    assert isinstance(work, Compose) and all(isinstance(one, Cached) for one in work.parts)


def test_a_shape_is_known_before(pipeline: Pipeline, ledger: Ledger) -> None:
    shape = pipeline.describe(
        "SELECT c_mktsegment, count(*) FROM customer WHERE c_acctbal > $1 + "
        f"({MEAN} WHERE c_nationkey = $2) GROUP BY 1"
    )
    assert [one.type for one in shape.columns] == ["text", "int8"]
    assert shape.parameters[1] == "int8"
    assert ledger.charges("ada") == ()


def test_a_length_of_time_has_an_interval_beside_it_in_every_form(pipeline: Pipeline) -> None:
    """psql names the columns before the answer: an average of lengths of time has ends, and a key has none."""
    waits = "l_receiptdate::timestamp - l_shipdate::timestamp"
    sql = f"SELECT l_returnflag, avg({waits}) AS wait, count(*) FROM lineitem GROUP BY 1"
    shape = pipeline.describe(sql)
    assert ([one.type for one in shape.columns], shape.noisy) == (["text", "interval", "int8"], (False, True, True))
    answer = _asked(pipeline, sql, epsilon=4.0)
    assert tuple(map(answer.has_intervals, range(3))) == shape.noisy
    assert pipeline.describe(f"SELECT {waits} AS wait, count(*) FROM lineitem GROUP BY 1").noisy == (False, True)


def test_what_could_fail_for_some_value_is_refused_before_both(pipeline: Pipeline, ledger: Ledger) -> None:
    for sql in (
        "SELECT count(*) FROM customer WHERE c_acctbal > (SELECT c_acctbal FROM customer)",
        "SELECT count(*) FROM customer WHERE c_acctbal > (SELECT avg(c_acctbal) FROM customer GROUP BY c_mktsegment)",
        "SELECT count(*) FROM customer WHERE c_acctbal > (SELECT count(*) > 5 FROM customer)",
        "SELECT count(*) FROM customer WHERE c_acctbal > (SELECT 'x' || count(*) FROM customer)",
    ):
        with pytest.raises(PlannerError):
            _asked(pipeline, sql, epsilon=1.0)
    assert ledger.charges("ada") == ()


def test_it_may_be_a_question_of_a_workload(pipeline: Pipeline, ledger: Ledger) -> None:
    items = (WorkloadItem(ABOVE), WorkloadItem("SELECT count(*) FROM orders"))
    request = WorkloadRequest("ada", items, epsilon=2.0, request_id="request-1")
    told = pipeline.explain_workload(request)
    answered = pipeline.workload(request)
    assert (
        told.charge_epsilon == pytest.approx(answered.epsilon) == pytest.approx(sum(e for e, _ in _charges(ledger)))
    )
    assert pipeline.workload(request).epsilon == 0.0
