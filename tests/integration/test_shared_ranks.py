"""Quantiles and extremes of rows that belong to two people each, on a real database."""

from __future__ import annotations

from statistics import median

import pytest

from server.backends.duckdb import DuckdbBackend
from server.query import QueryResponse
from tests.support.visits import answer_visits, plan_visits, visits_policy

HOSTS = "FROM meeting m JOIN person p ON p.id = m.host"
"""9,000 meetings of 3,000 people, each with a host, whose ages are spread evenly from 0 to 99, and a guest."""


def _asked(backend: DuckdbBackend, sql: str, epsilon: float = 1.0) -> QueryResponse:
    policy = visits_policy()
    return answer_visits(backend, policy, plan_visits(backend, policy, sql, epsilon=epsilon))


def _numbers(answers: list[QueryResponse], column: int) -> list[float]:
    return [float(answer.rows[0][column]) for answer in answers]  # type: ignore[arg-type]


def test_quantiles_are_near_the_truth_and_their_intervals_hold_it(backend: DuckdbBackend) -> None:
    three = ", ".join(f"percentile_cont({q}) WITHIN GROUP (ORDER BY age)" for q in (0.25, 0.5, 0.75))
    answers = [_asked(backend, f"SELECT {three} {HOSTS}") for _ in range(9)]
    assert {answer.mechanism for answer in answers} == {"rank"}
    for column, truth in enumerate((24.5, 49.5, 74.5)):
        assert abs(median(_numbers(answers, column)) - truth) <= 3
        low, high = ([answer.intervals[0][column] for answer in answers] for _ in range(2))
        assert sum(one.low <= truth <= one.high for one in low) >= 7, high  # type: ignore[union-attr, operator]


@pytest.mark.slow
def test_extremes_say_how_many_people_it_takes_to_own_what_lies_beyond(backend: DuckdbBackend) -> None:
    answers = [_asked(backend, f"SELECT max(age, 60), min(age) {HOSTS}") for _ in range(9)]
    assert abs(median(_numbers(answers, 0)) - 97) <= 2  # each age is that of thirty hosts
    assert median(_numbers(answers, 1)) <= 3
    notes = [note for note in answers[0].notes if "own all rows" in note]
    assert len(notes) == 2 and "about 60 privacy units, or up to 2 times as many" in notes[0]


@pytest.mark.slow
def test_each_group_has_its_own(backend: DuckdbBackend) -> None:
    sql = f"SELECT place, median(age) {HOSTS} WHERE m.place IN ('p1', 'p2') GROUP BY m.place"
    answers = [_asked(backend, sql, epsilon=8.0) for _ in range(5)]
    assert [row[0] for row in answers[0].rows] == ["p1", "p2"]
    # of 40 places each has the hosts of three ages in a hundred, 40 apart
    assert all(0 <= value <= 99 for value in _numbers(answers, 1))


@pytest.mark.slow
def test_dates_and_numbers_beside_sums(backend: DuckdbBackend) -> None:
    answer = _asked(backend, f"SELECT count(*), median(age) {HOSTS}", epsilon=4.0)
    count, middle = (float(value) for value in answer.rows[0])  # type: ignore[arg-type]
    assert abs(count - 9000) < 2000 and abs(middle - 49.5) < 15
