"""Keys that are found among private rows, and groups that are too small to show, on a real database."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from planner.bind import bind
from planner.errors import InvalidSetting, SensitivityUnbounded
from planner.parse import parse
from planner.planner import make_plan
from planner.policy import ColumnPolicy
from planner.policy_check import validate
from planner.rewrite import rewrite
from server.backends.catalog import read_schema
from server.backends.duckdb import DuckdbBackend
from server.backends.postgres import PostgresBackend
from server.measuring import measure, plan_measurements
from server.query import QueryResponse
from tests.support.planning import demo_policy
from tests.support.visits import PLACES, answer_visits, plan_visits, visits, visits_policy

TOWNS = "SELECT town, count(*) AS n FROM person GROUP BY town"
PER_PLACE = "SELECT place, count(*) AS n FROM visit GROUP BY place"


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> DuckdbBackend:
    return visits(Path(tmp_path_factory.mktemp("visits")) / "visits.duckdb")


def _groups(answer: QueryResponse) -> list[object]:
    return [row[0] for row in answer.rows]


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
    assert any("found among private rows" in note for note in answer.notes)
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


def test_an_expression_over_open_columns_is_found_too(backend: DuckdbBackend) -> None:
    policy = visits_policy()
    plan = plan_visits(backend, policy, "SELECT upper(town), count(*) FROM person GROUP BY 1")
    assert _groups(answer_visits(backend, policy, plan)) == ["AALEN", "BERNE", "CALW"]


def test_without_a_delta_no_key_is_found(backend: DuckdbBackend) -> None:
    with pytest.raises(InvalidSetting, match="cost a delta"):
        plan_visits(backend, visits_policy(), TOWNS, delta=0.0)


def test_a_person_of_any_number_of_groups_needs_the_custodians_rule(backend: DuckdbBackend) -> None:
    sql = "SELECT reason, count(*) FROM visit GROUP BY reason"
    with pytest.raises(SensitivityUnbounded, match="any number of groups") as refused:
        plan_visits(backend, visits_policy(), sql)
    assert "groups_per_unit" in str(refused.value.hint)
    policy = visits_policy(groups="person = 2")
    plan = plan_visits(backend, policy, sql)
    assert (plan.groups_per_unit, plan.group_rule) == (4, 2)
    assert _groups(answer_visits(backend, policy, plan)) == ["leisure", "work"]


def test_several_owners_need_a_functional_dependency(backend: DuckdbBackend) -> None:
    sql = "SELECT h.town, count(*) FROM meeting JOIN person h ON host = h.id GROUP BY h.town"
    with pytest.raises(SensitivityUnbounded):
        plan_visits(backend, visits_policy(groups="person = 2"), sql)
    same = sql.replace("ON host = h.id", "ON host = h.id JOIN person g ON guest = g.id AND g.town = h.town")
    policy = visits_policy()
    plan = plan_visits(backend, policy, same)
    assert plan.groups_per_unit == 1
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
    policy = replace(policy, tables=tables, delta=1e-6, groups_per_unit={"customer": 3})
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
