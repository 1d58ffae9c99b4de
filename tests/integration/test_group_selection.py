"""Keys that are found among private rows, and groups that are too small to show, on a real database."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import psycopg
import pytest

from planner.binding.bind import bind
from planner.errors import SensitivityUnbounded
from planner.parsing.parse import parse
from planner.planning.make_plan import make_plan
from planner.policy.policy import ColumnPolicy
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from privacy.mechanisms.rank_release import RankRelease
from server.backends.duckdb import DuckdbBackend
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_schema
from server.query import QueryResponse
from server.workers.measure import measure, plan_measurements
from tests.support.planning import demo_policy
from tests.support.visits import EMPTY, PLACES, answer_visits, plan_visits, visits_policy

TOWNS = "SELECT town, count(*) AS n FROM person GROUP BY town"
PER_PLACE = "SELECT place, count(*) AS n FROM visit GROUP BY place"


def _groups(answer: QueryResponse) -> list[object]:
    return [row[0] for row in answer.rows]


def _medians(answers: Sequence[QueryResponse], column: int = 1) -> list[float]:
    """Of each group's number over several answers: tau is drawn, at times far above the need, and noise with it."""
    numbers = [[float(row[column]) for row in answer.rows] for answer in answers]  # type: ignore[arg-type]
    return [statistics.median(group) for group in zip(*numbers, strict=True)]


@pytest.mark.slow
def test_the_policy_fits(backend: DuckdbBackend) -> None:
    validate(visits_policy(groups="person = 3", privacy="minimum_frequency = 5"), backend.schema())


def test_keys_are_found_where_enough_people_share_them(backend: DuckdbBackend) -> None:
    policy = visits_policy()
    plan = plan_visits(backend, policy, TOWNS)
    answer = answer_visits(backend, policy, plan)
    assert _groups(answer) == ["Aalen", "Berne", "Calw"]  # one person's town, and NULL, are not shown
    assert (answer.epsilon, answer.delta) == (4.0, 1e-6)
    assert answer.mechanism == "group_lp, group_threshold"
    truth = {"Aalen": 2000, "Berne": 900, "Calw": 80}
    assert all(abs(int(n) - truth[str(town)]) < 60 for town, n in answer.rows)  # type: ignore[arg-type]
    assert any("selected from private rows" in note for note in answer.notes)
    assert not any("withheld" in note for note in answer.notes)


def test_null_is_a_group_where_the_policy_says_so(backend: DuckdbBackend) -> None:
    policy = visits_policy(town=", null_group = true")
    answer = answer_visits(backend, policy, plan_visits(backend, policy, TOWNS, epsilon=10.0))
    assert _groups(answer) == ["Aalen", "Berne", "Calw", None]


def test_a_found_key_beside_a_public_one_adds_no_empty_groups(backend: DuckdbBackend) -> None:
    policy = visits_policy()
    sql = "SELECT town, age < 50 AS young, count(*), count(distinct age) FROM person GROUP BY town, age < 50"
    answer = answer_visits(backend, policy, plan_visits(backend, policy, sql, epsilon=10.0))
    assert {row[:2] for row in answer.rows} >= {("Aalen", False), ("Aalen", True), ("Berne", False)}
    assert ("Dornhan", False) not in [row[:2] for row in answer.rows]
    assert abs(int(answer.rows[0][3]) - 50) < 25  # type: ignore[arg-type]


def test_a_list_names_the_groups_of_a_count_and_costs_as_much(backend: DuckdbBackend) -> None:
    policy = visits_policy()
    for sql in ("SELECT DISTINCT town FROM person", "SELECT town FROM person GROUP BY town ORDER BY town"):
        answer = answer_visits(backend, policy, plan_visits(backend, policy, sql))
        assert (answer.rows, answer.epsilon, answer.delta) == ((("Aalen",), ("Berne",), ("Calw",)), 4.0, 1e-6)


def test_a_histogram_of_rows_per_person_needs_a_delta_and_no_column(backend: DuckdbBackend) -> None:
    sql = "SELECT n, count(*) FROM (SELECT person, count(*) AS n FROM visit GROUP BY person) t GROUP BY n"
    policy = visits_policy()
    ((n, people),) = answer_visits(backend, policy, plan_visits(backend, policy, sql)).rows
    assert n == 5 and abs(int(people) - 3000) < 60  # type: ignore[arg-type]


def test_a_switch_opens_every_column_but_those_that_opt_out(backend: DuckdbBackend) -> None:
    sql = "SELECT age % 7 AS a, place, count(*) FROM visit JOIN person ON person.id = person GROUP BY 1, 2"
    every = visits_policy(privacy="discover = true")
    assert every.discovers("visit", "minutes") and every.discovers("person", "id")
    assert not plan_visits(backend, every, sql).domains[0].selects_partitions  # its values follow from a range
    with pytest.raises(SensitivityUnbounded, match="belongs to one privacy unit"):
        plan_visits(backend, every, "SELECT id, count(*) FROM person GROUP BY id")


def test_sums_of_distinct_values_are_near_those_of_plain_sql(backend: DuckdbBackend) -> None:
    """Everybody has one age, which thirty share. A sum is off by 400 with a chance of 1e-9."""
    policy = visits_policy()
    plan = plan_visits(
        backend, policy, "SELECT sum(DISTINCT age), avg(DISTINCT age), sum(DISTINCT age - 50) FROM person"
    )
    answers = [answer_visits(backend, policy, plan) for _ in range(5)]
    medians = [statistics.median(float(answer.rows[0][column]) for answer in answers) for column in range(3)]  # type: ignore[arg-type]
    assert medians == pytest.approx([4950, 49.5, -50], abs=400)
    assert 40 < medians[1] < 60


def test_what_only_noise_says_is_not_sure(backend: DuckdbBackend) -> None:
    """A condition that nobody meets is taken for met in 1 of 40 answers: in 3 of 5 with a chance of 2e-4."""
    policy = visits_policy()
    sql = "SELECT bool_or(age > 500), bool_or(age > 90), bool_and(age < 500), every(age < 50) FROM person"
    answers = [answer_visits(backend, policy, plan_visits(backend, policy, sql)).rows[0] for _ in range(5)]
    assert [statistics.mode(answer[column] for answer in answers) for column in range(4)] == [
        False,
        True,
        True,
        False,
    ]


def test_an_expression_over_open_columns_is_found_too(backend: DuckdbBackend) -> None:
    policy = visits_policy()
    plan = plan_visits(backend, policy, "SELECT upper(town), count(*) FROM person GROUP BY 1")
    assert _groups(answer_visits(backend, policy, plan)) == ["AALEN", "BERNE", "CALW"]


def test_without_a_delta_no_key_is_found(backend: DuckdbBackend) -> None:
    with pytest.raises(SensitivityUnbounded, match="needs a delta"):
        plan_visits(backend, visits_policy(), TOWNS, delta=0.0)


def test_keys_of_a_person_of_any_number_of_groups_are_found_and_no_row_is_left_out(backend: DuckdbBackend) -> None:
    sql = "SELECT reason, count(*) FROM visit GROUP BY reason"
    policy = visits_policy()
    plan = plan_visits(backend, policy, sql)
    assert (plan.bounds.groups, plan.bounds.rule, plan.mechanism) == (None, None, "l2_clip")
    answers = [answer_visits(backend, policy, plan) for _ in range(5)]
    answer = answers[0]
    assert all(_groups(one) == ["leisure", "work"] for one in answers)  # one person's secret is not shown
    assert answer.mechanism == "l2_clip, vote_threshold"
    assert _medians(answers) == pytest.approx([9000, 6000], rel=0.02)
    assert not any(answer.low_precision)
    assert any("counted for less in each" in note for note in answer.notes)


@pytest.mark.slow
def test_found_counts_of_who_comes_each_month_are_whole(tmp_path: Path) -> None:
    """36 months, everybody in each of them: nothing but noise keeps a count from its true value."""
    url = tmp_path / "months.duckdb"
    with duckdb.connect(url) as connection:
        connection.execute(f"""{EMPTY}
            INSERT INTO person SELECT i, NULL, i % 100 FROM range(2000) t(i);
            INSERT INTO visit SELECT i, i // 36, 'p0', 'month ' || (100 + i % 36), 10 FROM range(72000) t(i);
        """)
    months, policy = DuckdbBackend(url), visits_policy()
    plan = plan_visits(months, policy, "SELECT reason, count(*) FROM visit GROUP BY 1")
    answers = [answer_visits(months, policy, plan) for _ in range(5)]
    assert all(_groups(answer) == [f"month {100 + month}" for month in range(36)] for answer in answers)
    assert _medians(answers) == pytest.approx([2000] * 36, abs=150)


def test_a_rule_leaves_rows_out_of_values_and_of_no_vote(backend: DuckdbBackend) -> None:
    sql = "SELECT reason, count(*) FROM visit GROUP BY reason"
    policy = visits_policy(groups="person = 1")
    plan = plan_visits(backend, policy, sql, mechanism="group_lp")
    assert (plan.bounds.groups, plan.bounds.rule) == (1, 1)
    answer = answer_visits(backend, policy, plan)
    assert _groups(answer) == ["leisure", "work"]
    clipped = plan_visits(backend, policy, sql, mechanism="l2_clip")
    answers = [answer_visits(backend, policy, clipped) for _ in range(5)]
    assert _medians(answers)[1] == pytest.approx(6000, rel=0.02)


def test_a_rule_proves_nothing_of_ranks(backend: DuckdbBackend) -> None:
    """It is applied to sums alone: of a median a person counts in every group, and is weighed as such.

    The mutant that takes the rule for a proof moves two groups by a whole step each, where noise hides one.
    """
    policy = visits_policy(groups="person = 1")
    sql = "SELECT reason, percentile_cont(0.5) WITHIN GROUP (ORDER BY minutes) FROM visit GROUP BY reason"
    plan = plan_visits(backend, policy, sql)
    assert (plan.bounds.groups, plan.bounds.rule) == (1, 1)
    (release,) = plan_measurements(plan, policy).releases
    assert isinstance(release, RankRelease) and not release.batch.one_group


@pytest.mark.slow
def test_values_are_counted_in_groups_that_are_found(backend: DuckdbBackend) -> None:
    policy = visits_policy()
    pair = "SELECT reason, count(*), count(DISTINCT place) FROM visit GROUP BY reason"
    plan = plan_visits(backend, policy, pair)
    answers = [answer_visits(backend, policy, plan) for _ in range(5)]
    assert all(_groups(answer) == ["leisure", "work"] for answer in answers)
    assert _medians(answers, 2)[0] == pytest.approx(PLACES, abs=25)


def test_several_owners_need_a_functional_dependency(backend: DuckdbBackend) -> None:
    sql = "SELECT h.town, count(*) FROM meeting JOIN person h ON host = h.id GROUP BY h.town"
    with pytest.raises(SensitivityUnbounded, match="several privacy units share each row") as refused:
        plan_visits(backend, visits_policy(groups="person = 2"), sql)
    assert "list the values in WHERE" in str(refused.value.hint)
    same = sql.replace("ON host = h.id", "ON host = h.id JOIN person g ON guest = g.id AND g.town = h.town")
    policy = visits_policy()
    plan = plan_visits(backend, policy, same)
    assert plan.bounds.groups == 1
    assert _groups(answer_visits(backend, policy, plan))[:2] == ["Aalen", "Berne"]


def test_small_groups_are_withheld_and_the_answer_says_so(backend: DuckdbBackend) -> None:
    policy = visits_policy(privacy="minimum_frequency = 600")
    plan = plan_visits(backend, policy, PER_PLACE, epsilon=10.0, delta=0.0)
    answer = answer_visits(backend, policy, plan)
    assert answer.rows == ()
    assert any(f"{PLACES} of {PLACES} groups are withheld" in note for note in answer.notes)
    policy = visits_policy(privacy="minimum_frequency = 200")
    answer = answer_visits(backend, policy, plan_visits(backend, policy, PER_PLACE, epsilon=10.0, delta=0.0))
    assert len(answer.rows) == PLACES
    assert answer.delta == 0.0
    assert not any("withheld" in note for note in answer.notes)


def test_an_answer_without_groups_is_withheld_too(backend: DuckdbBackend) -> None:
    policy = visits_policy(privacy="minimum_frequency = 50")
    few = plan_visits(backend, policy, "SELECT count(*), avg(age) FROM person WHERE town = 'Dornhan'")
    answer = answer_visits(backend, policy, few)
    assert answer.rows == ()
    assert answer.intervals == ()
    assert any("The answer is withheld" in note for note in answer.notes)
    many = plan_visits(backend, policy, "SELECT count(*), avg(age) FROM person")
    assert len(answer_visits(backend, policy, many).rows) == 1


def test_the_selection_has_a_share_of_epsilon(backend: DuckdbBackend) -> None:
    plan = plan_visits(backend, visits_policy(privacy="minimum_frequency = 5"), PER_PLACE, delta=0.0)
    assert plan.selection is not None
    assert plan.selection.epsilon == plan.releases[0].epsilon == 2.0


@pytest.mark.slow
def test_small_groups_that_are_found_are_not_counted(backend: DuckdbBackend) -> None:
    policy = visits_policy(privacy="minimum_frequency = 500")
    answer = answer_visits(backend, policy, plan_visits(backend, policy, TOWNS))
    assert _groups(answer) == ["Aalen", "Berne"]
    assert any("Smaller groups are withheld" in note for note in answer.notes)


def test_nothing_found_is_an_empty_answer(backend: DuckdbBackend) -> None:
    policy = visits_policy()
    sql = "SELECT town, count(*), sum(age) FROM person WHERE age > 99 GROUP BY town ORDER BY 2 DESC LIMIT 3"
    assert answer_visits(backend, policy, plan_visits(backend, policy, sql)).rows == ()


def test_postgres_finds_the_same(tpch_url: str) -> None:
    """Padded text, a date and a count of distinct values."""
    with psycopg.connect(tpch_url) as connection:
        schema = read_schema(connection)
    policy = demo_policy()
    tables = dict(policy.tables)
    for table, column in (("customer", "c_mktsegment"), ("orders", "o_orderpriority"), ("orders", "o_orderdate")):
        opened = {**tables[table].columns, column: ColumnPolicy(discover=True)}
        tables[table] = replace(tables[table], columns=opened)
    policy = replace(policy, tables=tables, delta=1e-6)
    validate(policy, schema)
    backend = PostgresBackend(tpch_url)
    for sql, keys in (
        ("SELECT c_mktsegment, count(*), count(distinct c_nationkey) FROM customer GROUP BY 1", 5),
        ("SELECT o_orderpriority, count(*) FROM orders GROUP BY 1", 5),
        ("SELECT o_orderdate, count(*) FROM orders WHERE o_orderkey < 10 GROUP BY 1", 0),
    ):
        bound = bind(parse(sql), schema, policy)
        plan = make_plan(bound, schema, policy, epsilon=4.0, delta=None, mechanism=None)
        domain, noisy = measure(backend, rewrite(plan), plan_measurements(plan, policy))
        assert len(domain) == keys
        assert all(isinstance(key, str) and key == key.strip() for (key,) in domain.groups)
        assert all(len(answer.values) == keys for answer in noisy)
