"""Which groups are selected, and what that costs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlglot import exp

from planner.errors import SensitivityUnbounded
from planner.plan import GroupDomain
from planner.planning import person_tables
from planner.planning.mechanism_choice import group_selection, is_selected
from planner.policy.policy import ColumnPolicy, Policy
from planner.rewriting.rewrite import rewrite
from tests.support.planning import demo_policy, planned

PUBLIC = GroupDomain((0,), ("a", "b"), None, "declared")
FOUND = GroupDomain((0,), None, None, "found")
SEGMENTS = "SELECT c_mktsegment, count(*) FROM customer GROUP BY c_mktsegment"
NEXT = (
    "SELECT k, count(*) FROM (SELECT lead({}) OVER (PARTITION BY o_custkey ORDER BY o_orderdate) AS k FROM orders) q"
    " GROUP BY k"
)
PRIORITIES = "SELECT o_orderpriority, count(*), sum(o_totalprice) FROM orders GROUP BY o_orderpriority"


def _opened(table: str, column: str, **settings: object) -> Policy:
    """The demonstration's policy with a delta and one column open to discovery."""
    policy = demo_policy()
    declared = policy.tables[table]
    columns = {**declared.columns, column: replace(policy.column(table, column), discover=True)}
    tables = {**policy.tables, table: replace(declared, columns=columns)}
    return replace(policy, delta=1e-6, tables=tables, **settings)  # type: ignore[arg-type]


def test_a_mechanism_that_bounds_all_groups_together_follows_no_rule() -> None:
    for mechanism, rule in (("group_lp", 1), ("l2_clip", None)):
        policy = demo_policy()
        statuses = replace(policy.tables["orders"], columns={"o_orderstatus": ColumnPolicy(domain=("F", "O", "P"))})
        tables = {**policy.tables, "orders": statuses}
        policy = replace(policy, tables=tables, delta=1e-6, groups_per_unit={"customer": 1})
        sql = "SELECT o_orderstatus, count(*) FROM orders GROUP BY 1"
        plan = planned(sql, policy=policy, mechanism=mechanism, delta=1e-6)
        assert plan.bounds.rule == rule


def test_without_a_reason_nothing_is_selected() -> None:
    assert not is_selected([PUBLIC], demo_policy())
    assert group_selection([PUBLIC], None, demo_policy(), 1.0, 1e-6, shared=False) is None


def test_public_keys_cost_no_delta() -> None:
    policy = replace(demo_policy(), minimum_frequency=5)
    selection = group_selection([PUBLIC], None, policy, 0.5, 1e-6, shared=True)
    assert selection is not None
    assert (selection.epsilon, selection.delta, selection.minimum) == (0.5, 0.0, 5)


def test_a_blanket_discover_opens_no_column_that_names_rows_or_people() -> None:
    """Nor what a per-person subquery shows of it; a clerk names nobody."""
    policy = replace(demo_policy(), delta=1e-6, discover=True)
    shown = "SELECT k, count(*) FROM (SELECT {} FROM orders GROUP BY o_custkey) AS q GROUP BY k"
    first = "(SELECT DISTINCT ON (o_custkey) o_custkey, {} AS k FROM orders ORDER BY o_custkey, o_orderkey)"
    for column in ("o_orderkey", "o_custkey"):
        for sql in (
            shown.format(f"max({column}) AS k"),
            f"SELECT k, count(*) FROM {first.format(column)} q GROUP BY k",
            NEXT.format(column),
        ):
            with pytest.raises(SensitivityUnbounded):
                planned(sql, policy=policy)
    for sql in (f"SELECT k, count(*) FROM {first.format('o_clerk')} q GROUP BY k", NEXT.format("o_clerk")):
        assert planned(sql, policy=policy).selection is not None


def test_a_window_shows_its_argument_and_not_what_chooses_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = _opened("orders", "o_clerk")
    assert planned(NEXT.format("o_clerk"), policy=policy).selection is not None
    with pytest.raises(SensitivityUnbounded):
        planned(NEXT.format("o_comment"), policy=policy)
    monkeypatch.setattr(person_tables, "_shown_of", lambda _: exp.Null())
    assert planned(NEXT.format("o_comment"), policy=policy).selection is not None, "the mutant is not caught"


def test_found_keys_cost_a_delta() -> None:
    selection = group_selection([PUBLIC, FOUND], 3, demo_policy(), 0.5, 1e-6, shared=False)
    assert selection is not None
    assert (selection.delta, selection.minimum, selection.votes) == (1e-6, None, False)
    policy = replace(_opened("customer", "c_mktsegment"), delta=0.0)
    with pytest.raises(SensitivityUnbounded, match="needs a delta") as refused:
        planned(SEGMENTS, policy=policy)
    assert refused.value.position == SEGMENTS.index("GROUP BY c") + len("GROUP BY c")
    assert "list its values in WHERE" in str(refused.value.hint)


def test_units_of_any_number_of_groups_vote_where_each_row_is_one_units() -> None:
    selection = group_selection([FOUND], None, demo_policy(), 0.5, 1e-6, shared=False)
    assert selection is not None
    assert (selection.votes, selection.delta) == (True, 1e-6)
    public = group_selection([PUBLIC], None, replace(demo_policy(), minimum_frequency=5), 0.5, 1e-6, shared=False)
    assert public is not None and not public.votes
    with pytest.raises(SensitivityUnbounded, match="several privacy units share each row") as several:
        group_selection([FOUND], None, demo_policy(), 0.5, 1e-6, shared=True)
    assert "list the values in WHERE" in str(several.value.hint)
    assert "[groups_per_unit]" not in str(several.value.hint)


def test_a_column_is_found_only_where_the_policy_opens_it() -> None:
    with pytest.raises(SensitivityUnbounded) as refused:
        planned(SEGMENTS, policy=replace(demo_policy(), delta=1e-6))
    assert "discover = true" in str(refused.value.hint)
    plan = planned(SEGMENTS, policy=_opened("customer", "c_mktsegment"), epsilon=1.0)
    assert plan.domains[0].selects_partitions
    assert plan.selection is not None
    assert plan.selection.epsilon + plan.releases[0].epsilon == plan.epsilon == 1.0
    assert plan.selection.delta == plan.delta == 1e-6
    assert (plan.mechanism, plan.release_delta, plan.bounds.groups) == ("group_lp", 0.0, 1)


def test_a_known_domain_is_better_than_a_found_one() -> None:
    sql = "SELECT c_mktsegment, count(*) FROM customer WHERE c_mktsegment IN ('A', 'B') GROUP BY c_mktsegment"
    plan = planned(sql, policy=_opened("customer", "c_mktsegment"))
    assert not plan.domains[0].selects_partitions
    assert (plan.selection, plan.delta) == (None, 0.0)


def test_the_statement_counts_tuples_and_leaves_out_null_keys() -> None:
    policy = _opened("orders", "o_orderpriority")
    plan = planned(PRIORITIES.replace(", sum(o_totalprice)", ""), policy=policy)
    query = rewrite(plan)
    assert query.join is not None
    assert query.n_releases == 2
    assert '"w1"' in query.join
    assert query.discovered == (0,)
    assert plan.selection is not None
    assert plan.selection.delta + plan.release_delta == plan.delta == 1e-6


def test_a_rule_has_no_part_in_finding_keys() -> None:
    """Where it leaves rows out of the values, all of them still vote."""
    for groups, mechanism, reach in [
        ({}, "l2_clip", (None, None)), ({"customer": 3}, "l2_clip", (None, None)), ({}, "group_lp", (None, None)),
        ({"customer": 3}, "group_lp", (3, 3)),
    ]:  # fmt: skip
        policy = _opened("orders", "o_orderpriority", groups_per_unit=groups)
        plan = planned(PRIORITIES.replace(", sum(o_totalprice)", ""), policy=policy, mechanism=mechanism)
        assert (plan.bounds.groups, plan.bounds.rule) == reach
        assert plan.selection is not None and plan.selection.votes


def test_without_a_rule_found_groups_are_bounded_all_together() -> None:
    plan = planned(PRIORITIES.replace(", sum(o_totalprice)", ""), policy=_opened("orders", "o_orderpriority"))
    assert (plan.mechanism, plan.bounds.rule) == ("l2_clip", None)


def test_a_found_key_is_not_null_unless_null_is_a_group() -> None:
    sql = "SELECT upper(c_mktsegment), count(*) FROM customer GROUP BY 1"
    query = rewrite(planned(sql, policy=_opened("customer", "c_mktsegment")))
    assert query.join is not None
    assert query.join.count("IS NOT NULL") == 1
