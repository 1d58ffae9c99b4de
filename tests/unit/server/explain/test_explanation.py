"""What EXPLAIN says of real plans over the demonstration's catalog."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from sqlglot import parse_one

from planner.planning.make_plan import make_plan
from planner.policy.policy import Policy, parse_policy
from planner.rewriting.rewrite import rewrite, to_sql
from planner.sensitivity.provenance import provenance
from planner.sql.trees import replaced
from server.explain.explanation import _shortened, explanation
from server.explain.explanation_text import broken, explanation_answer, explanation_facts
from server.query import Budget, Explanation
from server.workers.measure import plan_measurements
from tests.support.planning import DEMO_POLICY, bound, demo_policy, unbounded
from tests.support.tpch_schema import tpch_schema

JOIN = (
    "SELECT n_name, count(*), count(distinct c_custkey) FROM customer JOIN nation ON c_nationkey = n_nationkey "
    "LEFT JOIN region ON n_regionkey = r_regionkey GROUP BY n_name"
)
BY_TAX = "SELECT l_tax > 0, count(*) FROM lineitem GROUP BY 1"
BY_STATUS = "SELECT o_orderstatus, count(*) FROM orders GROUP BY 1"
PART = "SELECT count(*) FROM lineitem JOIN partsupp ON l_partkey = ps_partkey"
LINES = "SELECT count(*), count(distinct l_suppkey), sum(l_quantity) FROM lineitem WHERE l_tax > 0.01"


def explained(
    sql: str,
    *,
    n_groups: int = 1,
    sampling_rate: float | None = None,
    policy: Policy | None = None,
    mechanism: str | None = None,
) -> Explanation:
    schema, policy = tpch_schema(), policy or demo_policy()
    query = bound(sql, policy=policy)
    plan = make_plan(query, schema, policy, epsilon=1.0, delta=None, mechanism=mechanism, sampling_rate=sampling_rate)
    found = provenance(query, schema, policy)
    whole = plan_measurements(replace(plan, sampling=None), policy)
    return explanation(query, found, plan, rewrite(plan), plan_measurements(plan, policy), n_groups, whole)


def facts(shown: Explanation, name: str) -> list[str]:
    return [value for fact, value in explanation_facts(shown) if fact == name]


def test_every_statement_over_private_rows_is_shown() -> None:
    shown = explained(LINES)
    assert shown.rewritten_sql.count(";\n\n") == 1
    assert '"v"' in shown.rewritten_sql and '"w1"' in shown.rewritten_sql
    assert explained("SELECT count(distinct l_suppkey) FROM lineitem").rewritten_sql.count("SELECT ") == 1


def test_noise_is_a_number_if_the_contribution_bound_is_known() -> None:
    (known,) = facts(
        explained("SELECT count(distinct c_custkey) FROM customer"), "noise of count(distinct c_custkey)"
    )
    assert known.endswith("for the contribution bound 1") and "will be chosen" not in known
    (chosen,) = facts(explained("SELECT count(*) FROM orders"), "noise of count(*)")
    assert chosen.endswith("times the contribution bound that will be chosen")


def test_what_completion_adds_is_marked() -> None:
    shown = explained(LINES)
    assert [(table.table, table.join, table.added) for table in shown.tables] == [
        ("lineitem", "inner", False),
        ("orders", "left", True),
    ]
    assert [(condition.sql, condition.added) for condition in shown.conditions] == [
        ('"lineitem_0"."l_tax" > 0.01', False),
        ('"lineitem_0"."l_orderkey" = "orders_1"."o_orderkey"', True),
        ('"orders_1"."o_orderkey" IS NOT NULL', True),
    ]


def test_each_condition_of_the_join_is_in_its_statement() -> None:
    shown = explained(LINES)
    assert all(condition.sql in shown.rewritten_sql for condition in shown.conditions)


def test_the_join_graph_names_left_joins() -> None:
    shown = explained(JOIN)
    assert [(table.table, table.join, table.added) for table in shown.tables] == [
        ("customer", "inner", False),
        ("nation", "inner", False),
        ("region", "left", False),
    ]
    assert len(shown.conditions) == 2


def test_the_path_of_ownership_is_told() -> None:
    assert explained(LINES).ownership == (
        "lineitem_0: l_orderkey references orders_1, o_custkey references customer",
    )
    assert explained(JOIN).ownership == ("customer_0: c_custkey is its key",)
    assert len(explained("SELECT count(*) FROM knows").ownership) == 2


def test_each_release_has_its_mechanism_and_reason() -> None:
    shown = explained(JOIN, n_groups=25)
    assert [(one.release, one.mechanism, one.epsilon) for one in shown.mechanisms] == [
        ("count(*)", "group_lp", 0.5),
        ("count(distinct c_custkey)", "fixed", 0.5),
    ]
    assert "that bound is the clipping threshold" in shown.mechanisms[1].reason


def test_domains_say_where_they_come_from() -> None:
    ((key, source),) = explained(JOIN, n_groups=25).group_sources
    assert key == '"nation_1"."n_name"'
    assert source.startswith("read from public tables: SELECT DISTINCT")
    ((_, source),) = explained("SELECT l_tax > 0, count(*) FROM lineitem GROUP BY 1", n_groups=2).group_sources
    assert source == "the expression can have 2 values"


def test_of_many_listed_values_the_first_are_shown_and_their_number() -> None:
    statement = parse_one(f"SELECT lower(v) FROM (VALUES {', '.join(f'({n})' for n in range(34_698))}) AS t(v)")
    shown = to_sql(replaced(statement, _shortened))
    assert "(18), (19), ... 34,698 values) AS t(v)" in shown and len(shown) < 300
    few = parse_one("SELECT v FROM (VALUES (1), (2)) AS t(v)")
    assert replaced(few, _shortened) == few


def test_the_reach_of_a_person_has_its_reason() -> None:
    assert explained("SELECT count(*) FROM orders").groups_reason.startswith("there is one group")
    assert "determines the group keys" in explained(JOIN, n_groups=25).groups_reason
    assert "may reach every group" in explained("SELECT l_tax > 0, count(*) FROM lineitem GROUP BY 1").groups_reason


def test_how_many_groups_a_person_reaches_is_said_with_its_reason() -> None:
    """No more than there are public groups; where nothing bounds it, as many as there are."""
    (both,) = facts(explained(BY_TAX, n_groups=2), "groups per person")
    assert both.startswith("as many as there are: ") and "clipped as one vector" in both
    (each,) = facts(explained(BY_TAX, n_groups=2, mechanism="group_lp"), "groups per person")
    assert each.startswith("as many as there are: ") and "1/2 of its release's epsilon" in each
    (key,) = facts(explained(JOIN, n_groups=25), "groups per person")
    assert key.startswith("at most 1: ") and "all of its release's epsilon" in key
    written = DEMO_POLICY.read_text().replace(
        "[tables.orders]\n",
        '[tables.orders.columns]\no_orderstatus = { domain = ["A", "B", "C", "D", "E", "F", "O", "P"] }\n',
    )
    ruled = replace(parse_policy(written), groups_per_unit={"customer": 3})
    (rule,) = facts(explained(BY_STATUS, n_groups=8, policy=ruled, mechanism="group_lp"), "groups per person")
    assert rule.startswith("at most 3: the policy counts a unit's rows in at most 3 groups")
    (few,) = facts(explained(BY_STATUS, n_groups=3, policy=ruled, mechanism="group_lp"), "groups per person")
    assert few.startswith("at most 3: one unit may reach every group")


def test_a_join_on_a_part_of_a_key_is_explained() -> None:
    shown = explained(PART, policy=unbounded())
    (mechanism,) = facts(shown, "mechanism")
    assert "lineitem joins partsupp on a part of its key, without l_suppkey" in mechanism
    whole = explained(f"{PART} AND l_suppkey = ps_suppkey")
    assert not any("part of its key" in reason for reason in facts(whole, "mechanism"))


def test_delta_and_the_sample_are_facts() -> None:
    assert facts(explained(JOIN), "rows per person") == ["at most 1 by the declared fan-outs"]
    assert facts(explained(JOIN), "sampling") == []
    shown = explained("SELECT count(*) FROM customer", sampling_rate=0.1)
    assert facts(shown, "sampling") == [shown.sampling]


def test_a_sample_along_a_join_tree_shows_what_is_read_of_each_table_and_says_that_no_join_is_made() -> None:
    paths = "SELECT count(*) FROM knows a JOIN knows b ON a.dst = b.src"
    shown = explained(paths, sampling_rate=0.1)
    assert shown.rewritten_sql.count(";\n\n") == 1
    assert "JOIN" not in shown.rewritten_sql
    (reason,) = facts(shown, "sampling")
    assert "without making the join" in reason
    circle = explained(f"{paths} JOIN knows c ON c.src = a.src AND c.dst = b.dst", sampling_rate=0.1)
    (reason,) = facts(circle, "sampling")
    assert "counts equal tuples" in reason and circle.rewritten_sql.count("JOIN") == 2


def test_a_sample_of_one_row_per_person_is_advised_to_save_time_only() -> None:
    (advice,) = facts(explained("SELECT count(*) FROM customer", sampling_rate=0.1), "sampling of")
    assert advice == (
        "count(*): the sampling error is at most 5.88 times the root of the number of rows (95%); "
        "the sample only saves time, as its noise is no smaller than that of all rows"
    )
    assert facts(explained("SELECT count(*) FROM customer"), "sampling of") == []
    assert facts(explained("SELECT count(*) FROM lineitem", sampling_rate=0.1), "sampling of") == []


def test_explain_answers_in_rows_of_text_and_charges_nothing() -> None:
    budget = Budget(1.0, 0.0, 0.5, 0.0)
    answer = explanation_answer(explained(LINES), "text", budget, "r")
    lines = [str(line) for (line,) in answer.rows]
    assert [(column.name, column.type) for column in answer.columns] == [("QUERY PLAN", "text")]
    assert (answer.epsilon, answer.delta, answer.budget, answer.covers) == (0.0, 0.0, budget, "exact")
    assert "would charge: epsilon 1" in lines
    assert any(line.startswith("noise of count(*): 95% within") for line in lines)
    assert not any("\n" in line for line in lines)
    assert len(answer.intervals) == len(answer.taus) == len(lines)
    assert answer.n_bytes > sum(map(len, lines))


def test_explain_in_json_answers_one_document() -> None:
    shown = explained("SELECT count(*) FROM customer")
    ((document,),) = explanation_answer(shown, "json", Budget(1.0, 0.0, 1.0, 0.0), "r").rows
    (found,) = json.loads(str(document), parse_constant=lambda name: pytest.fail(f"JSON has no {name}"))
    assert (found["Plan"]["Node Type"], found["Plan"]["mechanism"]) == ("Noisegate", shown.mechanism)
    assert found["Plan"]["columns"] == [{"name": "count", "type": "int8"}]


def test_an_average_s_error_is_told_in_parts_of_itself() -> None:
    shown = explained("SELECT avg(l_quantity), sum(l_quantity) FROM lineitem")
    assert "Expect avg within 0.63% of its value" in explained("SELECT avg(l_quantity) FROM lineitem").reason
    assert "Expect avg within" in shown.reason and "Expect sum" not in shown.reason
    assert "Expect" not in explained("SELECT median(l_quantity) FROM lineitem").reason


@pytest.mark.parametrize("value", ["abs(avg(l_tax))", "-avg(l_tax)", "CASE WHEN avg(l_tax) > 0.1 THEN 1 ELSE 0 END"])
def test_a_value_computed_from_an_average_is_explained(value: str) -> None:
    assert "Expect" not in explained(f"SELECT {value} FROM lineitem").reason


def test_the_centre_of_an_average_has_no_line_of_noise() -> None:
    """What a centre leaves is measured, so that its noise is in no value."""
    shown = explained("SELECT avg(l_quantity) FROM lineitem")
    lines = [str(line) for (line,) in explanation_answer(shown, "text", Budget(1.0, 0.0, 0.5, 0.0), "r").rows]
    told = [line for line in lines if line.startswith("noise of")]
    assert len(shown.expected_noise) == 2, "of the sum around the centre, and of the count"
    assert len(told) >= 2 and not any("within 0 " in line or line.endswith("within 0") for line in told)


def test_that_no_unit_leaves_the_database_is_said_only_where_it_is_so() -> None:
    counted = "The database adds up contributions"
    assert counted in explained("SELECT count(*) FROM lineitem").reason
    assert counted not in explained("SELECT count(*), count(distinct l_suppkey) FROM lineitem").reason
    assert counted not in explained("SELECT avg(l_quantity) FROM lineitem").reason


def test_lines_are_as_wide_as_a_terminal_and_what_stands_in_quotes_is_whole() -> None:
    long = " AND ".join(f"l_comment <> 'no such text {number}'" for number in range(12))
    shown = explained(f"SELECT count(*) FROM lineitem WHERE {long}")
    budget = Budget(epsilon=1.0, epsilon_left=1.0, delta=0.0, delta_left=0.0)
    lines = [str(line) for (line,) in explanation_answer(shown, "text", budget, "id").rows]
    assert max(map(len, lines)) <= 100
    text = "\n".join(lines)
    assert all(f"'no such text {number}'" in text for number in range(12))
    assert " ".join(shown.rewritten_sql.split()) in " ".join(text.split()), "nothing is lost, nothing is added"
    assert list(broken("'" + "x " * 80 + "'")) == ["'" + "x " * 80 + "'"]
    assert list(broken("a" * 150 + " b")) == ["a" * 150, "  b"]
