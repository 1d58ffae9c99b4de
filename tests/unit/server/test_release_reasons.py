"""What EXPLAIN says of mechanisms for several groups, and of groups that are not all shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.planner import make_plan
from planner.policy import ColumnPolicy, Policy
from planner.provenance import provenance
from planner.rewrite import rewrite
from server.explanation import explanation
from server.explanation_text import explanation_facts
from server.http.explanation_body import ExplanationBody
from server.measuring import plan_measurements
from server.query import Explanation
from tests.support.planning import bound, demo_policy
from tests.support.tpch_schema import tpch_schema

PER_STATUS = "SELECT o_orderstatus, count(*), count(distinct o_clerk) FROM orders GROUP BY 1"
PAIRS = "SELECT l_linestatus, count(*) FROM lineitem JOIN supplier ON l_suppkey = s_suppkey GROUP BY 1"
SEGMENTS = "SELECT c_mktsegment, count(*) FROM customer GROUP BY 1"


def _policy(**settings: object) -> Policy:
    """The demonstration's, with domains, a column open to discovery, and a delta."""
    declared = {
        "orders": {"o_orderstatus": ColumnPolicy(domain=("F", "O", "P"))},
        "lineitem": {"l_linestatus": ColumnPolicy(domain=("F", "O"))},
        "customer": {"c_mktsegment": ColumnPolicy(discover=True)},
    }
    policy = demo_policy()
    tables = {
        **policy.tables,
        **{name: replace(policy.tables[name], columns=more) for name, more in declared.items()},
    }
    return replace(policy, tables=tables, delta=1e-7, **settings)  # type: ignore[arg-type]


def _explained(
    sql: str,
    policy: Policy,
    n_groups: int,
    mechanism: str | None = None,
    delta: float | None = None,
    sampling_rate: float | None = None,
) -> Explanation:
    schema, query = tpch_schema(), bound(sql, policy=policy)
    plan = make_plan(
        query, schema, policy, epsilon=1.0, delta=delta, mechanism=mechanism, sampling_rate=sampling_rate
    )
    found, whole = provenance(query, schema, policy), plan_measurements(replace(plan, sampling=None), policy)
    return explanation(query, found, plan, rewrite(plan), plan_measurements(plan, policy), n_groups, whole)


def _facts(shown: Explanation, name: str) -> list[str]:
    return [value for fact, value in explanation_facts(shown) if fact == name]


def test_releases_say_what_they_spend() -> None:
    shown = _explained(PER_STATUS, _policy(), 3)
    assert [(one.mechanism, one.epsilon, one.delta) for one in shown.mechanisms] == [
        ("l2_clip", 0.5, 1e-7),
        ("gem", 0.5, 0.0),
    ]
    assert shown.delta == 1e-7
    assert "bounded as one vector" in shown.groups_reason
    assert "epsilon 0.5, delta 1e-07" in _facts(shown, "release")[0]
    assert len(shown.expected_noise) == 2


@pytest.mark.parametrize(
    ("mechanism", "delta", "words"),
    [(None, None, "zero-concentrated"), (None, 0.0, "1/2 of its release's epsilon"), ("pmsja", None, "one vector")],
)
def test_the_noise_of_many_groups_has_its_reason(mechanism: str | None, delta: float | None, words: str) -> None:
    assert words in _explained(PAIRS, _policy(), 2, mechanism, delta).groups_reason


def test_the_custodians_rule_is_told() -> None:
    shown = _explained(PER_STATUS, _policy(groups_per_unit={"customer": 1}), 3, "group_lp")
    assert shown.groups_per_unit == 2
    assert "the policy counts a unit's rows in 1 group at most" in shown.groups_reason


@pytest.mark.parametrize(("rule", "groups"), [(2, 3), (3, 3)])
def test_a_rule_that_counts_all_groups_is_not_told(rule: int, groups: int) -> None:
    """Of declared values the planner knows it; of a public table's EXPLAIN, which has read them."""
    shown = _explained(PER_STATUS, _policy(groups_per_unit={"customer": rule}), groups, "group_lp", delta=0.0)
    assert shown.groups_per_unit == groups
    assert "one unit may reach every group" in shown.groups_reason
    assert f"1/{groups} of its release's epsilon" in shown.groups_reason
    by_table = "SELECT n_name, count(*) FROM orders JOIN nation ON o_orderkey % 25 = n_nationkey GROUP BY 1"
    table = _explained(by_table, _policy(groups_per_unit={"customer": rule}), 4, "group_lp", delta=0.0)
    assert table.groups_per_unit == min(4, 2 * rule)
    assert "one unit may reach every group" in table.groups_reason


def test_found_keys_have_no_number_and_a_threshold() -> None:
    shown = _explained(SEGMENTS, _policy(), 0)
    assert shown.n_groups is None
    assert [(one.release, one.mechanism) for one in shown.mechanisms] == [
        ("number of privacy units", "group_threshold"),
        ("count(*)", "group_lp"),
    ]
    assert shown.selection is not None
    assert "at least 31.8" in shown.selection  # 1 + 2 ln(1 / (2 delta))
    assert "1e-07" in shown.selection
    assert _facts(shown, "groups") == ["as many as are found"]
    assert "found among the private rows" in shown.group_sources[0][1]
    assert ExplanationBody.of(shown).n_groups is None


def test_a_minimum_frequency_is_told() -> None:
    shown = _explained(PAIRS, _policy(minimum_frequency=7), 2, delta=0.0)
    assert shown.selection is not None
    assert "at least 7" in shown.selection
    assert "withholds groups below 7" in shown.selection
    assert "nobody stands twice" in shown.selection  # two owners
    assert shown.delta == 0.0


def test_without_a_selection_nothing_is_said() -> None:
    assert _facts(_explained(PAIRS, _policy(), 2), "groups shown") == []


@pytest.mark.parametrize("delta", [None, 0.0])
def test_a_sample_of_groups_is_advised_about(delta: float | None) -> None:
    sql = "SELECT c_nationkey < 3, count(*) FROM customer GROUP BY 1"
    shown = _explained(sql, _policy(), 2, delta=delta, sampling_rate=0.25)
    ((label, advice),) = shown.sampling_advice
    assert label == "count(*)"
    assert "off by" in advice
