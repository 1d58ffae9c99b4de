from __future__ import annotations

import pytest

from planner.errors import InvalidSetting, SensitivityUnbounded, UnsupportedSQL
from planner.policy.policy import parse_policy
from planner.released_expression import Apply, ReleasedValue
from planner.rewriting.rewrite import rewrite
from tests.support.planning import DEMO_POLICY, demo_policy, join_sql, planned, rewritten, unbounded
from tests.support.tpch_schema import tpch_schema

Q5_JOIN = (
    "FROM customer, orders, lineitem, supplier WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey "
    "AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey"
)
REVENUE = "sum(l_extendedprice * (1 - l_discount))"
TRIANGLES = (
    "SELECT count(*) FROM knows k1 JOIN knows k2 ON k1.dst = k2.src "
    "JOIN knows k3 ON k3.src = k1.src AND k3.dst = k2.dst"
)
CUSTOMERS = "FROM lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey"

# query, relations of the owner positions, groups_per_unit
DEMO = [
    ("SELECT count(*) FROM orders", ["customer"], 1), ("SELECT count(*) FROM lineitem", ["customer"], 1),
    (f"SELECT {REVENUE} {CUSTOMERS}", ["customer"], 1), (f"SELECT {REVENUE} {Q5_JOIN}", ["customer", "supplier"], 1),
    ("SELECT count(*) FROM knows k JOIN customer a ON k.src = a.c_custkey JOIN customer b ON k.dst = b.c_custkey",
     ["customer", "customer"], 1),
    (TRIANGLES, ["customer"] * 3, 1),
    (f"SELECT n_name, {REVENUE} {CUSTOMERS} JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name", ["customer"],
     1),
    (f"SELECT c_nationkey, {REVENUE} {Q5_JOIN} GROUP BY c_nationkey", ["customer", "supplier"], 1),
    ("SELECT count(*) FROM lineitem, supplier WHERE l_suppkey = s_suppkey", ["customer", "supplier"], 1),
    ("SELECT count(*) FROM lineitem CROSS JOIN supplier", ["customer", "supplier"], 1),
    ("SELECT count(*) FROM partsupp", ["supplier"], 1),
    ("SELECT count(*) FROM orders a JOIN orders b USING (o_orderkey)", ["customer"], 1),
    ("SELECT count(*) FROM lineitem a JOIN lineitem b ON a.l_orderkey = b.l_orderkey", ["customer"], 1),
    ("SELECT count(*) FROM knows a JOIN knows b USING (src)", ["customer"] * 3, 1),
    ("SELECT count(*) FROM knows a JOIN knows b ON a.src = b.src OR a.dst = b.dst", ["customer"] * 4, 1),
    ("SELECT count(*) FROM customer JOIN supplier ON c_custkey = s_suppkey", ["customer", "supplier"], 1),
]  # fmt: skip


def test_owners_of_a_join_tuple() -> None:
    for sql, relations, groups in DEMO:
        plan = planned(sql, policy=unbounded())
        assert [owner.relation for owner in plan.owners] == relations
        assert plan.bounds.groups == groups
        assert [plan.gap(release) for release in plan.releases] == [0.0 if len(relations) <= 2 else 0.01]
        assert list(rewrite(plan).relations) == relations


def test_one_completion_serves_two_lineitems_of_an_order() -> None:
    sql = "SELECT count(*) FROM lineitem a JOIN lineitem b ON a.l_orderkey = b.l_orderkey"
    assert join_sql(sql).count("LEFT JOIN") == 1
    assert join_sql(sql.replace("=", "<"), policy=unbounded()).count("LEFT JOIN") == 2


def test_a_joined_parent_needs_no_completion() -> None:
    assert "LEFT JOIN" not in join_sql(f"SELECT count(*) {CUSTOMERS}")
    more = "SELECT count(*) FROM lineitem, orders WHERE l_orderkey > o_orderkey"
    assert "LEFT JOIN" in join_sql(more, policy=unbounded())


def test_sum_bounds_follow_from_ranges() -> None:
    plan = planned(
        "SELECT sum(l_quantity - 1000 * l_tax) AS a, sum(-l_tax), count(*), sum(l_quantity) FROM lineitem",
        epsilon=2.0,
    )
    assert [(release.most, release.epsilon) for release in plan.releases] == [
        (80.0, 0.5),
        (0.08, 0.5),
        (1.0, 0.5),
        (50.0, 0.5),
    ]
    assert [output.expression for output in plan.display.outputs] == [
        ReleasedValue(0),
        Apply("negate", (ReleasedValue(1),)),
        ReleasedValue(2),
        ReleasedValue(3),
    ]
    assert [release.less is None for release in plan.releases] == [False, True, True, True]
    assert [(output.name, output.type) for output in plan.display.outputs] == [
        ("a", "float8"),
        ("sum", "float8"),
        ("count", "int8"),
        ("sum", "float8"),
    ]


def test_equal_aggregates_are_released_and_charged_once() -> None:
    plan = planned("SELECT count(*), count(1), sum(l_tax), sum(l_tax) FROM lineitem")
    assert [release.epsilon for release in plan.releases] == [0.5, 0.5]


def test_what_the_policy_lacks_is_named() -> None:
    for sql, names in [
        ("SELECT sum(l_linenumber * l_tax + l_orderkey) FROM lineitem",
         "lineitem.l_linenumber, lineitem.l_orderkey"),
        ("SELECT o_orderstatus, count(*) FROM orders GROUP BY 1", "orders.o_orderstatus"),
    ]:  # fmt: skip
        with pytest.raises(SensitivityUnbounded, match=names):
            planned(sql)


def test_what_has_no_plan_is_refused() -> None:
    for sql, word in [
        ("SELECT count(*) FROM nation", "public"), ("SELECT sum(o_orderdate) FROM orders", "not a number"),
        ("SELECT sum(l_tax > 1) FROM lineitem", "not a number"),
        ("SELECT sum(sum(l_tax)) FROM lineitem", "aggregate inside"),
    ]:  # fmt: skip
        with pytest.raises(UnsupportedSQL, match=word):
            planned(sql)


def test_products_that_could_underflow_or_overflow_are_refused() -> None:
    huge = parse_policy(DEMO_POLICY.read_text().replace("[0, 50]", "[0, 1e90]"))
    assert planned("SELECT sum(l_quantity * l_quantity * l_quantity) FROM lineitem", policy=huge)
    with pytest.raises(SensitivityUnbounded, match="bounds of the sum"):
        planned("SELECT sum(l_quantity * l_quantity * l_quantity * l_quantity) FROM lineitem", policy=huge)
    tiny = parse_policy(DEMO_POLICY.read_text().replace("[0, 50]", "[0, 1e-90]"))
    with pytest.raises(SensitivityUnbounded, match="bounds of the sum"):
        planned("SELECT sum(l_quantity * l_quantity * l_quantity * l_quantity) FROM lineitem", policy=tiny)


def test_an_epsilon_out_of_the_policys_range_is_refused() -> None:
    for epsilon in (0.0, -1.0, 4.1, float("nan"), float("inf")):
        with pytest.raises(InvalidSetting, match="epsilon"):
            planned("SELECT count(*) FROM orders", epsilon=epsilon)


def test_a_delta_that_the_policy_does_not_grant_is_refused() -> None:
    for delta in (-1.0, 1e-9, float("nan")):
        with pytest.raises(InvalidSetting, match="delta"):
            planned("SELECT count(*) FROM orders", delta=delta)


def test_a_mechanism_that_is_named_is_planned_or_refused() -> None:
    assert planned("SELECT count(*) FROM orders").mechanism == "gem"
    assert planned("SELECT count(*) FROM orders", mechanism="r2t").mechanism == "r2t"
    with pytest.raises(InvalidSetting, match="gem, r2t, s4s"):
        planned("SELECT count(*) FROM orders", mechanism="laplace")
    assert planned("SELECT count(*) FROM customer", mechanism="s4s").mechanism == "s4s"
    with pytest.raises(InvalidSetting, match="bound on the joined rows") as refused:
        planned("SELECT count(*) FROM orders", mechanism="s4s")
    assert "fan-outs" in str(refused.value.hint)
    unbounded = parse_policy(DEMO_POLICY.read_text().replace("global_sensitivity", "# global_sensitivity"))
    with pytest.raises(InvalidSetting, match="global_sensitivity"):
        planned("SELECT count(*) FROM orders", policy=unbounded, mechanism="r2t")


def test_a_mechanism_that_is_not_served_is_refused_with_a_hint() -> None:
    for name in ("s4s_as_published", "s4s_fresh", "s4s_rdp", "sample_and_explore", "laplace_global"):
        with pytest.raises(InvalidSetting, match="gem, r2t, s4s") as refused:
            planned("SELECT count(*) FROM customer", mechanism=name)
        assert refused.value.hint is not None


def test_a_plan_names_what_it_was_made_for() -> None:
    plan = planned("SELECT count(*) FROM orders")
    assert plan.fingerprint == tpch_schema().fingerprint
    assert plan.policy_hash == demo_policy().hash
    assert (plan.epsilon, plan.delta) == (1.0, 0.0)
    assert "one privacy unit" in plan.reason


def test_domains_come_from_public_tables_the_policy_or_the_type() -> None:
    by_name = rewritten(f"SELECT n_name, count(*) {CUSTOMERS} JOIN nation ON c_nationkey = n_nationkey GROUP BY 1")
    assert by_name.domains[0] is not None
    assert '"nation"' in by_name.domains[0]
    by_key = rewritten("SELECT c_nationkey, count(*) FROM customer GROUP BY 1")
    assert by_key.domains[0] is not None
    assert '"n_nationkey"' in by_key.domains[0]
    declared = parse_policy(DEMO_POLICY.read_text() + '\nl_returnflag = { domain = ["A", "N", "R"] }\n')
    by_flag = rewritten("SELECT l_returnflag, count(*) FROM lineitem GROUP BY 1", policy=declared)
    assert (by_flag.domains, by_flag.values) == ((None,), (("A", "N", "R"),))


def test_planning_is_deterministic() -> None:
    sql = f"SELECT c_nationkey, {REVENUE}, count(*) {Q5_JOIN} GROUP BY c_nationkey"
    assert join_sql(sql) == join_sql(sql)


def test_a_number_beside_an_average_costs_what_it_costs_by_itself() -> None:
    """Each column has an equal share, and is measured as if it were asked alone."""
    beside = planned("SELECT count(*), avg(l_quantity), sum(l_quantity) FROM lineitem", epsilon=3.0)
    assert beside.mechanism == "joint_scale"
    shares = {release.label: release.epsilon for release in beside.releases if release.alone}
    assert shares == pytest.approx({"count(*)": 1.0, "sum(l_quantity)": 1.0})
    average = [release for release in beside.releases if not release.alone]
    alone = planned("SELECT avg(l_quantity) FROM lineitem", epsilon=1.0).releases
    assert [one.epsilon for one in average] == pytest.approx([one.epsilon for one in alone])
    assert [type(one.around) for one in average] == [type(one.around) for one in alone]
