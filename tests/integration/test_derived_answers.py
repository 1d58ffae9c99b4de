"""Answers from answers, the whole way: a real ledger, real worker processes, a real database."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from planner.policy.policy import Policy, parse_policy
from server.backends.duckdb import DuckdbBackend
from server.errors import BudgetExhausted, DuplicateRequest, NotDerivable
from server.ledger.account import DATASET, Grant
from server.ledger.analyst import ADMINISTRATOR
from server.ledger.ledger import Ledger
from server.ledger.sqlite import open_ledger
from server.note import one_note
from server.pipeline import Pipeline
from server.query import QueryRequest, QueryResponse, Reuse
from server.workers.pool import WorkerPool
from tests.golden.domains.hospital import ROWS, TABLES
from tests.support.asking import ask

POLICY = (Path(__file__).parents[1] / "golden" / "domains" / "policy.toml").read_text()
FROM = "FROM visit v JOIN patient p ON v.patient = p.id"
MONTHS = f"SELECT date_trunc('month', v.came) AS month, count(*) AS n {FROM} GROUP BY 1"
YEARS = f"SELECT date_trunc('year', v.came) AS year, count(*) AS n {FROM} GROUP BY 1"
COUNTS = f"SELECT v.ward, count(*) AS n {FROM} GROUP BY 1"
WARDS = f"SELECT v.ward, count(*) AS n, sum(v.days) AS s {FROM} GROUP BY 1"


def policy(**settings: str) -> Policy:
    more = "".join(f"\n{name} = {value}" for name, value in settings.items())
    return parse_policy(POLICY.replace("max_epsilon = 1.0", f"max_epsilon = 20.0\ndelta = 1e-6{more}"))


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> DuckdbBackend:
    path = tmp_path_factory.mktemp("derived") / "hospital.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE SCHEMA public; USE public; SET TimeZone = 'UTC'")
        for statement in (*TABLES, *ROWS):
            connection.execute(statement)
    return DuckdbBackend(path, "public")


ANALYSTS = {"ada": (100.0, 1e-4), "grace": (100.0, 1e-4)}


@pytest.fixture
def ledger(ledger: Ledger) -> Ledger:
    """With a budget of the dataset."""
    ledger.grant(DATASET, Grant(epsilon=100.0, delta=1e-4), ADMINISTRATOR)
    return ledger


@pytest.fixture
def pipeline(backend: DuckdbBackend, ledger: Ledger, workers: WorkerPool) -> Pipeline:
    return Pipeline(policy(), backend.schema(), backend, ledger, workers)


Ask = Callable[..., QueryResponse]


@pytest.fixture
def asked(pipeline: Pipeline) -> Ask:
    def of(
        sql: str, epsilon: float = 1.0, reuse: Reuse = "auto", analyst: str = "ada", **settings: Any
    ) -> QueryResponse:
        return ask(pipeline, QueryRequest(analyst, sql, epsilon=epsilon, request_id="r", reuse=reuse, **settings))

    return of


def spent(ledger: Ledger, name: str) -> float:
    (account,) = (one for one in ledger.accounts() if one.name == name)
    return account.grant.epsilon - account.epsilon_left


def test_a_roll_up_is_free_where_it_is_as_good(asked: Ask, ledger: Ledger) -> None:
    asked(MONTHS, epsilon=20.0)
    years = asked(YEARS, epsilon=0.1)
    assert (years.epsilon, years.cached, years.derived_from) == (0.0, True, (1,))
    assert len(ledger.charges("ada")) == 1 and ledger.budget("ada").epsilon_left == 80.0
    assert years.covers == "clipped value" and years.confidence == 0.95
    assert any("sum of up to 12 groups" in note for note in years.notes)
    assert sum(int(row[1] or 0) for row in years.rows) == pytest.approx(6000, rel=0.2)


def test_a_better_answer_is_measured(asked: Ask, ledger: Ledger) -> None:
    asked(MONTHS, epsilon=0.5)
    years = asked(YEARS, epsilon=20.0)
    assert (years.epsilon, years.derived_from) == (20.0, ())
    (told,) = (note for note in years.notes if note.startswith("An answer derived from"))
    assert "your answer of charge 1 is free with reuse = only, but it is less precise (count(*): +-" in told
    assert asked(YEARS, epsilon=19.0, reuse="only").derived_from == (2,)  # of both the one with less noise


def test_never_is_measured_and_only_is_not(asked: Ask, ledger: Ledger) -> None:
    asked(MONTHS, epsilon=20.0)
    assert asked(YEARS, epsilon=0.1, reuse="never").epsilon == 0.1
    assert asked(YEARS, epsilon=0.1, reuse="only").cached  # that very answer is kept now
    with pytest.raises(NotDerivable) as refused:
        asked(WARDS, reuse="only")
    assert refused.value.hint is not None and "epsilon 1" in refused.value.hint
    assert len(ledger.charges("ada")) == 2


def test_what_another_analyst_has_paid_for_gives_nothing(asked: Ask, ledger: Ledger) -> None:
    asked(MONTHS, epsilon=20.0)
    with pytest.raises(NotDerivable):
        asked(YEARS, 0.1, "only", analyst="grace")
    assert asked(YEARS, 0.1, analyst="grace").epsilon == 0.1
    asked(MONTHS, epsilon=20.0, analyst="grace")  # bought: measured once, so the dataset does not pay again
    assert asked(f"SELECT count(*) {FROM}", 0.1, "only", analyst="grace").derived_from
    assert spent(ledger, "analyst:grace") == pytest.approx(20.1)
    assert spent(ledger, DATASET) == pytest.approx(20.1)


def test_two_who_pool_have_paid_for_all_that_they_know(asked: Ask, ledger: Ledger) -> None:
    asked(MONTHS, epsilon=2.0)
    asked(WARDS, epsilon=3.0, analyst="grace")
    asked(YEARS, 0.1, "only")
    asked(f"SELECT count(*) {FROM}", 0.1, "only", analyst="grace")
    asked(MONTHS, epsilon=2.0)
    assert spent(ledger, DATASET) == pytest.approx(5.0)
    assert spent(ledger, "analyst:ada") + spent(ledger, "analyst:grace") == pytest.approx(5.0)
    assert ledger.verify().fault is None


def test_a_new_load_ends_it(asked: Ask, ledger: Ledger) -> None:
    asked(MONTHS, epsilon=20.0)
    asked(YEARS, 0.1, "only")
    ledger.bump_data(ADMINISTRATOR)
    with pytest.raises(NotDerivable):
        asked(YEARS, 0.1, "only")
    asked(MONTHS, epsilon=20.0)
    assert asked(YEARS, 0.1, "only").derived_from == (2,)


def edited(before: str, after: str) -> Policy:
    text = POLICY.replace("max_epsilon = 1.0", "max_epsilon = 20.0\ndelta = 1e-6")
    assert text.count(before) == 1
    return parse_policy(text.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("epsilon = 1.0\n", "epsilon = 2.0\nmin_epsilon = 0.01\n"),
        ("[privacy_units]", "[budgets.analyst]\nepsilon = 5\n\n[privacy_units]"),
        ("[ledger]", "seconds = 20\n\n[ledger]"),
        ("[tables.drug]\npublic = true\n", "[tables.drug]\npublic = true\nrows = 99\n"),
        ("[tables.visit.columns]", "[tables.visit]\naccepted_null_owners = 7\n[tables.visit.columns]"),
    ],
)
def test_an_edit_that_concerns_other_things_leaves_answers_free(
    before: str, after: str, asked: Ask, pipeline: Pipeline, backend: DuckdbBackend, workers: WorkerPool
) -> None:
    first = asked(MONTHS, epsilon=20.0)
    other = Pipeline(edited(before, after), backend.schema(), backend, pipeline.ledger, workers)
    assert other.policy.hash != pipeline.policy.hash
    again = ask(other, QueryRequest("ada", MONTHS, epsilon=20.0, request_id="r"))
    assert (again.epsilon, again.rows) == (0.0, first.rows)
    assert ask(other, QueryRequest("ada", YEARS, epsilon=0.1, request_id="r", reuse="only")).derived_from == (1,)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("came = { range = [2022-01-01, 2024-12-31] }", "came = { range = [2022-01-01, 2025-12-31] }"),
        ("days = { range = [0, 14] }", "days = { range = [0, 15] }"),
        ("[tables.visit.columns]", "[tables.visit]\nclip = { rows = 40 }\n[tables.visit.columns]"),
        ("[tables.patient.columns]", "[tables.patient]\nrows = 9999\n[tables.patient.columns]"),
        ('patient = "id"', 'patient = "id"\n[groups_per_unit]\npatient = 3'),
        ("max_epsilon = 20.0", "max_epsilon = 20.0\nminimum_frequency = 5"),
    ],
)
def test_an_edit_of_what_it_relies_on_ends_it(
    before: str, after: str, asked: Ask, pipeline: Pipeline, backend: DuckdbBackend, workers: WorkerPool
) -> None:
    """Of its tables, of those that their keys lead to, and of what holds for everybody."""
    asked(MONTHS, epsilon=20.0)
    other = Pipeline(edited(before, after), backend.schema(), backend, pipeline.ledger, workers)
    with pytest.raises(NotDerivable):
        ask(other, QueryRequest("ada", YEARS, epsilon=0.1, request_id="r", reuse="only"))
    assert ask(other, QueryRequest("ada", MONTHS, epsilon=20.0, request_id="r")).epsilon == 20.0
    charges = pipeline.ledger.charges("ada")
    assert [one.charge.policy_hash for one in charges] == [pipeline.policy.hash, other.policy.hash]
    same = Pipeline(policy(), backend.schema(), backend, pipeline.ledger, workers)  # another proxy
    assert ask(same, QueryRequest("ada", YEARS, epsilon=0.1, request_id="r", reuse="only")).derived_from == (1,)


def test_a_retry_gets_no_answer_of_a_policy_that_meant_something_else(
    pipeline: Pipeline, backend: DuckdbBackend, workers: WorkerPool
) -> None:
    """Its interval was not made for the new policy's promise. A retry under an unrelated edit gets its answer."""
    request = QueryRequest("ada", "SELECT count(*) FROM visit", epsilon=1.0, request_id="r", idempotency_key="k")
    bounded = "[tables.visit]\nclip = { rows = 20 }\nat_most = { rows = 40 }\n[tables.visit.columns]"

    def under(after: str) -> Pipeline:
        policy = edited("[tables.visit.columns]", after)
        return Pipeline(policy, backend.schema(), backend, pipeline.ledger, workers)

    first = ask(under(bounded), request)
    unrelated = bounded.replace("[tables.visit]\n", "[tables.visit]\naccepted_null_owners = 3\n")
    assert ask(under(unrelated), request).rows == first.rows
    with pytest.raises(DuplicateRequest, match="meant something else"):
        ask(under(bounded.replace("40", "90")), request)


def test_it_outlives_the_proxy(
    asked: Ask, ledger: Ledger, tmp_path: Path, backend: DuckdbBackend, workers: WorkerPool
) -> None:
    asked(MONTHS, epsilon=20.0)
    ledger.close()
    again = open_ledger(tmp_path / "ledger.sqlite", tmp_path / "marker.json")
    pipeline = Pipeline(policy(), backend.schema(), backend, again, workers)
    assert ask(pipeline, QueryRequest("ada", YEARS, epsilon=0.1, request_id="r", reuse="only")).derived_from == (1,)
    again.close()


def test_a_quotient_follows_from_a_sum_and_a_count(asked: Ask) -> None:
    asked(f"SELECT v.ward, count(*) {FROM} GROUP BY 1", epsilon=9.0)
    asked(f"SELECT v.ward, v.emergency, sum(v.days) {FROM} GROUP BY 1, 2", epsilon=9.0)
    average = asked(f"SELECT v.ward, sum(v.days) / count(*) AS mean {FROM} GROUP BY 1", 0.1, "only")
    assert average.derived_from == (1, 2)
    assert average.confidence == pytest.approx(0.9)
    assert any("These intervals have 90% instead of 95%" in note for note in average.notes)
    assert all(4 < float(row[1] or 0) < 10 for row in average.rows)


def test_distinct_values_are_counted_in_single_groups_alone(asked: Ask) -> None:
    asked(f"SELECT v.ward, count(DISTINCT p.id) AS n {FROM} GROUP BY 1", epsilon=9.0)
    one = asked(f"SELECT count(DISTINCT p.id) AS n {FROM} WHERE v.ward = 'A'", 0.1, "only")
    assert one.derived_from == (1,)
    with pytest.raises(NotDerivable):
        asked(f"SELECT count(DISTINCT p.id) AS n {FROM}", 0.1, "only")
    with pytest.raises(NotDerivable):
        asked(f"SELECT count(DISTINCT p.id) AS n {FROM} WHERE v.ward IN ('A', 'B')", 0.1, "only")


def test_rows_that_are_lacking_are_told_of_and_never_served_unasked(asked: Ask) -> None:
    asked(f"SELECT p.city, count(*) AS n {FROM} GROUP BY 1", epsilon=20.0)
    total = f"SELECT count(*) AS n {FROM}"
    lacking = asked(total, 0.1, "only")
    assert any("lack rows with NULL" in note for note in lacking.notes)
    assert not any("NULL" in note for note in asked(f"{total} WHERE p.city = 'Wien'", 0.1, "only").notes)
    assert asked(total, 0.1).epsilon == 0.1


def test_releases_at_one_threshold_are_combined(asked: Ask, pipeline: Pipeline) -> None:
    for epsilon in (4.0, 3.0):
        asked(COUNTS, epsilon, "never", at_most=64.0)
    request = QueryRequest("ada", COUNTS, epsilon=1.0, request_id="r", reuse="only")
    assert ask(pipeline, request).derived_from == (1, 2)
    question = pipeline.planning.question(request)
    found = pipeline.deciding.reusing.find(question, "ada", lambda: pipeline.planning.groups(question.query, "ada"))
    assert found is not None and found.combined == 2
    kept = [pipeline.cached.released_to(one.charge.answer_key, "ada") for one in pipeline.ledger.charges("ada")]
    parts = [one.noisy[0] for one in kept if one is not None]
    scales = np.array([one.noise_scale for one in parts])
    weights = scales**-2.0 / np.sum(scales**-2.0, axis=0)
    assert found.noisy[0].values == pytest.approx(np.sum(weights * [one.values for one in parts], axis=0))
    assert np.all(found.noisy[0].high - found.noisy[0].low < parts[0].high - parts[0].low)
    assert any("2 releases of the same number were averaged" in note for note in ask(pipeline, request).notes)


def test_releases_at_other_thresholds_are_not_combined(asked: Ask, pipeline: Pipeline) -> None:
    asked(COUNTS, 4.0, "never", at_most=64.0)
    asked(COUNTS, 3.0, "never", at_most=128.0)
    assert ask(pipeline, QueryRequest("ada", COUNTS, epsilon=1.0, request_id="r", reuse="only")).derived_from == (1,)


def test_what_is_said_of_everybody_has_to_hold_of_what_is_kept(asked: Ask) -> None:
    by_ward = f"SELECT v.ward, count(*) AS n {FROM} GROUP BY 1"
    asked(by_ward, 4.0, at_most=16.0)
    total = f"SELECT count(*) AS n {FROM}"
    said = asked(total, 0.1, "only", at_most=16.0)
    assert said.covers == "truth"
    assert asked(total, 0.1, "only").covers == "clipped value"
    with pytest.raises(NotDerivable):
        asked(total, 0.1, "only", at_most=32.0)


def test_parts_of_a_composed_statement_follow_too(asked: Ask, ledger: Ledger) -> None:
    asked(MONTHS, epsilon=20.0)
    sql = f"SELECT max(n) FROM ({YEARS}) AS y"
    answer = asked(sql, 0.1)
    assert (answer.epsilon, answer.derived_from) == (0.0, (1,))
    assert len(ledger.charges("ada")) == 1


def test_an_exhausted_budget_still_has_what_follows(asked: Ask, ledger: Ledger) -> None:
    ledger.grant("analyst:ada", Grant(epsilon=20.0, delta=1e-4), ADMINISTRATOR)
    asked(MONTHS, epsilon=19.0)
    with pytest.raises(BudgetExhausted):
        asked(YEARS, epsilon=20.0)
    assert asked(YEARS, epsilon=20.0, reuse="only").derived_from == (1,)


def test_it_is_free_however_wide_where_no_more_epsilon_is_named_than_was_paid(asked: Ask, ledger: Ledger) -> None:
    asked(MONTHS)
    years = asked(YEARS)
    assert (years.epsilon, years.derived_from) == (0.0, (1,))
    (offered,) = (note for note in years.notes if note.startswith("With reuse = never"))
    assert "for epsilon 1, with about count(*): +-" in offered and " instead of +-" in offered
    assert offered in one_note(years), "twelve months are more than three times as wide as a year"
    for near in (asked(f"{MONTHS} ORDER BY 2 DESC LIMIT 3"), asked(MONTHS)):
        assert "With reuse" not in one_note(near)
    assert asked(YEARS, epsilon=1.5).epsilon == 1.5, "who names more wants it more accurate"
    assert asked(f"{MONTHS} ORDER BY 2 DESC LIMIT 3").epsilon == 0.0
    by_field = asked(
        f"SELECT extract(year FROM v.came) AS y, extract(month FROM v.came) AS m, count(*) AS n {FROM} GROUP BY 1, 2"
    )
    assert by_field.epsilon == 0.0 and len(by_field.rows) == 36


def test_never_measures_the_very_question_anew_and_sells_it_to_the_next(asked: Ask, ledger: Ledger) -> None:
    first, second, third = (asked(MONTHS, reuse=reuse) for reuse in ("auto", "never", "auto"))
    assert [one.epsilon for one in (first, second, third)] == [1.0, 1.0, 0.0]
    assert second.rows != first.rows and third.rows == second.rows
    assert any(note.startswith("This is a new measurement") for note in second.notes)
    assert [asked(MONTHS, analyst="grace", reuse="never").rows for _ in range(2)] == [first.rows, second.rows]
    assert (spent(ledger, "analyst:grace"), spent(ledger, DATASET)) == (2.0, 2.0)
    composed = f"SELECT max(n) FROM ({MONTHS}) AS m"
    assert asked(composed, reuse="never").epsilon == 1.0 and asked(composed).epsilon == 0.0
    assert ledger.verify().fault is None


def test_a_median_by_ward_is_that_of_each_ward(asked: Ask) -> None:
    wards = asked(f"SELECT v.ward, median(v.days) AS m, count(*) AS n {FROM} GROUP BY 1")
    one = asked(f"SELECT median(v.days) AS m {FROM} WHERE v.ward = 'B'")
    assert (one.epsilon, one.rows[0], one.intervals[0]) == (0.0, (wards.rows[1][1],), (wards.intervals[1][1],))
    assert asked(f"SELECT median(v.days) AS m {FROM}").epsilon == 1.0, "of all wards it does not follow"
    assert asked(f"SELECT median(v.days) AS m {FROM} WHERE v.ward = 'A'", epsilon=2.0).epsilon == 2.0


def test_fields_of_moments_lack_what_lies_beyond_the_declared_range(asked: Ask) -> None:
    for field, epsilon in (("dow", 0.5), ("year", 0.6)):
        asked(f"SELECT extract({field} FROM v.came) AS f, count(*) AS n {FROM} GROUP BY 1")
        assert asked(f"SELECT count(*) {FROM}", epsilon).epsilon == epsilon


def test_explain_tells_both_ways(asked: Ask, pipeline: Pipeline) -> None:
    request = QueryRequest("ada", YEARS, epsilon=0.1, request_id="r")
    assert pipeline.explain(request).reuse is None
    asked(MONTHS, epsilon=20.0)
    told = pipeline.explain(request).reuse
    assert told is not None and told.startswith("Free: derived from your answer of charge 1, count(*): +-")
    assert "Measured for epsilon 0.1: count(*): +-" in told and "is served unless reuse = never" in told
    lines = [str(line) for (line,) in asked(f"EXPLAIN {YEARS}", 0.1).rows]
    assert f"reuse: {told}" in " ".join(line.strip() for line in lines), "lines are broken"
    assert any(line.startswith("would charge: nothing (with reuse = never: epsilon 0.1") for line in lines)
    never = QueryRequest("ada", YEARS, epsilon=0.1, request_id="r", reuse="never")
    assert pipeline.explain(never).reuse is None and not pipeline.explain(never).derived
    assert pipeline.explain(QueryRequest("grace", YEARS, epsilon=0.1, request_id="r")).reuse is None


def test_racing_questions_are_charged_exactly(pipeline: Pipeline, ledger: Ledger) -> None:
    """Some follow from an answer that others measure meanwhile: who comes first pays, who comes later does not."""
    start = threading.Barrier(12)

    def one(number: int) -> QueryResponse:
        start.wait()
        sql = [MONTHS, YEARS, f"SELECT count(*) AS n {FROM}"][number % 3]
        epsilon = 20.0 if sql == MONTHS else 0.1
        return ask(pipeline, QueryRequest("ada", sql, epsilon=epsilon, request_id=f"r{number}"))

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(one, range(12)))
    charged = sum(answer.epsilon for answer in answers)
    assert ledger.budget("ada").epsilon_left == pytest.approx(100.0 - charged)
    assert spent(ledger, DATASET) == pytest.approx(charged)
    assert charged == pytest.approx(sum(one.charge.epsilon for one in ledger.charges("ada")))
    assert len(ledger.charges("ada")) <= 3
    assert all(answer.epsilon == 0.0 for answer in answers if answer.derived_from)
