"""`clip` and `at_most` of a policy, the whole way over both databases: intervals for the truth, and who has more."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np
import psycopg
import pytest

from planner.plan import BackendQuery
from planner.policy.policy import Policy
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from server.backends.backend import Backend
from server.backends.catalog import read_schema
from server.backends.columns import Domain
from server.backends.duckdb import DuckdbBackend
from server.backends.postgres import PostgresBackend
from server.backends.query_tuples import QueryTuples
from server.query import Budget
from server.results.response import response
from server.workers.measure import measure, plan_measurements
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
    assert plan.nobody_adds_more_than is None, "without the analyst saying anything"
    query = rewrite(plan, dialect="duckdb", schema=backend.schema())
    once = ReadOnce(backend.read(query))
    while told < RELEASES:
        domain, noisy = measure(once, query, plan_measurements(plan, policy))  # type: ignore[arg-type]
        answer = response(plan, domain, noisy, BUDGET, "request")
        assert answer.covers == "truth" and not any(answer.cut)
        for row, intervals in zip(answer.rows, answer.intervals, strict=True):
            (interval,) = [one for one in intervals if one is not None]
            assert interval.low is not None and interval.high is not None
            told += 1
            missed += not interval.low <= truth[row[:-1]] <= interval.high
    # More than 52 of 400 at 95% miss with probability 2e-10; noise is seeded, so that is of other draws.
    assert missed <= 52


def test_who_has_more_is_told_in_words(backend: DuckdbBackend) -> None:
    """Everybody has five visits, of which three are for leisure or secret."""
    policy = visits_with(clip={"rows": 2})
    answer = answer_visits(backend, policy, plan_visits(backend, policy, LEISURE))
    assert answer.covers == "clipped value"
    assert "after counting 2 rows of each person at most, as the policy says" in answer.notes[0]
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


def test_nobody_is_mentioned_where_nobody_may_have_more(
    backend: DuckdbBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privacy.mechanisms.noise.integer_noise.IntegerNoise.released", lambda *_: np.array([-99]))
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
