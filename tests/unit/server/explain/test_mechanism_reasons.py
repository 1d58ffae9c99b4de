"""What EXPLAIN says of mechanisms for several groups, and of groups that are not all shown."""

from __future__ import annotations

from dataclasses import replace

from planner.planning.make_plan import make_plan
from planner.policy.policy import ColumnPolicy, Policy
from planner.rewriting.rewrite import rewrite
from planner.sensitivity.provenance import provenance
from server.explain.explanation import explanation
from server.explain.explanation_text import explanation_facts
from server.explain.mechanism_reasons import selection_rule
from server.query import Explanation
from server.workers.measure import plan_measurements
from tests.support.planning import bound, demo_policy
from tests.support.tpch_schema import tpch_schema

PER_STATUS = "SELECT o_orderstatus, count(*), count(distinct o_clerk) FROM orders GROUP BY 1"
PAIRS = "SELECT l_linestatus, count(*) FROM lineitem JOIN supplier ON l_suppkey = s_suppkey GROUP BY 1"
SEGMENTS = "SELECT c_mktsegment, count(*) FROM customer GROUP BY 1"


def _policy(**settings: object) -> Policy:
    """The demonstration's, with domains, a column open to discovery, and a delta."""
    declared = {
        "orders": {
            "o_orderstatus": ColumnPolicy(domain=("F", "O", "P")),
            "o_orderpriority": ColumnPolicy(discover=True),
        },
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
    shown = _explained(PER_STATUS, _policy(), 3, "l2_clip")
    assert [(one.mechanism, one.epsilon, one.delta) for one in shown.mechanisms] == [
        ("l2_clip", 0.5, 1e-7),
        ("gem", 0.5, 0.0),
    ]
    assert shown.delta == 1e-7
    assert "clipped as one vector" in shown.groups_reason
    assert "epsilon 0.5, delta 1e-07" in _facts(shown, "release")[0]
    assert len(shown.expected_noise) == 2


def test_the_noise_of_many_groups_has_its_reason() -> None:
    """Two declared groups are too few for Gaussian noise; the number of nations is read later."""
    nations = PAIRS.replace("l_linestatus", "n_name").replace(
        " GROUP", " JOIN nation ON s_nationkey = n_nationkey GROUP"
    )
    cases: list[tuple[str, str | None, float | None, str]] = [
        (nations, None, None, "Laplace or Gaussian"),
        (PAIRS, None, None, "1/2 of its release's epsilon"),
        (PAIRS, None, 0.0, "1/2 of its release's epsilon"),
        (PAIRS, "pmsja", None, "one vector"),
    ]
    for sql, mechanism, delta, words in cases:
        assert words in _explained(sql, _policy(), 2, mechanism, delta).groups_reason, mechanism


def test_the_administrators_rule_is_told() -> None:
    shown = _explained(PER_STATUS, _policy(groups_per_unit={"customer": 1}), 3, "group_lp")
    assert shown.groups_per_unit == 1
    assert "the policy counts a unit's rows in at most 1 group" in shown.groups_reason


def test_a_rule_that_counts_all_groups_is_not_told() -> None:
    """Of declared values the planner knows it; of a public table's EXPLAIN, which has read them."""
    for rule, groups in [(3, 3), (4, 3)]:
        shown = _explained(PER_STATUS, _policy(groups_per_unit={"customer": rule}), groups, "group_lp", delta=0.0)
        assert shown.groups_per_unit == groups, rule
        assert "one unit may reach every group" in shown.groups_reason, rule
        assert f"1/{groups} of its release's epsilon" in shown.groups_reason, rule
        by_table = "SELECT n_name, count(*) FROM orders JOIN nation ON o_orderkey % 25 = n_nationkey GROUP BY 1"
        table = _explained(by_table, _policy(groups_per_unit={"customer": rule}), 4, "group_lp", delta=0.0)
        assert table.groups_per_unit == min(4, rule), rule
        assert ("one unit may reach every group" in table.groups_reason) == (rule >= 4), rule


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
    assert _facts(shown, "groups") == ["as many as are selected"]
    assert "partition selection" in shown.group_sources[0][1]


PRIORITIES = "SELECT o_orderpriority, count(*) FROM orders GROUP BY 1"


def test_what_voting_costs_and_where_a_unit_votes_is_told() -> None:
    shown = _explained(PRIORITIES, _policy(), 0)
    first, second = shown.mechanisms
    assert (first.release, first.mechanism, first.epsilon, first.delta) == (
        "votes of privacy units",
        "vote_threshold",
        0.5,
        5e-8,
    )
    assert (second.mechanism, second.epsilon, second.delta) == ("l2_clip", 0.5, 5e-8)
    assert shown.selection is not None
    assert "noisy number of votes is at least 66.6574 (noise of scale 10.14)" in shown.selection
    assert "1 / sqrt(k) of a vote in each and votes in at most 1,000 groups" in shown.selection
    assert "with probability at most 5e-08" in shown.selection
    assert _facts(shown, "groups per person") == [
        "as many as there are: a unit's key does not determine the group keys, so one unit may reach every group; "
        "what it adds to all of them together is clipped as one vector"
    ]
    (_, least), *_ = shown.expected_noise[0][1]
    assert least > 0


def test_groups_that_share_epsilon_by_their_number_have_it_told() -> None:
    shown = _explained(PRIORITIES, _policy(), 0, "group_lp")
    assert "with n groups it is up to n times as large" in shown.groups_reason
    values = _explained(PRIORITIES.replace("count(*)", "count(*), count(DISTINCT o_clerk)"), _policy(), 0)
    assert "with n groups it is up to n times as large" in values.groups_reason


def test_a_small_epsilon_has_pure_votes() -> None:
    policy = _policy()
    policy = replace(policy, delta=1e-15, side_channels=replace(policy.side_channels, min_epsilon=1e-4))
    plan = make_plan(
        bound(PRIORITIES, policy=policy), tpch_schema(), policy, epsilon=1e-4, delta=None, mechanism=None
    )
    told = selection_rule(plan, plan_measurements(plan, policy), 1)
    assert told is not None and "1 / k of a vote" in told


def test_a_minimum_frequency_is_told() -> None:
    shown = _explained(PAIRS, _policy(minimum_frequency=7), 2, delta=0.0)
    assert shown.selection is not None
    assert "at least 7" in shown.selection
    assert "withholds groups below 7" in shown.selection
    assert "no unit occurs twice" in shown.selection  # two owners
    assert shown.delta == 0.0


def test_without_a_selection_nothing_is_said() -> None:
    assert _facts(_explained(PAIRS, _policy(), 2), "groups shown") == []


def test_a_sample_of_groups_is_advised_about() -> None:
    cases: list[float | None] = [None, 0.0]
    for delta in cases:
        sql = "SELECT c_nationkey < 3, count(*) FROM customer GROUP BY 1"
        shown = _explained(sql, _policy(), 2, delta=delta, sampling_rate=0.25)
        ((label, advice),) = shown.sampling_advice
        assert label == "count(*)", delta
        assert "sampling error is at most" in advice, delta
