"""L0 by dependency or by the custodian's rule; which groups are selected, and what that costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.errors import InvalidSetting, SensitivityUnbounded
from planner.group_selection import GroupReach, group_reach, group_selection, is_selected
from planner.plan import GroupDomain
from planner.policy import ColumnPolicy, Policy
from planner.provenance import OwnerPosition
from planner.rewrite import rewrite
from tests.support.planning import demo_policy, planned

PUBLIC = GroupDomain((0,), ("a", "b"), None, "declared")
FOUND = GroupDomain((0,), None, None, "found")
OWNER = OwnerPosition("customer", (("c", "c_custkey"),))
SEGMENTS = "SELECT c_mktsegment, count(*) FROM customer GROUP BY c_mktsegment"
PRIORITIES = "SELECT o_orderpriority, count(*), sum(o_totalprice) FROM orders GROUP BY o_orderpriority"


def _opened(table: str, column: str, **settings: object) -> Policy:
    """The demonstration's policy with a delta and one column open to discovery."""
    policy = demo_policy()
    declared = policy.tables[table]
    columns = {**declared.columns, column: replace(policy.column(table, column), discover=True)}
    tables = {**policy.tables, table: replace(declared, columns=columns)}
    return replace(policy, delta=1e-6, tables=tables, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("determined", "rule", "values", "reach"),
    [
        (None, None, 2, GroupReach(None)),
        (1, 5, None, GroupReach(1)),
        (10, 5, None, GroupReach(10)),
        (11, 5, None, GroupReach(10, 5)),
        (None, 5, None, GroupReach(10, 5)),
        (None, 5, 11, GroupReach(10, 5)),
        (None, 5, 10, GroupReach(10)),
        (11, 5, 7, GroupReach(7)),
        (1, 5, 7, GroupReach(1)),
        (None, 5, 0, GroupReach(1)),
    ],
)
def test_the_rule_counts_twice_and_yields_to_less(
    determined: int | None, rule: int | None, values: int | None, reach: GroupReach
) -> None:
    policy = replace(demo_policy(), groups_per_unit={} if rule is None else {"customer": rule})
    listed = replace(PUBLIC, values=None if values is None else tuple(map(str, range(values))))
    assert group_reach(determined, [OWNER], [listed], policy) == reach


def test_the_groups_of_several_keys_are_their_combinations() -> None:
    policy = replace(demo_policy(), groups_per_unit={"customer": 2})
    assert group_reach(None, [OWNER], [PUBLIC, PUBLIC], policy) == GroupReach(4)
    assert group_reach(None, [OWNER], [PUBLIC, PUBLIC, PUBLIC], policy) == GroupReach(4, 2)
    assert group_reach(None, [OWNER], [PUBLIC, FOUND], policy) == GroupReach(4, 2)


@pytest.mark.parametrize(("mechanism", "rule"), [("group_lp", 1), ("l2_clip", None)])
def test_a_mechanism_that_bounds_all_groups_together_follows_no_rule(mechanism: str, rule: int | None) -> None:
    policy = demo_policy()
    statuses = replace(policy.tables["orders"], columns={"o_orderstatus": ColumnPolicy(domain=("F", "O", "P"))})
    tables = {**policy.tables, "orders": statuses}
    policy = replace(policy, tables=tables, delta=1e-6, groups_per_unit={"customer": 1})
    sql = "SELECT o_orderstatus, count(*) FROM orders GROUP BY 1"
    plan = planned(sql, policy=policy, mechanism=mechanism, delta=1e-6)
    assert plan.group_rule == rule


def test_the_rule_is_for_one_owner() -> None:
    policy = replace(demo_policy(), groups_per_unit={"customer": 2})
    other = replace(OWNER, columns=(("d", "c_custkey"),))
    assert group_reach(None, [OWNER, other], [PUBLIC], policy) == GroupReach(None)
    assert group_reach(None, [replace(OWNER, relation="supplier")], [PUBLIC], policy) == GroupReach(None)


def test_without_a_reason_nothing_is_selected() -> None:
    assert not is_selected([PUBLIC], demo_policy())
    assert group_selection([PUBLIC], GroupReach(None), demo_policy(), 1.0, 1e-6, 1) is None


def test_public_keys_cost_no_delta() -> None:
    policy = replace(demo_policy(), minimum_frequency=5)
    selection = group_selection([PUBLIC], GroupReach(None), policy, 0.5, 1e-6, 2)
    assert selection is not None
    assert (selection.epsilon, selection.delta, selection.minimum) == (0.5, 0.0, 5)


def test_found_keys_cost_one_and_need_a_bound() -> None:
    selection = group_selection([PUBLIC, FOUND], GroupReach(3), demo_policy(), 0.5, 1e-6, 1)
    assert selection is not None
    assert (selection.delta, selection.minimum) == (1e-6, None)
    with pytest.raises(InvalidSetting, match="cost a delta"):
        group_selection([FOUND], GroupReach(3), demo_policy(), 0.5, 0.0, 1)
    with pytest.raises(SensitivityUnbounded) as one:
        group_selection([FOUND], GroupReach(None), demo_policy(), 0.5, 1e-6, 1)
    assert "[groups_per_unit]" in str(one.value.hint)
    with pytest.raises(SensitivityUnbounded) as several:
        group_selection([FOUND], GroupReach(None), demo_policy(), 0.5, 1e-6, 2)
    assert "[groups_per_unit]" not in str(several.value.hint)


def test_a_column_is_found_only_where_the_policy_opens_it() -> None:
    with pytest.raises(SensitivityUnbounded) as refused:
        planned(SEGMENTS, policy=replace(demo_policy(), delta=1e-6))
    assert "discover = true" in str(refused.value.hint)
    plan = planned(SEGMENTS, policy=_opened("customer", "c_mktsegment"), epsilon=1.0)
    assert plan.domains[0].is_discovered
    assert plan.selection is not None
    assert plan.selection.epsilon + plan.releases[0].epsilon == plan.epsilon == 1.0
    assert plan.selection.delta == plan.delta == 1e-6
    assert (plan.mechanism, plan.release_delta, plan.groups_per_unit) == ("group_lp", 0.0, 1)


def test_a_known_domain_is_better_than_a_found_one() -> None:
    sql = "SELECT c_mktsegment, count(*) FROM customer WHERE c_mktsegment IN ('A', 'B') GROUP BY c_mktsegment"
    plan = planned(sql, policy=_opened("customer", "c_mktsegment"))
    assert not plan.domains[0].is_discovered
    assert (plan.selection, plan.delta) == (None, 0.0)


def test_the_statement_counts_tuples_and_leaves_out_null_keys() -> None:
    policy = _opened("orders", "o_orderpriority", groups_per_unit={"customer": 3})
    plan = planned(PRIORITIES.replace(", sum(o_totalprice)", ""), policy=policy)
    query = rewrite(plan)
    assert query.join is not None
    assert query.n_releases == 2
    assert '"w1"' in query.join
    assert query.discovered == (0,)
    assert (plan.groups_per_unit, plan.group_rule) == (6, 3)
    assert plan.selection is not None
    assert plan.selection.delta + plan.release_delta == plan.delta == 1e-6


def test_a_found_key_is_not_null_unless_null_is_a_group() -> None:
    sql = "SELECT upper(c_mktsegment), count(*) FROM customer GROUP BY 1"
    query = rewrite(planned(sql, policy=_opened("customer", "c_mktsegment")))
    assert query.join is not None
    assert query.join.count("IS NOT NULL") == 1
