"""Mechanisms for all groups together, on a real database: which is chosen, what it costs, how far off it is."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from statistics import median

import duckdb
import pytest

from planner.errors import InvalidSetting
from server.backends.duckdb import DuckdbBackend
from server.query import QueryResponse
from tests.support.seeds import examples, sampled
from tests.support.visits import EMPTY, PEOPLE, PLACES, VISITS, answer_visits, plan_visits, visits_policy

PER_PLACE = "SELECT place, count(*) AS n FROM visit GROUP BY place"
MEETINGS = "SELECT place, count(*) AS n FROM meeting GROUP BY place"
EACH = PEOPLE * VISITS / PLACES


def _counts(answer: QueryResponse) -> list[float]:
    return [float(row[1]) for row in answer.rows]  # type: ignore[arg-type]


def _error(answer: QueryResponse, truth: float) -> float:
    """L2 error per group, relative."""
    return math.sqrt(sum((count - truth) ** 2 for count in _counts(answer)) / len(answer.rows)) / truth


def _width(answer: QueryResponse) -> float:
    """Of the intervals, in multiples of the threshold: what noise of one unit's share is."""
    widths = [cell.high - cell.low for _, cell in answer.intervals]  # type: ignore[union-attr, operator]
    (tau,) = {taus[1] for taus in answer.taus}
    assert tau is not None
    return median(widths) / tau[0]


def _asked(backend: DuckdbBackend, sql: str, **settings: object) -> QueryResponse:
    policy = visits_policy(privacy=str(settings.pop("privacy", "")), groups=str(settings.pop("groups", "")))
    return answer_visits(backend, policy, plan_visits(backend, policy, sql, **settings))  # type: ignore[arg-type]


@pytest.mark.slow
def test_one_owner_and_a_delta_are_clipped(backend: DuckdbBackend) -> None:
    answers = [_asked(backend, PER_PLACE) for _ in range(examples(1, 5))]
    answer = answers[0]
    assert (answer.mechanism, answer.epsilon, answer.delta) == ("l2_clip", 4.0, 1e-6)
    assert len(answer.rows) == PLACES
    assert median(_error(one, EACH) for one in answers) < 0.2
    covered = [cell.low <= EACH <= cell.high for _, cell in answer.intervals]  # type: ignore[union-attr, operator]
    assert sum(covered) > 0.7 * PLACES


@pytest.mark.slow
def test_without_a_delta_noise_is_pure_and_larger(tmp_path: Path) -> None:
    """Everybody is at each of 40 places. At five places each, Laplace noise is the smaller."""
    path = tmp_path / "everywhere.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(EMPTY)
        connection.execute(f"INSERT INTO person SELECT i, NULL, 40 FROM range({PEOPLE}) t(i)")
        connection.execute(
            f"INSERT INTO visit SELECT i, i // {PLACES}, 'p' || (i % {PLACES}), NULL, 1 "
            f"FROM range({PEOPLE * PLACES}) t(i)"
        )
    everywhere = DuckdbBackend(path)
    pure = [_asked(everywhere, PER_PLACE, delta=0.0) for _ in range(5)]
    assert {(answer.mechanism, answer.delta) for answer in pure} == {("l1_clip", 0.0)}
    clipped = [_asked(everywhere, PER_PLACE) for _ in range(5)]
    assert {(answer.mechanism, answer.delta) for answer in clipped} == {("l2_clip", 1e-6)}
    assert median(_error(one, PEOPLE) for one in clipped) < median(_error(one, PEOPLE) for one in pure)


@pytest.mark.slow
def test_a_total_of_everybody_is_cut_less_than_each_group(backend: DuckdbBackend) -> None:
    """A unit is in few of the places, and more than once in some."""
    answers = {
        name: [_asked(backend, PER_PLACE, delta=0.0, mechanism=name) for _ in range(examples(1, 5))]
        for name in ("l1_clip", "group_lp")
    }
    total, each = (median(_error(one, EACH) for one in answers[name]) for name in ("l1_clip", "group_lp"))
    assert total < 0.7 * each


@pytest.mark.slow
def test_several_owners_share_a_threshold(backend: DuckdbBackend) -> None:
    answers = [_asked(backend, MEETINGS) for _ in range(examples(1, 5))]
    assert {(answer.mechanism, answer.delta) for answer in answers} == {("group_lp", 1e-6)}
    errors = [_error(answer, 9000 / PLACES) for answer in answers]
    assert median(errors) < 0.5, errors  # one of some hundred takes a threshold that is too high


def test_each_is_served_by_name(backend: DuckdbBackend) -> None:
    for mechanism in sampled(("group_lp", "l1_clip", "l2_clip", "pmsja", "s4s_vector"), 2):
        answers = [_asked(backend, PER_PLACE, mechanism=mechanism, epsilon=8.0) for _ in range(examples(1, 5))]
        for answer in answers:
            delta = 0.0 if mechanism == "l1_clip" else 1e-6
            assert (answer.mechanism, answer.epsilon, answer.delta) == (mechanism, 8.0, delta)
            assert len(answer.rows) == PLACES
        errors = [_error(answer, EACH) for answer in answers]
        assert median(errors) < 3.0, mechanism  # a scan may pass all useful thresholds


@pytest.mark.slow
def test_group_lp_needs_no_delta(backend: DuckdbBackend) -> None:
    for rate in (None, 0.5):
        answer = _asked(backend, MEETINGS, mechanism="group_lp", delta=0.0, sampling_rate=rate)
        assert (answer.mechanism, answer.delta) == ("group_lp", 0.0)


@pytest.mark.slow
def test_what_a_mechanism_cannot_do_is_refused(backend: DuckdbBackend, subtests: pytest.Subtests) -> None:
    for mechanism in ("l2_clip", "pmsja", "s4s_vector"):
        with subtests.test(mechanism), pytest.raises(InvalidSetting, match=f"{mechanism} needs a delta"):
            _asked(backend, PER_PLACE, mechanism=mechanism, delta=0.0)
    for mechanism in ("l1_clip", "l2_clip"):
        with subtests.test(mechanism), pytest.raises(InvalidSetting, match="one owner"):
            _asked(backend, MEETINGS, mechanism=mechanism)
    for mechanism in ("pmsja_as_published", "s4s_vector_as_published"):
        with subtests.test(mechanism):
            with pytest.raises(InvalidSetting) as refused:
                _asked(backend, PER_PLACE, mechanism=mechanism)
            sound = mechanism.removesuffix("_as_published")
            assert "its published constants" in str(refused.value.hint)
            assert f"use {sound}" in str(refused.value.hint)


@pytest.mark.slow
def test_a_mixed_select_list_shares_epsilon_and_delta(backend: DuckdbBackend) -> None:
    sql = (
        "SELECT place, count(*) AS n, avg(minutes) AS mean, count(distinct reason) AS reasons FROM visit "
        "GROUP BY place HAVING count(*) > 0 ORDER BY n DESC"
    )
    policy = visits_policy()
    plan = plan_visits(backend, policy, sql, epsilon=10.0)
    # a double may be NaN, which an average leaves out: its count is not count(*)
    labels = ["count(*)", "avg(minutes), how many", "avg(minutes)", "count(distinct reason)"]
    assert [release.label for release in plan.releases] == labels
    assert sum(Fraction(repr(release.epsilon)) for release in plan.releases) <= 10
    answer = answer_visits(backend, policy, plan)
    assert answer.mechanism == "l2_clip, gem"
    assert (answer.epsilon, answer.delta) == (10.0, 1e-6)
    counts = [row[1] for row in answer.rows]
    assert counts == sorted(counts, reverse=True)  # type: ignore[type-var]


@pytest.mark.slow
def test_the_policys_group_limit_divides_by_its_number(backend: DuckdbBackend) -> None:
    policy = visits_policy(groups=f"person = {VISITS}")
    plan = plan_visits(backend, policy, PER_PLACE, mechanism="group_lp", delta=0.0)
    assert (plan.bounds.groups, plan.bounds.rule) == (VISITS, VISITS)
    ruled = answer_visits(backend, policy, plan)
    assert _width(ruled) < _width(_asked(backend, PER_PLACE, mechanism="group_lp", delta=0.0))


@pytest.mark.slow
def test_the_custodians_rule_leaves_out_what_goes_beyond_it(backend: DuckdbBackend) -> None:
    answer = _asked(backend, PER_PLACE, groups="person = 2", mechanism="group_lp", epsilon=10.0)
    assert 0.7 < sum(_counts(answer)) / (PEOPLE * 2) < 1.3


@pytest.mark.slow
def test_a_sample_of_several_groups_is_scaled(backend: DuckdbBackend) -> None:
    for mechanism, covers in (
        ("group_lp", "clipped value"),
        ("l1_clip", "clipped sample"),
        ("l2_clip", "clipped sample"),
        ("s4s_vector", "clipped sample"),
    ):
        answer = _asked(backend, PER_PLACE, mechanism=mechanism, sampling_rate=0.5, epsilon=8.0)
        assert 0.5 < sum(_counts(answer)) / (PEOPLE * VISITS) < 1.5, mechanism
        assert answer.covers == covers
    assert _asked(backend, PER_PLACE, sampling_rate=0.5).mechanism == "group_lp"  # whose interval knows the sample
