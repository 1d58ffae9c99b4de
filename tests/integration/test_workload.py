"""Many questions at once before a real database, a real ledger and real workers: together, or not at all."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planner.errors import InvalidSetting, PlannerError, StatementTooComplex
from server.answers.run import Running
from server.answers.workload.workload import WorkloadItem, WorkloadRequest, WorkloadResponse
from server.errors import BackendConnectionLost, BudgetExhausted, NoProposal, NotDerivable, QueryFailed
from server.ledger.analyst import Act
from server.ledger.currency import charged_epsilon
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import QueryRequest, QueryResponse
from server.workers.pool import WorkerPool
from tests.support.asking import ask
from tests.support.ward_grid import MONTHS, SEXES, WARDS, exact, load_wards, ward_pipeline

BUDGET = 20.0

BY_WARD = "SELECT ward, count(*) AS n FROM patient GROUP BY ward"
BY_MONTH = "SELECT month, count(*) AS n FROM patient GROUP BY month"
BY_BOTH = "SELECT ward, month, count(*) AS n FROM patient GROUP BY ward, month"
BY_SEX = "SELECT sex, count(*) AS n FROM patient GROUP BY sex"
TOTAL = "SELECT count(*) AS n FROM patient"
GRID = (BY_WARD, BY_MONTH, BY_BOTH, TOTAL)
ALONE = "SELECT kind, count(*) AS n FROM visit GROUP BY kind"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return load_wards(tmp_path_factory.mktemp("wards") / "wards.duckdb")


ANALYSTS = {"ada": (BUDGET, 0.0), "grace": (BUDGET, 0.0)}


@pytest.fixture
def pipeline(file: Path, ledger: Ledger, workers: WorkerPool) -> Pipeline:
    return ward_pipeline(file, ledger, workers)


def asked(*statements: str, **settings: Any) -> WorkloadRequest:
    items = tuple(WorkloadItem(sql) for sql in statements)
    return WorkloadRequest("ada", items, request_id="request-1", **settings)


def cells(answer: QueryResponse) -> dict[tuple[object, ...], float]:
    return {row[:-1]: float(row[-1]) for row in answer.rows}  # type: ignore[arg-type]


def spent(ledger: Ledger, analyst: str = "ada") -> int:
    return charged_epsilon(BUDGET) - charged_epsilon(ledger.budget(analyst).epsilon_left)


def half(answer: QueryResponse) -> float:
    widths = [
        (interval.high - interval.low) / 2
        for row in answer.intervals
        for interval in row
        if interval is not None and interval.high is not None and interval.low
    ]
    return min(widths)


@pytest.mark.slow
def test_a_grid_is_answered_together_and_every_answer_is_near_the_truth(
    pipeline: Pipeline, ledger: Ledger, file: Path
) -> None:
    answered = pipeline.workload(asked(*GRID, epsilon=8.0))
    assert [one.how for one in answered.summary.queries] == ["together"] * 4
    wards, months, both, total = answered.answers
    assert len(wards.rows) == len(WARDS) and len(months.rows) == MONTHS and len(both.rows) == len(WARDS) * MONTHS
    for answer, sql in zip(answered.answers, GRID, strict=True):
        truth = {row[:-1]: float(row[-1]) for row in exact(file, sql)}  # type: ignore[arg-type]
        for row, intervals in zip(answer.rows, answer.intervals, strict=True):
            (interval,) = [one for one in intervals if one is not None]
            assert interval.low is not None and interval.high is not None
            reach = (interval.high - interval.low) / 2
            assert abs(float(row[-1]) - truth.get(row[:-1], 0.0)) <= 4 * reach  # type: ignore[arg-type]
    assert total.covers == "truth" and "least squares" in total.notes[0]
    assert (answered.summary.error_of_alone or 1.0) <= 0.7


@pytest.mark.slow
def test_the_rows_of_undeclared_values_are_in_the_totals_as_ever(pipeline: Pipeline, file: Path) -> None:
    """One patient in forty has a ward that nobody declared: no row of the answer by wards, but one of all."""
    (every,) = exact(file, TOTAL)
    (declared,) = exact(file, f"SELECT count(*) FROM patient WHERE ward IN {WARDS}")
    assert every[0] == 2_000 and declared[0] == 1_950
    answered = pipeline.workload(asked(*GRID, epsilon=10.0))
    wards, _, _, total = answered.answers
    assert float(total.rows[0][0]) == pytest.approx(2_000, abs=15)  # type: ignore[arg-type]
    assert sum(cells(wards).values()) == pytest.approx(1_950, abs=25)
    assert "left out" in " ".join(wards.notes)


@pytest.mark.slow
def test_what_is_charged_is_what_was_reserved_and_is_said(pipeline: Pipeline, ledger: Ledger) -> None:
    answered = pipeline.workload(asked(*GRID, ALONE, epsilon=2.0))
    parts = sum(charged_epsilon(one.charged) for one in answered.summary.measured)
    assert spent(ledger) == parts == charged_epsilon(answered.epsilon) <= charged_epsilon(2.0)
    assert parts > charged_epsilon(2.0) - 20
    assert sum(answer.epsilon for answer in answered.answers) == pytest.approx(answered.epsilon)
    assert answered.budget == ledger.budget("ada")
    assert all(answer.budget == answered.budget for answer in answered.answers)


def test_the_same_workload_is_free_and_the_same(pipeline: Pipeline, ledger: Ledger) -> None:
    first = pipeline.workload(asked(*GRID, ALONE, epsilon=2.0))
    before = spent(ledger)
    again = pipeline.workload(asked(*GRID, ALONE, epsilon=2.0))
    assert spent(ledger) == before and again.epsilon == 0.0
    assert [list(one.rows) for one in again.answers] == [list(one.rows) for one in first.answers]
    assert all(one.cached for one in again.answers)


def test_answers_of_a_grid_agree(pipeline: Pipeline) -> None:
    statements = [
        f"SELECT ward, count(*) / 1 AS n FROM patient WHERE ward IN {WARDS} AND month IN {tuple(range(1, 13))} "
        "GROUP BY ward",
        f"SELECT ward, month, count(*) / 1 AS n FROM patient WHERE ward IN {WARDS} AND month IN "
        f"{tuple(range(1, 13))} GROUP BY ward, month",
    ]
    answered = pipeline.workload(asked(*statements, epsilon=4.0))
    wards, both = map(cells, answered.answers)
    for (ward,), count in wards.items():
        parts = [value for key, value in both.items() if key[0] == ward]
        assert count == pytest.approx(sum(parts))


@pytest.mark.slow
def test_orders_limits_and_conditions_are_each_questions_own(pipeline: Pipeline) -> None:
    top = "SELECT ward AS w, count(*) AS n FROM patient GROUP BY ward HAVING count(*) > 50 ORDER BY n DESC LIMIT 3"
    swapped = "SELECT month, ward, count(*) AS n FROM patient GROUP BY month, ward"
    answered = pipeline.workload(asked(top, swapped, BY_BOTH, TOTAL, epsilon=8.0))
    best, other, both, _ = answered.answers
    assert [column.name for column in best.columns] == ["w", "n"] and len(best.rows) == 3
    assert [row[1] for row in best.rows] == sorted((row[1] for row in best.rows), reverse=True)  # type: ignore[type-var]
    assert {(ward, month): count for (month, ward), count in cells(other).items()} == cells(both)


def test_what_the_budget_does_not_hold_is_not_begun(pipeline: Pipeline, ledger: Ledger) -> None:
    """Each part would fit."""
    for sql, epsilon in (("SELECT count(*) FROM patient WHERE age > 7", 10.0), (BY_SEX, 5.0)):
        ask(pipeline, QueryRequest("ada", sql, epsilon=epsilon, request_id="request-0"))
    with pytest.raises(BudgetExhausted):
        pipeline.workload(asked(*GRID, ALONE, epsilon=BUDGET - 14.0))
    assert spent(ledger) == charged_epsilon(15.0)


@pytest.mark.slow
def test_a_question_that_is_refused_refuses_all_and_is_named(pipeline: Pipeline, ledger: Ledger) -> None:
    with pytest.raises(PlannerError, match=r"^question 2: "):
        pipeline.workload(asked(TOTAL, "SELECT ward FROM patients", epsilon=1.0))
    with pytest.raises(InvalidSetting, match=r"^question 1: ") as refused:
        pipeline.workload(asked(*[f"SELECT count(*) FROM patient WHERE age > {k}" for k in range(64)], epsilon=1e-3))
    assert refused.value.hint is not None and "fewer questions" in refused.value.hint
    with pytest.raises(InvalidSetting, match="EXPLAIN"):
        pipeline.workload(asked(TOTAL, f"EXPLAIN {TOTAL}", epsilon=1.0))
    with pytest.raises(StatementTooComplex, match="17 questions at once; at most 16"):
        pipeline.workload(asked(*[f"SELECT count(*) FROM patient WHERE age > {k}" for k in range(17)], epsilon=2.0))
    with pytest.raises(InvalidSetting, match="from 1 to 64"):
        pipeline.workload(asked())
    assert spent(ledger) == 0


def test_a_part_that_fails_charges_what_was_read_and_gives_the_rest_back(
    pipeline: Pipeline, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two parts are measured, the third is lost twice."""
    calls = 0
    measured = Running._measured

    def failing(self: Running, *given: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls < 3:
            return measured(self, *given)
        lost = replace(self, workers=_Lost())  # type: ignore[arg-type]
        return measured(lost, *given)

    class _Lost:
        def call(self, *given: Any, **named: Any) -> Any:
            raise BackendConnectionLost("gone")

    monkeypatch.setattr(Running, "_measured", failing)
    statements = [f"SELECT count(*) FROM visit WHERE kind = '{kind}'" for kind in ("a", "b", "c")]
    statements += ["SELECT count(*) FROM visit", ALONE]
    with pytest.raises(QueryFailed):
        pipeline.workload(asked(*statements, epsilon=5.0))
    assert spent(ledger) == 3 * charged_epsilon(1.0)
    monkeypatch.undo()
    again = pipeline.workload(asked(*statements[:2], *statements[3:], epsilon=4.0))
    assert charged_epsilon(again.epsilon) == 2 * charged_epsilon(1.0), "two are kept"


@pytest.mark.slow
def test_each_pays_for_what_others_have_measured(pipeline: Pipeline, ledger: Ledger) -> None:
    request = asked(*GRID, epsilon=2.0)
    first = pipeline.workload(request)
    second = pipeline.workload(replace(request, analyst="grace"))
    assert spent(ledger, "grace") == spent(ledger, "ada") == charged_epsilon(second.epsilon)
    assert [list(one.rows) for one in second.answers] == [list(one.rows) for one in first.answers]


@pytest.mark.slow
def test_races_measure_once_and_charge_once(pipeline: Pipeline, ledger: Ledger) -> None:
    """Six threads ask one workload, six a part of it in another order: none waits for ever, none pays twice."""
    wide, narrow = asked(*GRID, ALONE, epsilon=2.0), asked(ALONE, *reversed(GRID), epsilon=2.0)
    found: list[WorkloadResponse] = []

    def run(request: WorkloadRequest) -> None:
        found.append(pipeline.workload(request))

    threads = [threading.Thread(target=run, args=(one,)) for one in [wide, narrow] * 6]
    for one in threads:
        one.start()
    for one in threads:
        one.join(120)
    assert len(found) == 12
    assert charged_epsilon(sum(one.epsilon for one in found)) == spent(ledger) <= charged_epsilon(2.0)
    totals = {answer.rows[0] for one in found for answer in one.answers if len(answer.columns) == 1}
    assert len(totals) == 1


@pytest.mark.slow
def test_the_best_answer_that_is_kept_is_taken_instead(pipeline: Pipeline, ledger: Ledger) -> None:
    """Though a worse one is newer."""
    known = ask(pipeline, QueryRequest("ada", ALONE, epsilon=6.0, request_id="request-0"))
    ask(pipeline, QueryRequest("ada", ALONE, epsilon=0.25, request_id="request-1", reuse="never"))
    before = spent(ledger)
    answered = pipeline.workload(asked(ALONE, "SELECT place, count(*) FROM visit GROUP BY place", epsilon=2.0))
    assert list(answered.answers[0].rows) == list(known.rows) and answered.answers[0].cached
    assert spent(ledger) - before == charged_epsilon(1.0), "its share is not spent"


@pytest.mark.slow
def test_what_follows_from_a_paid_answer_is_free_in_a_workload(pipeline: Pipeline, ledger: Ledger) -> None:
    """A total of kept groups, no wider than its share would buy."""
    ask(pipeline, QueryRequest("ada", BY_SEX, epsilon=8.0, request_id="request-0"))
    before = spent(ledger)
    women = "SELECT count(*) AS n FROM patient WHERE sex = 'female'"
    request = asked(women, ALONE, epsilon=2.0)
    told = pipeline.explain_workload(request)
    assert told.charge_epsilon == pytest.approx(1.0)
    assert [one.how for one in told.summary.queries] == ["free", "alone"]
    answered = pipeline.workload(request)
    assert answered.answers[0].derived_from and answered.answers[0].epsilon == 0.0
    assert spent(ledger) - before == charged_epsilon(1.0)
    again = pipeline.workload(request)
    assert again.epsilon == 0.0 and [list(one.rows) for one in again.answers] == [
        list(one.rows) for one in answered.answers
    ]


@pytest.mark.slow
def test_a_grid_whose_questions_are_all_known_better_is_not_measured(pipeline: Pipeline, ledger: Ledger) -> None:
    for sql in GRID:
        ask(pipeline, QueryRequest("ada", sql, epsilon=3.0, request_id="request-0"))
    before = spent(ledger)
    answered = pipeline.workload(asked(*GRID, epsilon=2.0))
    assert spent(ledger) == before and answered.epsilon == 0.0
    assert [len(one.rows) for one in answered.answers] == [len(WARDS), MONTHS, len(WARDS) * MONTHS, 1]


@pytest.mark.slow
def test_a_grid_that_is_paid_for_stays_one_whatever_is_bought_later(pipeline: Pipeline) -> None:
    first = pipeline.workload(asked(*GRID, epsilon=2.0))
    for sql in GRID:
        ask(pipeline, QueryRequest("ada", sql, epsilon=3.0, request_id="request-0"))
    again = pipeline.workload(asked(*GRID, epsilon=2.0))
    assert again.epsilon == 0.0
    assert [one.how for one in again.summary.queries] == [one.how for one in first.summary.queries]


def test_an_idempotency_key_charges_once(pipeline: Pipeline, ledger: Ledger) -> None:
    request = asked(*GRID, ALONE, epsilon=2.0, idempotency_key="monday")
    first = pipeline.workload(request)
    before = spent(ledger)
    again = pipeline.workload(request)
    assert spent(ledger) == before
    assert [list(one.rows) for one in again.answers] == [list(one.rows) for one in first.answers]


@pytest.mark.slow
def test_unrelated_questions_get_equal_shares(pipeline: Pipeline) -> None:
    answered = pipeline.workload(asked(ALONE, "SELECT count(*) FROM patient WHERE age > 40", epsilon=2.0))
    assert [answer.epsilon for answer in answered.answers] == [1.0, 1.0]
    assert [one.how for one in answered.summary.queries] == ["alone"] * 2
    assert answered.summary.error_of_alone == pytest.approx(1.0)
    assert "threshold" in (answered.summary.queries[0].why or "")


@pytest.mark.slow
def test_what_is_to_be_free_is_refused_with_its_price_where_it_is_not(pipeline: Pipeline, ledger: Ledger) -> None:
    board = (BY_WARD, BY_MONTH, ALONE)
    with pytest.raises(NotDerivable, match="for epsilon 2") as refused:
        pipeline.workload(asked(*board, epsilon=2.0, reuse="only"))
    assert spent(ledger) == 0 and "reuse = auto" in (refused.value.hint or "")
    first = pipeline.workload(asked(*board, epsilon=2.0))
    paid = spent(ledger)
    again = pipeline.workload(asked(*board, epsilon=2.0, reuse="only"))
    assert again.epsilon == 0.0 and spent(ledger) == paid
    assert [list(one.rows) for one in again.answers] == [list(one.rows) for one in first.answers]
    ledger.bump_data(Act("ada", "a new load"))
    with pytest.raises(NotDerivable):
        pipeline.workload(asked(*board, epsilon=2.0, reuse="only"))
    assert spent(ledger) == paid


@pytest.mark.slow
def test_weights_divide_by_their_roots(pipeline: Pipeline) -> None:
    items = (WorkloadItem(ALONE, (), 4.0), WorkloadItem("SELECT count(*) FROM patient WHERE age > 40"))
    answered = pipeline.workload(WorkloadRequest("ada", items, 3.0, request_id="request-1"))
    assert [answer.epsilon for answer in answered.answers] == [2.0, 1.0]


@pytest.mark.slow
def test_one_question_and_the_same_twice_are_asked_as_ever(pipeline: Pipeline, ledger: Ledger) -> None:
    answered = pipeline.workload(asked(BY_WARD, BY_WARD, epsilon=1.0))
    assert spent(ledger) == charged_epsilon(1.0)
    assert list(answered.answers[0].rows) == list(answered.answers[1].rows)
    alone = ask(pipeline, QueryRequest("ada", BY_WARD, epsilon=1.0, request_id="request-2"))
    assert alone.cached and list(alone.rows) == list(answered.answers[0].rows)


@pytest.mark.slow
def test_free_and_composed_questions_have_their_place(pipeline: Pipeline, ledger: Ledger) -> None:
    listed = "SELECT ward FROM patient GROUP BY ward"
    ranked = f"SELECT kind, n, rank() OVER (ORDER BY n DESC) AS r FROM ({ALONE}) t ORDER BY r"
    nothing = f"{BY_WARD} LIMIT 0"
    answered = pipeline.workload(asked(listed, ranked, nothing, BY_SEX, epsilon=2.0))
    names, ranks, empty, sexes = answered.answers
    assert len(names.rows) == len(WARDS) and names.epsilon == 0.0 and list(empty.rows) == []
    assert [row[2] for row in ranks.rows] == [1, 2, 3] and ranks.epsilon == 1.0
    assert len(sexes.rows) == len(SEXES) and sexes.epsilon == 1.0
    assert [one.how for one in answered.summary.queries] == ["free", "alone", "free", "alone"]


@pytest.mark.slow
def test_parameters_are_of_each_question(pipeline: Pipeline) -> None:
    items = tuple(WorkloadItem("SELECT count(*) FROM visit WHERE kind = $1", (kind,)) for kind in ("a", "b"))
    answered = pipeline.workload(WorkloadRequest("ada", items, 4.0, request_id="request-1"))
    assert len(answered.answers) == 2 and len(answered.summary.measured) == 2


@pytest.mark.slow
def test_many_rows_of_each_person_add_up_where_it_is_said_how_many(pipeline: Pipeline, file: Path) -> None:
    statements = [
        "SELECT kind, count(*) AS n FROM visit WHERE patient < 5000 GROUP BY kind",
        "SELECT count(*) AS n FROM visit WHERE patient < 5000",
    ]
    answered = pipeline.workload(asked(*statements, epsilon=10.0, at_most=3))
    assert all(answer.covers == "truth" for answer in answered.answers)
    total = float(answered.answers[1].rows[0][0])  # type: ignore[arg-type]
    assert total == pytest.approx(6_000, abs=60)


@pytest.mark.slow
def test_explaining_says_what_it_will_be_and_charges_nothing(pipeline: Pipeline, ledger: Ledger) -> None:
    request = asked(*GRID, ALONE, epsilon=2.0)
    told = pipeline.explain_workload(request)
    assert spent(ledger) == 0
    answered = pipeline.workload(request)
    assert charged_epsilon(told.charge_epsilon) == charged_epsilon(answered.epsilon)
    assert told.summary.queries == answered.summary.queries
    ratios = []
    for place in range(3):
        expected = told.summary.queries[place].half_width
        assert expected is not None
        assert half(answered.answers[place]) == pytest.approx(expected, abs=1.0), "counts are whole numbers"
        better = told.summary.queries[place].half_width_alone
        assert better is not None
        ratios.append(expected / better)
    assert max(ratios) < 1.36 and np.sqrt(np.mean(np.square(ratios))) < 0.9, "all gain, and no one loses much for it"
    assert pipeline.explain_workload(request).charge_epsilon == 0.0


@pytest.mark.slow
def test_a_relative_error_needs_values_and_then_spends_what_suffices(pipeline: Pipeline, ledger: Ledger) -> None:
    statements = (BY_MONTH, BY_SEX, TOTAL, "SELECT count(*) AS n FROM visit")
    with pytest.raises(NoProposal, match="not been released to you"):
        pipeline.workload(asked(*statements, max_relative_error=0.2))
    assert spent(ledger) == 0
    pipeline.workload(asked(*statements, epsilon=1.0))
    before = spent(ledger)
    assert pipeline.explain_workload(asked(*statements, max_relative_error=0.15)).charge_epsilon == 0
    assert pipeline.workload(asked(*statements, max_relative_error=0.15)).epsilon == 0, "what is kept suffices"
    assert spent(ledger) == before
    told = pipeline.explain_workload(asked(*statements, max_relative_error=0.03))
    answered = pipeline.workload(asked(*statements, max_relative_error=0.03))
    assert charged_epsilon(told.charge_epsilon) == charged_epsilon(answered.epsilon) == spent(ledger) - before > 0
    for answer in answered.answers:
        for row, intervals in zip(answer.rows, answer.intervals, strict=True):
            (interval,) = [one for one in intervals if one is not None]
            assert interval.high is not None
            assert (interval.high - float(row[-1])) / float(row[-1]) < 0.05  # type: ignore[arg-type]
    with pytest.raises(NoProposal):
        pipeline.workload(asked(*statements, max_relative_error=1e-6))
