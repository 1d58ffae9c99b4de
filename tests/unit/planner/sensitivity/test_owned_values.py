"""Which counts of distinct values the database may count unit by unit: those whose values determine their owner."""

from __future__ import annotations

from planner.rewriting.rewrite import rewrite
from tests.support.planning import planned

OWNED = [
    "SELECT count(DISTINCT o_orderkey) FROM orders",
    "SELECT count(DISTINCT l_orderkey) FROM lineitem",  # the order's customer, found by completion
    "SELECT count(DISTINCT o_custkey) FROM orders",
    "SELECT n_name, count(DISTINCT l_orderkey) FROM lineitem JOIN orders ON l_orderkey = o_orderkey "
    "JOIN customer ON o_custkey = c_custkey JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name",
    "SELECT count(DISTINCT c_custkey) FROM customer",
]
SHARED = [
    "SELECT count(DISTINCT o_clerk) FROM orders",
    "SELECT count(DISTINCT l_linenumber) FROM lineitem",  # a part of a key
    "SELECT count(DISTINCT c_nationkey) FROM customer",
    "SELECT count(DISTINCT o_orderkey % 10) FROM orders",
    "SELECT count(DISTINCT (o_orderkey, o_clerk)) FROM orders",
    "SELECT count(DISTINCT o_orderkey) FROM orders JOIN lineitem ON l_orderkey = o_orderkey "
    "JOIN supplier ON l_suppkey = s_suppkey",  # two owners
]


def test_a_value_that_determines_its_owner_is_counted_by_the_database() -> None:
    for sql in OWNED:
        plan = planned(sql)
        (contributions,) = rewrite(plan).distinct_contributions
        assert contributions is not None and '"values"' in contributions
        assert "no unit's key leaves it" in plan.reason


def test_a_value_that_units_may_share_is_not() -> None:
    for sql in SHARED:
        plan = planned(sql)
        assert not plan.releases[0].owned and rewrite(plan).distinct_contributions == ()
        assert "no unit's key leaves it" not in plan.reason


def test_a_mechanism_that_asks_for_more_than_truncated_counts_reads_the_units() -> None:
    plan = planned(OWNED[0], mechanism="r2t")
    assert plan.releases[0].owned and rewrite(plan).distinct_contributions == ()
