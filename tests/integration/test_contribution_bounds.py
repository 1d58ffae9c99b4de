"""`clip` and `at_most` of a policy, the whole way over both databases: intervals for the truth, and who has more."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pytest

from planner.plan import BackendQuery
from planner.policy.policy import Policy
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from server.backends.backend import Backend
from server.backends.columns import Domain
from server.backends.duckdb import DuckdbBackend
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_schema
from server.backends.query_tuples import QueryTuples
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import Budget, QueryRequest, QueryResponse
from server.results.response import response
from server.workers.measure import measure, plan_measurements
from server.workers.pool import WorkerPool
from tests.support.asking import ask
from tests.support.planning import demo_policy, planned
from tests.support.tpch_duckdb import NAMESPACE
from tests.support.visits import PEOPLE, VISITS, answer_visits, plan_visits, visits_policy

COUNT = "SELECT count(*) FROM visit"
LEISURE = "SELECT count(*) FROM visit WHERE reason = 'leisure'"
MINUTES = "SELECT sum(minutes) FROM visit"
BY_PLACE = "SELECT place, count(*) FROM visit GROUP BY place"

RELEASES = 400


BUDGET = Budget(10.0, 0.0, 1.0, 0.0)


@dataclass(frozen=True)
class ReadOnce:
    """A backend of what was read before."""

    rows: tuple[Domain, QueryTuples]

    def read(self, _: BackendQuery) -> tuple[Domain, QueryTuples]:
        return self.rows


def visits_with(**said: dict[str, float]) -> Policy:
    """The policy of the visits, with `clip` or `at_most` of them."""
    policy = visits_policy()
    return replace(policy, tables={**policy.tables, "visit": replace(policy.tables["visit"], **said)})  # type: ignore[arg-type]


def truth_of(backend: DuckdbBackend, sql: str) -> dict[tuple[object, ...], float]:
    with duckdb.connect(backend.path, read_only=True) as connection:
        return {row[:-1]: float(row[-1]) for row in connection.execute(sql).fetchall()}


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (COUNT, {"at_most": {"rows": VISITS}}),
        pytest.param(MINUTES, {"at_most": {"minutes": 60.0 * VISITS}}, marks=pytest.mark.slow),
        (BY_PLACE, {"at_most": {"rows": VISITS}}),
        pytest.param(LEISURE, {"clip": {"rows": 2}, "at_most": {"rows": VISITS}}, marks=pytest.mark.slow),
    ],
)
def test_a_promise_makes_intervals_hold_the_truth(
    backend: DuckdbBackend, sql: str, said: dict[str, dict[str, float]]
) -> None:
    """As often as they say, of 400 intervals: those of one answer by groups have noise of their own each."""
    policy, truth = visits_with(**said), truth_of(backend, sql)
    plan, missed, told = plan_visits(backend, policy, sql), 0, 0
    assert plan.bounds.assumed is None, "without the analyst saying anything"
    query = rewrite(plan, dialect="duckdb", schema=backend.schema())
    once = ReadOnce(backend.read(query))
    while told < RELEASES:
        domain, noisy = measure(once, query, plan_measurements(plan, policy))
        answer = response(plan, domain, noisy, BUDGET, "request")
        assert answer.covers == "truth" and not any(answer.clipped)
        for row, intervals in zip(answer.rows, answer.intervals, strict=True):
            (interval,) = [one for one in intervals if one is not None]
            assert interval.low is not None and interval.high is not None
            told += 1
            missed += not interval.low <= truth[row[:-1]] <= interval.high
    # More than 52 of 400 at 95% miss with probability 2e-10; noise is seeded, so that is of other draws.
    assert missed <= 52


def test_who_has_more_is_told_in_words(backend: DuckdbBackend) -> None:
    """Everybody has five visits."""
    policy = visits_with(clip={"rows": 2})
    answer = answer_visits(backend, policy, plan_visits(backend, policy, COUNT))
    assert answer.covers == "clipped value"
    assert "by the policy at most 2 rows of each person count" in answer.notes[0]
    (told,) = [note for note in answer.notes if "not counted" in note]
    found = re.fullmatch(
        r"About ([\d,]+) people \(at most ([\d,]+)\) have more than 2 rows; their further rows are not counted\.",
        told,
    )
    assert found is not None
    people, most = (int(number.replace(",", "")) for number in found.groups())
    # A tenth of epsilon 4: noise of scale 2.5, more than 100 with probability 1e-17.
    assert abs(people - PEOPLE) <= 100
    assert most == people + 6, "95% of the noise lies below"


@pytest.mark.parametrize("sql", [LEISURE, BY_PLACE, "SELECT count(*) FILTER (WHERE minutes > 3) FROM visit"])
def test_a_part_of_the_table_has_a_threshold_of_its_own_up_to_the_clip(backend: DuckdbBackend, sql: str) -> None:
    """Nobody has more than five, and the clip would give noise for 4,000."""
    policy = visits_with(clip={"rows": 4_000})
    answer = answer_visits(backend, policy, plan_visits(backend, policy, sql))
    assert answer.covers == "clipped value"
    assert not any("not counted" in note for note in answer.notes)
    # 500 is more than six doublings too far, which the margins make rarer than one in 500. Noise is seeded.
    assert max(tau for row in answer.taus for cell in row for tau in cell or ()) < 500


@pytest.mark.parametrize("sql", [LEISURE, BY_PLACE, "SELECT count(*), avg(minutes) FROM visit"])
def test_rows_are_marked_where_the_clip_itself_is_chosen(backend: DuckdbBackend, sql: str) -> None:
    """Nearly everybody has more than one row, so no smaller threshold is chosen. Noise is seeded."""
    for clip, marked in ((1, True), (4_000, False)):
        policy = visits_with(clip={"rows": clip})
        answer = answer_visits(backend, policy, plan_visits(backend, policy, sql))
        assert all(answer.clipped) == marked, clip
        assert any("many people may have more" in note for note in answer.notes) == marked, clip


def test_people_beside_rows_have_thresholds_of_their_own(backend: DuckdbBackend) -> None:
    policy = visits_with(at_most={"rows": VISITS})
    sql = "SELECT place, count(*), count(DISTINCT person) FROM visit GROUP BY place"
    answer = answer_visits(backend, policy, plan_visits(backend, policy, sql))
    assert answer.covers == "clipped value", "how much of each person's places counts was chosen"
    assert len(answer.rows) == len(truth_of(backend, BY_PLACE))


def test_nobody_is_mentioned_where_nobody_may_have_more(
    backend: DuckdbBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privacy.mechanisms.noise.IntegerNoise.released", lambda *_: np.array([-99]))
    policy = visits_with(clip={"rows": 40})
    answer = answer_visits(backend, policy, plan_visits(backend, policy, COUNT))
    assert not any("more than 40" in note for note in answer.notes)


def test_with_both_the_upper_end_is_raised_and_the_lower_end_is_not(backend: DuckdbBackend) -> None:
    clip = {"rows": 3.0}
    cut, raised = visits_with(clip=clip), visits_with(clip=clip, at_most={"rows": 4.0 * VISITS})
    for policy, covers, high in ((cut, "clipped value", 3.1 * PEOPLE), (raised, "truth", 20.5 * PEOPLE)):
        answer = answer_visits(backend, policy, plan_visits(backend, policy, COUNT))
        (interval,) = answer.intervals[0]
        assert interval is not None and interval.low is not None and interval.high is not None
        assert answer.covers == covers
        assert 2.9 * PEOPLE < interval.low < 3 * PEOPLE < interval.high < high
        assert covers != "truth" or interval.high > VISITS * PEOPLE


LINES = "SELECT count(*), sum(l_quantity), count(*) FILTER (WHERE l_quantity > 25) FROM lineitem"


def test_both_databases_count_the_same_people(tpch_url: str, tpch_duckdb: Path) -> None:
    """Values lie within their intervals' reach of one another, and so do the numbers of people."""
    with psycopg.connect(tpch_url) as connection:
        on_server = read_schema(connection)
    in_file = DuckdbBackend(tpch_duckdb, NAMESPACE)
    tables = demo_policy().tables
    said = replace(tables["lineitem"], clip={"rows": 20.0, "l_quantity": 500.0}, at_most={"rows": 400.0})
    policy = replace(demo_policy(), tables={**tables, "lineitem": said})
    answers = []
    databases: list[tuple[Backend, Schema]] = [(PostgresBackend(tpch_url), on_server), (in_file, in_file.schema())]
    for backend, schema in databases:
        plan = planned(LINES, schema, policy, epsilon=4.0)
        query = rewrite(plan, dialect=backend.dialect, schema=schema)
        domain, noisy = measure(backend, query, plan_measurements(plan, policy))
        answers.append((noisy, response(plan, domain, noisy, BUDGET, "request")))
    for here, there in zip(*(noisy for noisy, _ in answers), strict=True):
        assert here.exceeding is not None and there.exceeding is not None
        assert abs(here.exceeding.people - there.exceeding.people) <= 40 * 10 / 4 * 3  # e^-40 of either noise
        assert here.exceeding.people > 0
        assert abs(here.values - there.values)[0] <= 80 * here.noise_scale[0]
    for _, answer in answers:
        assert answer.covers == "truth"
        assert sum("not counted" in note for note in answer.notes) == 3


ANALYSTS = {"ada": (20.0, 0.0)}

JOINED = (
    "FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey "
    "JOIN nation ON c_nationkey = n_nationkey"
)
BY_NATION = f"SELECT n_name AS s, count(*) AS n {JOINED} GROUP BY n_name"
TOTAL = f"SELECT count(*) AS n {JOINED}"


def served(ledger: Ledger, workers: WorkerPool, path: Path, **said: dict[str, float]) -> Pipeline:
    """A proxy of the demonstration's tables in a file, with `clip` and `at_most` of lineitem."""
    file, policy = DuckdbBackend(path, NAMESPACE), demo_policy()
    lines = replace(policy.tables["lineitem"], **said)  # type: ignore[arg-type]
    return Pipeline(
        replace(policy, tables={**policy.tables, "lineitem": lines}), file.schema(), file, ledger, workers
    )


def asked(pipeline: Pipeline, sql: str, **settings: Any) -> QueryResponse:
    return ask(pipeline, QueryRequest("ada", sql, request_id="request-1", epsilon=4.0, **settings))


def test_who_has_more_is_kept_and_nothing_follows_from_it(
    ledger: Ledger, workers: WorkerPool, tpch_duckdb: Path
) -> None:
    """How many people have more is of all groups together, and so is how far an interval is raised for them."""
    pipeline = served(ledger, workers, tpch_duckdb, clip={"rows": 20.0}, at_most={"rows": 400.0})
    first, again = (asked(pipeline, BY_NATION) for _ in range(2))
    assert (first.epsilon, again.epsilon, again.cached) == (4.0, 0.0, True)
    assert first.covers == again.covers == "truth"
    assert list(first.intervals) == list(again.intervals)
    assert (
        sum("not counted" in note for note in first.notes) == sum("not counted" in note for note in again.notes) == 1
    )
    total = asked(pipeline, TOTAL)
    assert (total.epsilon, total.derived_from) == (4.0, ())
    beside = asked(pipeline, f"SELECT s, n, n + 1 AS more, sum(n) OVER () AS w FROM ({BY_NATION}) t")
    assert beside.epsilon == 0.0
    for _, n, more, windowed in beside.intervals:
        assert n is not None and more is not None and n.high is not None and more.high == n.high + 1
        assert windowed is None, "what is added for people adds up as no noise does"


def test_what_follows_from_a_promise_holds_the_truth_as_well(
    ledger: Ledger, workers: WorkerPool, tpch_duckdb: Path
) -> None:
    pipeline = served(ledger, workers, tpch_duckdb, at_most={"rows": 400.0})
    asked(pipeline, BY_NATION)
    total = asked(pipeline, TOTAL, reuse="only")
    assert (total.epsilon, total.covers, total.derived_from) == (0.0, "truth", (1,))
    beside = asked(pipeline, f"SELECT s, n, sum(n) OVER () AS w FROM ({BY_NATION}) t")
    assert beside.covers == "truth"
    assert all(windowed is not None for _, _, windowed in beside.intervals)


def test_explain_says_what_becomes_of_a_release(ledger: Ledger, workers: WorkerPool, tpch_duckdb: Path) -> None:
    pipeline = served(ledger, workers, tpch_duckdb, clip={"rows": 20.0}, at_most={"rows": 400.0})
    text = "\n".join(str(line) for (line,) in asked(pipeline, f"EXPLAIN {BY_NATION}").rows)
    text = " ".join(text.split())
    assert (
        "counts 20 rows of each person, in all groups together, and a tenth of its epsilon counts "
        "the people who have more" in text
    )
    assert "the policy declares that nobody has more than 400 rows" in text
    assert "epsilon 4" in text
