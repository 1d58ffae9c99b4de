"""Which private rows a LEFT JOIN and a semi-join may read, and what such a question is released by."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.errors import PlannerError, UnsupportedSQL
from privacy.mechanisms.gem import Gem
from server.workers.measure import plan_measurements
from tests.support.planning import bound, demo_policy, planned

OWN = [
    "SELECT count(*) FROM customer WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)",
    "SELECT count(*) FROM customer WHERE c_custkey NOT IN (SELECT o_custkey FROM orders)",
    "SELECT count(*) FROM customer LEFT JOIN orders ON o_custkey = c_custkey",
    "SELECT count(*) FROM orders RIGHT JOIN customer ON o_custkey = c_custkey",
    "SELECT count(*) FROM orders LEFT JOIN lineitem ON l_orderkey = o_orderkey",
    "SELECT count(*) FROM customer LEFT JOIN orders ON o_custkey = c_custkey "
    "LEFT JOIN lineitem ON l_orderkey = o_orderkey",
]


def test_a_question_that_reads_absences_is_answered_as_any_other() -> None:
    for sql in OWN:
        plan = planned(sql)
        assert [owner.relation for owner in plan.owners] == ["customer"]
        assert plan.mechanism == "gem"


def test_scores_claim_that_tuples_only_go() -> None:
    """Where a unit leaves, so do its tuples: no other tuple appears because a row is not there any more."""
    lines = "SELECT count(*) FROM orders WHERE NOT EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey)"
    for sql in (lines, lines.replace("NOT ", "")):
        (release,) = plan_measurements(planned(sql), demo_policy()).releases
        assert isinstance(release, Gem) and release.monotone


def test_mechanisms_of_groups_take_what_is_not_there() -> None:
    by_nation = f"SELECT c_nationkey{OWN[0].removeprefix('SELECT')}".replace("count(*)", ", count(*)", 1)
    by_nation += " AND c_nationkey IN (1, 2) GROUP BY 1"
    for mechanism in ("group_lp", "gem", "r2t"):
        policy = replace(demo_policy(), global_sensitivity=8.0)
        assert planned(by_nation, policy=policy, mechanism=mechanism).mechanism == mechanism
    lines = "SELECT l_linenumber, count(*) FROM orders LEFT JOIN lineitem ON l_orderkey = o_orderkey"
    assert planned(f"{lines} WHERE l_linenumber IN (1, 2) GROUP BY 1").mechanism == "l1_clip"


def test_a_sample_of_what_is_not_there_is_one_of_the_tuples() -> None:
    for sql, strategy in [(OWN[0], "pushdown"), (OWN[1], "pushdown"), (OWN[2], "thinning")]:
        sampling = planned(sql, sampling_rate=0.5).sampling
        assert sampling is not None and sampling.strategy == strategy


def test_an_optional_row_determines_no_group() -> None:
    """A line of an order is there or is not, so its group is another when it goes."""
    found = planned(
        "SELECT CASE WHEN l_linenumber = 1 THEN 'a' ELSE 'b' END, count(*) FROM orders "
        "LEFT JOIN lineitem ON l_orderkey = o_orderkey AND l_linenumber = 1 GROUP BY 1"
    )
    assert found.bounds.groups is None


def test_the_class_of_a_semi_join_is_that_of_the_join() -> None:
    """A key finds one row, which costs nothing; a column that is no key makes the database look at many."""
    by_key = planned("SELECT count(*) FROM customer WHERE c_nationkey IN (SELECT n_nationkey FROM nation)")
    by_value = planned("SELECT count(*) FROM customer WHERE c_nationkey IN (SELECT n_regionkey FROM nation)")
    assert (by_key.size.kind, by_key.size.free_steps) == ("linear", 0)
    assert (by_value.size.kind, by_value.size.free_steps) == ("equi_joined", 1)


def test_a_semi_join_multiplies_no_tuples() -> None:
    policy = demo_policy()
    tables = {**policy.tables, "customer": replace(policy.tables["customer"], rows=100)}
    tables["nation"] = replace(policy.tables["nation"], rows=25)
    policy = replace(policy, tables=tables)
    plan = planned(
        "SELECT count(*) FROM customer WHERE c_nationkey IN (SELECT n_regionkey FROM nation)", policy=policy
    )
    assert plan.size.most_tuples == 100


def test_rows_that_may_be_other_peoples_are_refused() -> None:
    for sql in [
        "SELECT count(o_clerk) FROM customer LEFT JOIN orders ON o_orderkey = c_nationkey",
        "SELECT count(*) FROM customer LEFT JOIN orders ON o_custkey < c_custkey",
        "SELECT count(*) FROM customer LEFT JOIN knows ON src = c_custkey",
        "SELECT count(*) FROM customer LEFT JOIN orders ON o_custkey = c_nationkey "
        "WHERE coalesce(o_custkey, 1) = c_custkey",
        ("SELECT count(*) FROM customer a LEFT JOIN customer b ON b.c_custkey = a.c_nationkey "
         "LEFT JOIN orders ON o_custkey = b.c_custkey"),
        "SELECT count(*) FROM lineitem LEFT JOIN orders ON o_orderkey = l_suppkey WHERE coalesce(o_orderkey, 7) = 7",
        "SELECT count(o_clerk) FROM orders RIGHT JOIN lineitem ON o_orderkey = l_suppkey",
        ("SELECT count(o_clerk) FROM lineitem JOIN part ON p_partkey = l_partkey "
         "LEFT JOIN orders ON o_orderkey = l_suppkey"),
        ("SELECT count(b.o_clerk) FROM lineitem l LEFT JOIN orders a ON a.o_orderkey = l.l_orderkey "
         "LEFT JOIN orders b ON b.o_orderkey = l.l_suppkey"),
        "SELECT count(*) FROM customer WHERE EXISTS (SELECT 1 FROM orders)",
        "SELECT count(*) FROM customer WHERE c_nationkey NOT IN (SELECT o_custkey FROM orders)",
        "SELECT count(*) FROM part WHERE EXISTS (SELECT 1 FROM lineitem)",
        "SELECT count(*) FROM part WHERE NOT EXISTS (SELECT 1 FROM lineitem WHERE l_partkey = p_partkey)",
        ("SELECT count(*) FROM orders WHERE EXISTS (SELECT 1 FROM customer JOIN supplier "
         "ON s_nationkey = c_nationkey WHERE c_custkey = o_custkey)"),
    ]:  # fmt: skip
        with pytest.raises(PlannerError) as caught:
            planned(sql)
        assert (
            "one person's row would replace" in caught.value.message or "rows of other owners" in caught.value.message
        )
        assert caught.value.hint is not None and caught.value.position is not None


def test_names_of_a_subquery_mean_its_own_tables_first() -> None:
    planned("SELECT count(*) FROM customer c WHERE EXISTS (SELECT 1 FROM orders c WHERE c.o_custkey = c_custkey)")
    with pytest.raises(PlannerError, match="has no column"):
        planned("SELECT count(*) FROM customer c WHERE EXISTS (SELECT 1 FROM nation c WHERE c.c_custkey = 1)")


NESTED = [
    "SELECT count(*) FROM (SELECT 1 AS one FROM region r0 WHERE EXISTS (SELECT 1 FROM "
    "(SELECT n_nationkey FROM nation WHERE n_regionkey IN (SELECT r_regionkey FROM region)) s "
    "JOIN lineitem o ON s.n_nationkey = o.l_linenumber WHERE o.l_orderkey = 4711 AND o.l_quantity > 10)) x "
    "JOIN nation z ON true JOIN lineitem y ON y.l_linenumber = z.n_nationkey",
    "WITH s AS (SELECT n_nationkey k FROM nation WHERE n_regionkey IN (SELECT r_regionkey FROM region)) "
    "SELECT count(*) FROM (SELECT o_orderkey k, o_custkey c FROM orders WHERE o_orderkey IN (SELECT k FROM s)) x "
    "JOIN orders y ON y.o_custkey = x.c",
    "WITH s AS (SELECT n_nationkey k FROM nation "
    "WHERE EXISTS (SELECT 1 FROM region WHERE r_regionkey = n_regionkey)) "
    "SELECT count(*) FROM customer WHERE c_nationkey NOT IN (SELECT k FROM s)",
]


def test_rows_behind_the_from_of_a_subquery_are_those_of_the_subquery() -> None:
    """Were they entered as if they were those of the SELECT around it, they would stand for them in the proof."""
    with pytest.raises(UnsupportedSQL, match="rows of other owners"):
        planned(NESTED[0])
    for sql, inner in ((NESTED[1], 2), (NESTED[2], 2)):
        query = bound(sql)
        assert [len(one.tables) for one in query.semi_joins] == [inner]
        planned(sql)


def test_a_denied_semi_join_inside_another_is_refused_at_its_place() -> None:
    with pytest.raises(UnsupportedSQL, match="inside another subquery of WHERE") as caught:
        planned(NESTED[1].replace("n_regionkey IN", "n_regionkey NOT IN"))
    assert caught.value.hint is not None and caught.value.position is not None


def test_two_tables_of_a_query_never_share_an_alias() -> None:
    query = bound("SELECT count(*) FROM customer WHERE EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)")
    (semi_join,) = query.semi_joins
    with pytest.raises(ValueError, match="share an alias"):
        replace(query, semi_joins=(replace(semi_join, tables=query.tables),))


def test_public_rows_that_people_choose_count_once() -> None:
    """The question is that of the join, which theorems and audits of COUNT(DISTINCT) are about."""
    chosen = planned("SELECT count(*) AS n FROM part WHERE p_partkey IN (SELECT l_partkey FROM lineitem)")
    joined = planned("SELECT count(DISTINCT p_partkey) AS n FROM part JOIN lineitem ON l_partkey = p_partkey")
    assert [replace(one, label="") for one in chosen.releases] == [replace(one, label="") for one in joined.releases]
    assert chosen.bounds == joined.bounds
    assert chosen.source.sql().replace("lineitem_0_s0", "lineitem_1") == joined.source.sql()
