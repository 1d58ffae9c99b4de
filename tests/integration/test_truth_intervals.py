"""Intervals for the truth, if nobody adds more than was said: the whole way over a database, again and again."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from planner.policy.policy import Policy
from server.backends.duckdb import DuckdbBackend
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.workers.pool import WorkerPool
from tests.support.asking import ask
from tests.support.planning import people_policy
from tests.support.seeds import examples, sampled
from tests.support.visits import VISITS, answer_visits, plan_visits, visits_policy

COUNT = "SELECT count(*) FROM visit"
BY_PLACE = "SELECT place, count(*) FROM visit GROUP BY place"
MINUTES = "SELECT sum(minutes) FROM visit"
MEETINGS = "SELECT count(*) FROM meeting"

RELEASES = examples(5, 60)
ANALYSTS = {"ada": (20.0, 0.0)}


@pytest.fixture
def policy() -> Policy:
    return visits_policy()


def _exact(backend: DuckdbBackend, sql: str) -> dict[tuple[object, ...], float]:
    with duckdb.connect(backend.path, read_only=True) as connection:
        return {row[:-1]: float(row[-1]) for row in connection.execute(sql).fetchall()}


def test_they_hold_the_truth_as_often_as_they_say(backend: DuckdbBackend, policy: Policy) -> None:
    cases = ((COUNT, VISITS), (COUNT, 2 * VISITS), (MINUTES, 60.0 * VISITS), (BY_PLACE, VISITS), (MEETINGS, 6))
    for sql, most in sampled(cases, 3):
        _check(backend, policy, sql, most)


def _check(backend: DuckdbBackend, policy: Policy, sql: str, most: float) -> None:
    truth, missed, told = _exact(backend, sql), 0, 0
    plan = plan_visits(backend, policy, sql, at_most=most)
    for _ in range(RELEASES if len(truth) == 1 else 3):
        answer = answer_visits(backend, policy, plan)
        assert (answer.covers, answer.at_most) == ("truth", most)
        assert not any(answer.clipped)
        for row, intervals in zip(answer.rows, answer.intervals, strict=True):
            (interval,) = [one for one in intervals if one is not None]
            assert interval.low is not None and interval.high is not None
            told += 1
            missed += not interval.low <= truth[row[:-1]] <= interval.high
    # Of n intervals at 95%, more than this many miss in one run of ten million.
    assert missed <= 0.05 * told + 5.5 * np.sqrt(0.0475 * told) + 3


def test_the_same_of_a_threshold_too_small_would_not(backend: DuckdbBackend, policy: Policy) -> None:
    plan = plan_visits(backend, policy, COUNT, at_most=VISITS - 1)
    (interval,) = answer_visits(backend, policy, plan).intervals[0]
    assert interval is not None and interval.high is not None
    assert interval.high < _exact(backend, COUNT)[()], "a fifth of all visits is cut: what was said was not true"


def test_everybody_is_protected_by_noise_of_what_was_said(backend: DuckdbBackend, policy: Policy) -> None:
    """The noise is that of the threshold alone, whatever people add: twice as much where twice as much is said."""
    scales = []
    for most in (float(VISITS), 2.0 * VISITS):
        plan = plan_visits(backend, policy, COUNT, at_most=most, epsilon=0.5)
        answer = answer_visits(backend, policy, plan)
        (interval,) = answer.intervals[0]
        assert interval is not None and interval.high is not None and interval.low is not None
        assert answer.taus[0][0] == (most,)
        scales.append(interval.high - interval.low)
    assert scales[1] == pytest.approx(2 * scales[0], rel=0.05)


SCORES = """
    [tables.person.columns]
    score = { range = [300, 850] }
    saldo = { range = [-500, 400] }
"""


def test_what_is_far_from_the_middle_of_its_range_is_not_clipped_around_its_mean(
    ledger: Ledger, workers: WorkerPool, tmp_path: Path
) -> None:
    """One row each: a fifth of the people are further from the mean than half of the range is wide.

    Noise moves the average by 5, or the others by 8%, once in a million runs; clipping moved them by 28, and by 40%.
    """
    scores = "300 + 540 * (i % 5 > 0)::int"
    with duckdb.connect(tmp_path / "people.duckdb") as connection:
        connection.execute("CREATE TABLE person (id bigint PRIMARY KEY, score integer, saldo integer)")
        connection.execute(f"INSERT INTO person SELECT i, {scores}, {scores} - 450 FROM range(4000) t(i)")
    file, policy = DuckdbBackend(tmp_path / "people.duckdb", "main"), people_policy(SCORES)
    pipeline = Pipeline(policy, file.schema(), file, ledger, workers)
    sql = "SELECT avg(score), var_pop(score), avg(saldo), covar_pop(score, saldo) FROM person"
    ((average, variance, signed, covariance),) = ask(
        pipeline, QueryRequest("ada", sql, epsilon=8.0, request_id="r")
    ).rows
    assert average == pytest.approx(732, abs=5) and signed == pytest.approx(282, abs=5)
    assert variance == pytest.approx(46_656, rel=0.08) and covariance == pytest.approx(46_656, rel=0.08)
