"""Which group keys follow from a unit of each relation, and when a plan makes use of it."""

from __future__ import annotations

from dataclasses import replace

from planner.plan import KindReach
from planner.policy.policy import Policy
from tests.support.planning import demo_policy, planned

LINES = (
    "FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey "
    "JOIN supplier ON s_suppkey = l_suppkey JOIN nation ON n_nationkey = c_nationkey "
)
TWO_YEARS = "WHERE o_orderdate >= DATE '1995-01-01' AND o_orderdate < DATE '1997-01-01' "
YEAR = "extract(year from o_orderdate)"
KNOWS = (
    "FROM knows JOIN customer c ON src = c.c_custkey JOIN customer d ON dst = d.c_custkey "
    "JOIN nation m ON m.n_nationkey = c.c_nationkey JOIN nation n ON n.n_nationkey = d.c_nationkey "
)


def kinds(sql: str, policy: Policy | None = None, **settings: object) -> dict[str, tuple[tuple[int, ...], ...]]:
    plan = planned(sql, policy=policy, **settings)  # type: ignore[arg-type]
    return {one.relation: one.determines for one in plan.bounds.kinds}


def test_a_customer_determines_its_nation_and_a_supplier_does_not() -> None:
    plan = planned(f"SELECT n_name, count(*) {LINES} GROUP BY 1")
    assert plan.bounds.kinds == (KindReach("customer", ((0,),)), KindReach("supplier", ((),)))
    assert (plan.mechanism, plan.bounds.groups) == ("group_lp", None)


def test_keys_that_do_not_follow_from_the_unit_stay_open() -> None:
    assert kinds(f"SELECT n_name, {YEAR}, count(*) {LINES} {TWO_YEARS} GROUP BY 1, 2") == {
        "customer": ((0,),),
        "supplier": ((),),
    }
    assert kinds(f"SELECT {YEAR}, n_name, count(*) {LINES} {TWO_YEARS} GROUP BY 1, 2")["customer"] == ((1,),)


def test_each_kind_has_its_own_key() -> None:
    lines = LINES.replace("n_nationkey", "n.n_nationkey").replace("nation ON", "nation n ON")
    both = f"{lines} JOIN region ON r_regionkey = n.n_regionkey JOIN nation m ON m.n_nationkey = s_nationkey"
    sql = f"SELECT r_name, m.n_regionkey, count(*) {both} GROUP BY 1, 2"
    assert kinds(sql) == {"customer": ((0,),), "supplier": ((1,),)}


def test_a_key_that_reads_both_follows_from_neither() -> None:
    sql = f"SELECT c_nationkey = s_nationkey, n_name, count(*) {LINES} GROUP BY 1, 2"
    assert kinds(sql) == {"customer": ((1,),), "supplier": ((),)}


def test_positions_of_one_relation_are_told_apart() -> None:
    """As src a customer determines one nation, as dst the other."""
    assert kinds(f"SELECT m.n_name, n.n_name, count(*) {KNOWS} GROUP BY 1, 2") == {"customer": ((0,), (1,))}
    assert kinds(f"SELECT m.n_name, count(*) {KNOWS} GROUP BY 1") == {"customer": ((0,), ())}


def test_one_kind_alone_reaches_the_groups_that_share_its_keys() -> None:
    sql = f"SELECT n_name, {YEAR}, count(*) FROM orders JOIN customer ON o_custkey = c_custkey "
    sql += f"JOIN nation ON n_nationkey = c_nationkey {TWO_YEARS} GROUP BY 1, 2"
    assert kinds(sql, mechanism="group_lp") == {"customer": ((0,),)}


def test_nothing_follows_where_no_key_does() -> None:
    assert kinds(f"SELECT {YEAR}, count(*) {LINES} {TWO_YEARS} GROUP BY 1") == {}
    assert kinds(f"SELECT count(*) {LINES}") == {}


def test_only_where_a_mechanism_makes_use_of_it() -> None:
    policy = replace(demo_policy(), delta=1e-7)
    pmsja = {"mechanism": "pmsja", "delta": 1e-7}
    cases: list[dict[str, object]] = [{"mechanism": "gem"}, {"sampling_rate": 0.5}, pmsja]
    for settings in cases:
        assert kinds(f"SELECT n_name, count(*) {LINES} GROUP BY 1", policy, **settings) == {}


def test_also_where_a_question_asks_for_what_is_not_there() -> None:
    """A unit that leaves takes its tuples, which are in the groups that follow from it."""
    sql = "SELECT n_name, count(*) FROM customer JOIN nation ON n_nationkey = c_nationkey "
    sql += "WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey) GROUP BY 1"
    assert kinds(sql) == {"customer": ((0,),)}


def test_what_a_persons_rows_are_follows_from_the_person() -> None:
    sql = "SELECT least(n, 3), s_nationkey, count(*) FROM (SELECT o_custkey, count(*) AS n FROM orders GROUP BY 1) p "
    sql += "JOIN orders o ON o.o_custkey = p.o_custkey JOIN lineitem ON l_orderkey = o_orderkey "
    sql += "JOIN supplier ON s_suppkey = l_suppkey WHERE s_nationkey IN (1, 2) GROUP BY 1, 2"
    assert kinds(sql) == {"customer": ((0,),), "supplier": ((1,),)}


def test_not_where_a_rule_bounds_the_groups_of_a_unit() -> None:
    sql = f"SELECT n_name, {YEAR}, count(*) FROM orders JOIN customer ON o_custkey = c_custkey "
    sql += f"JOIN nation ON n_nationkey = c_nationkey {TWO_YEARS} GROUP BY 1, 2"
    policy = replace(demo_policy(), groups_per_unit={"customer": 1})
    assert planned(sql, policy=policy, mechanism="group_lp").bounds.rule == 1
    assert kinds(sql, policy, mechanism="group_lp") == {}
